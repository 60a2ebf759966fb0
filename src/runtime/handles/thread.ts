/**
 * A thread as its users hold it: an id and the ways to speak to it. It keeps no state of the thread, so it may be
 * held for ever, in any process.
 */
import type { Backend, StoredHead } from '../../backend/port.js'
import { toBudget } from '../../core/budget.js'
import type { Budget } from '../../core/budget.js'
import type { Random, Clock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import type { Answer, Command } from '../../core/records/command.js'
import type { SkeinEvent } from '../../core/records/event.js'
import { SkeinError } from '../../core/failure.js'
import type { Message } from '../../core/records/message.js'
import { addUsage } from '../../core/usage.js'
import type { ModelUsage, Usage } from '../../core/usage.js'
import { plainJson } from './inbox.js'
import { check, pauseSchema, reasonSchema, treeSchema } from './options.js'
import type { ReasonOption, TreeOption, WaitOptions } from './options.js'
import { toThreadInfo } from './thread-info.js'
import type { ThreadInfo, ThreadStatus } from './thread-info.js'
import type { Secrets } from '../secrets/secrets.js'
import { createThreadEnv } from './thread-env.js'
import type { ThreadEnv } from './thread-env.js'
import { createThreadFiles } from './thread-files.js'
import type { ThreadFiles } from './thread-files.js'
import { createThreadSchedules, createThreadValues } from './thread-values.js'
import type { ThreadSchedules, ThreadValues } from './thread-values.js'
import { follow } from '../watch/events.js'
import { decode } from '../journal/journal.js'
import { sendCommand } from './send-command.js'
import { readChildren, readTree } from './thread-tree.js'
import type { ChildEntry, Tree } from './thread-tree.js'
import { grantTo } from './grant.js'
import { threadSettled, treeSettled } from '../watch/until-settled.js'
import { createRun } from '../watch/run.js'
import { messagesOf } from '../watch/projection.js'
import { createThreadView } from '../watch/view.js'
import type { ThreadView, ThreadViewOptions } from '../watch/view.js'
import type { Run, RunLocation } from '../watch/run.js'
import { checkInjected, checkMessage, givenContext, storeAttachments } from './sent-message.js'
import type { InjectOptions, SendMessage, SendOptions } from './sent-message.js'
import { createStateWaker, wake, wakeWhole } from '../journal/wake.js'

export interface EventOptions {
  /** The `cursor` of the last event that was seen. */
  readonly from?: string
  /** `now`: ends after what is durable now. */
  readonly until?: 'now'
  readonly signal?: AbortSignal
  /**
   * Events that may wait for a reader that is slow; one more ends the iteration with STREAM_LAGGED. Default: any
   * number.
   */
  readonly maxBuffered?: number
}

export interface ThreadUsage {
  readonly own: Usage
  /** Of it and all below, as far as children have reported: one that is at work counts when it answers. */
  readonly subtree: Usage
  /** The same, by model. */
  readonly byModel: readonly ModelUsage[]
  /** Where it has one: what is left, and what is reserved for children that are at work. */
  readonly budget?: { readonly left: Budget; readonly reserved: Budget }
}

export interface GrantOptions {
  /** A turn that ended because nothing was left goes on. */
  readonly resume?: boolean
  /** Who gives it, for the journal. */
  readonly by?: string
}

export interface Thread extends ThreadSchedules {
  readonly id: string
  readonly agent: string
  readonly tags: readonly string[]
  info(): Promise<ThreadInfo>
  status(): Promise<ThreadStatus>
  messages(page?: {
    readonly after?: string
    readonly limit?: number
    readonly silent?: 'hide' | 'show'
  }): Promise<readonly Message[]>
  usage(): Promise<ThreadUsage>
  /** Says something to it: a text, or an object with `text` and any of the options. */
  send(message: string | SendMessage, options?: SendOptions): Run
  /** Stores a message without starting a turn. */
  inject(text: string, options?: InjectOptions): Promise<void>
  /**
   * Has a message read otherwise from now on: to its model, in lists. What was recorded stays, and what was said in
   * answer to it.
   */
  edit(id: string, text: string): Promise<void>
  /** Takes a message out of what is read. Of a reply with calls, and of a result, only the words go. */
  remove(id: string): Promise<void>
  /** The run of an earlier message. */
  run(id: string): Run
  /** Ends the running turn. False when none was running. */
  cancel(options?: ReasonOption): Promise<boolean>
  /**
   * Starts nothing more; what runs may land. With `tree`, nor does any thread below it. False when it was paused
   * already.
   */
  pause(options?: ReasonOption & TreeOption): Promise<boolean>
  /**
   * Goes on after `pause`, or with a turn that failed or whose budget was spent and raised. With `tree`, all below it
   * that is paused goes on. False when there was nothing to resume.
   */
  resume(options?: TreeOption): Promise<boolean>
  /**
   * Raises its budget. Of a child: out of what its parent has left. A turn that ended with `budget_spent` goes on
   * with the next message, with `resume()`, or by itself with `resume: true`.
   */
  grant(amounts: Budget, options?: GrantOptions): Promise<void>
  /** Ends the thread for good. False when it was over already. */
  terminate(options?: ReasonOption): Promise<boolean>
  /** The run that is going on. */
  current(): Promise<Run | undefined>
  events(options?: EventOptions): AsyncIterable<SkeinEvent>
  /** A live view of its messages, calls, children and turns; with `tree`, of all threads below it too. */
  view(options?: ThreadViewOptions): ThreadView
  /** Its children as it knows them, and those in line with their places. */
  children(): Promise<readonly ChildEntry[]>
  /** It and all threads below it. */
  tree(): Promise<Tree>
  /** The thread's own files, as they are now. */
  readonly files: ThreadFiles
  /** Its key-value store. */
  readonly kv: ThreadValues
  /** Values for the variables that its tools declare. */
  readonly env: ThreadEnv
  /** Has a tool called that no model asked for: in the running turn after its calls, or in a turn of its own. */
  callTool(name: string, args?: unknown): Promise<Run>
  /**
   * Resolves when the thread is at rest; with `tree`, when all below it is, and nothing is on its way to any of them.
   */
  settled(options?: TreeOption & WaitOptions): Promise<ThreadInfo>
}

export interface ThreadServices {
  readonly backend: Backend
  readonly clock: Clock
  readonly random: Random
  readonly closed: AbortSignal
  readonly secrets: Secrets
}

export function createThread(means: ThreadServices, head: StoredHead): Thread {
  const { backend, clock, random, closed } = means
  const { thread: id, root } = head
  const waker = createStateWaker(backend, id)
  const ask = (command: Command, command_id = random.id()): Promise<Extract<Answer, { ok: true }>> =>
    sendCommand(backend, clock, { thread: id, id: command_id, command })
  const readHead = async (): Promise<StoredHead> => (await backend.heads.get(id)) ?? missing(id)
  const info = async (): Promise<ThreadInfo> => toThreadInfo(await readHead())
  const events = (options: EventOptions = {}): AsyncIterable<SkeinEvent> =>
    follow(backend, { root, thread: id, ...options, signal: untilClosed(closed, options.signal) })
  const run = (of: string): Run =>
    createRun({ ...means, root }, of, () => findRun(backend, { root, thread: id, run: of }))
  return {
    id,
    agent: head.agent,
    tags: head.tags,
    info,
    status: async () => (await info()).status,
    messages: (page) => readMessages(backend, id, page),
    usage: () => readUsage(backend, id),
    send(given, options) {
      const {
        text,
        id: message = random.id(),
        delivery = 'steer',
        silent,
        attachments,
        context,
      } = checkMessage(given, options)
      const said = {
        kind: 'message',
        role: 'user',
        text,
        delivery,
        ...defined({ silent: silent || undefined }),
        ...givenContext(context),
      } as const
      const accepted = attachments?.length
        ? storeAttachments(backend, attachments).then((brought) => ask({ ...said, ...brought }, message))
        : ask(said, message)
      accepted.catch(() => undefined) // whoever consumes the run hears of it
      return createRun({ ...means, root }, message, () =>
        placeOf(backend, { root, thread: id, run: message, accepted }),
      )
    },
    async inject(given, options) {
      const { text, id: message = random.id(), role = 'user', silent } = checkInjected(given, options)
      await ask(
        { kind: 'message', role, text, delivery: 'store', ...defined({ silent: silent || undefined }) },
        message,
      )
    },
    ...createEdits((message) => knownMessage(backend, id, message), ask),
    run,
    async cancel(options = {}) {
      const { reason } = check(reasonSchema, options, 'cancel')
      return changed(ask({ kind: 'cancel', reason }))
    },
    async pause(options = {}) {
      const { reason, tree } = check(pauseSchema, options, 'pause')
      return changed(ask({ kind: 'pause', reason, ...defined({ tree: tree || undefined }) }))
    },
    grant: (amounts, options = {}) => grantTo(means, { id, parent: head.parent, waker }, { ...options, amounts }),
    async resume(options = {}) {
      const { tree } = check(treeSchema, options, 'resume')
      return changed(ask({ kind: 'resume', ...defined({ tree: tree || undefined }) }))
    },
    async terminate(options = {}) {
      const { reason } = check(reasonSchema, options, 'terminate')
      return changed(ask({ kind: 'terminate', reason }))
    },
    async current() {
      const { turn } = (await wake(backend, id)).state
      return turn && run(turn.run)
    },
    events,
    view: (options) => createThreadView(means, { root, thread: id }, options),
    children: () => readChildren(backend, id),
    tree: async () => readTree(backend, await readHead()),
    files: createThreadFiles(means, id, waker),
    kv: createThreadValues(means, id, waker),
    ...createThreadSchedules(means, id, waker),
    env: createThreadEnv(means, { id, root }),
    async callTool(name, args = {}) {
      const { run: joined } = await ask({ kind: 'call', tool: name, args: plainJson(args) })
      return run(joined ?? '')
    },
    async settled({ tree, signal } = {}) {
      const services = { backend, closed, ...defined({ signal }) }
      if (!tree) return toThreadInfo(await threadSettled(services, root, readHead))
      await treeSettled(services, { root, thread: id })
      return info()
    },
  }
}

/** A command that found nothing to do is no error for the caller. */
async function changed(answer: Promise<unknown>): Promise<boolean> {
  try {
    await answer
    return true
  } catch (thrown) {
    if (SkeinError.is(thrown, 'COMMAND_REFUSED')) return false
    throw thrown
  }
}

/** Iterating over events ends quietly when the one who iterates, or the skein, says so. */
export function untilClosed(closed: AbortSignal, signal?: AbortSignal): AbortSignal {
  return signal ? AbortSignal.any([signal, closed]) : closed
}

export function missing(id: string): never {
  throw new SkeinError('UNKNOWN_THREAD', `there is no thread ${JSON.stringify(id)} in this store`, {
    data: { thread: id },
  })
}

async function readUsage(backend: Backend, id: string): Promise<ThreadUsage> {
  const { usage: own, usageBelow, byModel, budget: purse } = (await wake(backend, id)).state
  return {
    own,
    subtree: addUsage(own, usageBelow),
    byModel: byModel.toSorted((a, b) => (a.model < b.model ? -1 : 1)),
    ...(purse && { budget: { left: toBudget(purse.left), reserved: toBudget(purse.reserved) } }),
  }
}

async function readMessages(
  backend: Backend,
  id: string,
  page: Parameters<Thread['messages']>[0] = {},
): Promise<readonly Message[]> {
  const { state } = await wakeWhole(backend, id)
  if (state.seq === 0) missing(id)
  const { after, limit = Infinity, silent = 'hide' } = page
  const all = messagesOf(state)
  const start = after === undefined ? 0 : all.findIndex((message) => message.id === after) + 1
  if (after !== undefined && start === 0)
    throw new SkeinError('BAD_OPTION', `thread ${id} has no message ${JSON.stringify(after)}`)
  return all
    .slice(start)
    .filter((message) => silent === 'show' || !message.silent)
    .slice(0, limit)
}

function createEdits(
  check: (message: string) => Promise<void>,
  ask: (command: Command) => Promise<unknown>,
): Pick<Thread, 'edit' | 'remove'> {
  const change = async (message: string, text?: string): Promise<void> => {
    await check(message)
    await ask({ kind: 'edit', message, ...defined({ text }) })
  }
  return { edit: change, remove: (message) => change(message) }
}

async function knownMessage(backend: Backend, id: string, message: string): Promise<void> {
  const all = await readMessages(backend, id, { silent: 'show' })
  if (all.some((each) => each.id === message)) return
  throw new SkeinError(
    'BAD_OPTION',
    `thread ${id} has no message ${JSON.stringify(message)}; messages() gives their ids`,
  )
}

interface Sent {
  readonly root: string
  readonly thread: string
  readonly run: string
}

async function placeOf(
  backend: Backend,
  { accepted, ...sent }: Sent & { accepted: Promise<Extract<Answer, { ok: true }>> },
): Promise<RunLocation> {
  const { seq, run = sent.run } = await accepted
  // Its own turn: the message is the last record but one at most. A turn it joined began earlier.
  return run === sent.run ? { ...sent, after: Math.max(0, seq - 2) } : findRun(backend, { ...sent, run })
}

async function findRun(backend: Backend, { root, thread, run }: Sent): Promise<RunLocation> {
  for (const entry of await backend.journal.read(thread)) {
    for (const record of decode(thread, entry)) {
      if (record.type === 'message.received' && record.id === run && record.run !== undefined && record.run !== run)
        return findRun(backend, { root, thread, run: record.run })
      const starts =
        (record.type === 'turn.started' && record.run === run) ||
        (record.type === 'message.received' && record.id === run && record.run === run)
      if (starts) return { root, thread, run, after: record.seq - 1 }
    }
  }
  throw new SkeinError('UNKNOWN_RUN', `thread ${thread} has no run ${JSON.stringify(run)}`)
}
