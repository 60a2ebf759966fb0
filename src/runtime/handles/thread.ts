/**
 * A thread as its users hold it: an id and the ways to speak to it. It keeps no state of the thread, so it may be
 * held for ever, in any process.
 */
import type { Backend, StoredHead } from '../../backend/port.js'
import { toBudget } from '../../core/budget.js'
import type { Budget } from '../../core/budget.js'
import { defined } from '../../core/defined.js'
import { checkOptions } from '../../core/options.js'
import type { SkeinEvent } from '../../core/records/event.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { addUsage } from '../../core/usage.js'
import type { ModelUsage, Usage } from '../../core/usage.js'
import { createStateWaker, wake } from '../journal/wake.js'
import { follow } from '../watch/events.js'
import type { FollowOptions } from '../watch/events.js'
import { createIteration } from '../../core/async/iteration.js'
import { eventsSchema, settledSchema } from '../watch/options.js'
import type { WaitOptions } from '../watch/run.js'
import type { StreamOptions } from '../watch/run-streams.js'
import { threadSettled, treeSettled } from '../watch/until-settled.js'
import { createThreadView } from '../watch/view.js'
import type { ThreadView, ThreadViewOptions } from '../watch/view.js'
import { grantTo } from './grant.js'
import { readEffects } from './inspect/thread-effects.js'
import type { SideEffect } from './inspect/thread-effects.js'
import type { RecordPage } from './inspect/thread-records.js'
import type { ThreadStateInfo } from './inspect/thread-state.js'
import type { GrantOptions, TreeOption } from './options.js'
import { sendCommand } from './send-command.js'
import type { SendToThread } from './send-command.js'
import { threadMissing } from './services.js'
import type { ThreadServices } from './services.js'
import { readContext } from './thread-context.js'
import type { ContextQuery, ThreadContext } from './thread-context.js'
import { createThreadControl } from './thread-control.js'
import type { ThreadControl } from './thread-control.js'
import { createThreadEnv } from './thread-env.js'
import type { ThreadEnv } from './thread-env.js'
import type { ExportOptions, ThreadExport } from './thread-export.js'
import { createThreadFiles } from './thread-files.js'
import type { ThreadFiles } from './thread-files.js'
import { toThreadInfo } from '../watch/directory/thread-info.js'
import type { ThreadInfo, ThreadStatus } from '../watch/directory/thread-info.js'
import { createThreadMessages } from './thread-messages.js'
import type { ThreadMessages } from './thread-messages.js'
import type { Crossing } from './travel/crossing.js'
import { forkThread } from './travel/fork.js'
import type { ForkOptions } from './travel/fork.js'
import { rewindThread } from './travel/rewind.js'
import type { RewindOptions, Rewound } from './travel/rewind.js'
import type { TimelinePage, TimelineRow } from './travel/timeline.js'
import { readChildren, readTree } from './thread-tree.js'
import type { ChildEntry, Tree } from './thread-tree.js'
import { createThreadSchedules, createThreadValues } from './thread-values.js'
import type { ThreadSchedules, ThreadValues } from './thread-values.js'

export type { RecordPage } from './inspect/thread-records.js'
export type { ThreadStateInfo } from './inspect/thread-state.js'

export interface EventOptions extends StreamOptions {
  /** The `cursor` of the last event that was seen. */
  readonly from?: string
  /** `now`: ends after what is durable now. */
  readonly until?: 'now'
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

export interface Thread extends ThreadMessages, ThreadControl, ThreadSchedules {
  readonly id: string
  readonly agent: string
  readonly tags: readonly string[]
  /** What is known of it without reading it. */
  info(): Promise<ThreadInfo>
  status(): Promise<ThreadStatus>
  usage(): Promise<ThreadUsage>
  /**
   * Raises its budget. Of a child: out of what its parent has left. A turn that ended with `budget_spent` goes on
   * with the next message, with `resume()`, or by itself with `resume: true`.
   */
  grant(amounts: Budget, options?: GrantOptions): Promise<void>
  /** What its model reads of it now, and what was left out, with the reason. */
  context(query?: ContextQuery): Promise<ThreadContext>
  events(options?: EventOptions): AsyncIterable<SkeinEvent>
  /** A live view of its messages, calls, children and turns; with `tree`, of all threads below it too. */
  view(options?: ThreadViewOptions): ThreadView
  /** Where it stands: its place in the statechart, what it waits for, and until when. */
  state(): Promise<ThreadStateInfo>
  /** What its calls have done to the world, or may have done: unknown ones first, then those that run. */
  effects(): Promise<readonly SideEffect[]>
  /** A page of its records, without sealed values. */
  records(page?: RecordPage): Promise<readonly ThreadRecord[]>
  /** Its children as it knows them, and those in line with their places. */
  children(): Promise<readonly ChildEntry[]>
  /** It and all threads below it. */
  tree(): Promise<Tree>
  /** Its turns and steps, oldest first: the points that one can go back to. */
  timeline(page?: TimelinePage): Promise<readonly TimelineRow[]>
  /**
   * Another thread that begins with its past up to a point. With `dry`, only what that would cross. A fork that would
   * repeat what was done to the world is refused with `EFFECTS_CROSSED`, unless `effects` or `force` is said.
   */
  fork: ForkMethod
  /**
   * Goes back to a point of its own past. What was done to the world since is undone first with `revert`, or left as
   * it is with `force`; else it is refused with `EFFECTS_CROSSED`. Refused while a turn runs.
   */
  rewind: RewindMethod
  /** Its journal and what its model was shown, as one JSON value: a file of it can be replayed (`skein/testing`). */
  export(options?: ExportOptions): Promise<ThreadExport>
  /** The thread's own files, as they are now. */
  readonly files: ThreadFiles
  /** Its key-value store. */
  readonly kv: ThreadValues
  /** Values for the variables that its tools declare. */
  readonly env: ThreadEnv
  /**
   * Resolves when the thread is at rest; with `tree`, when all below it is, and nothing is on its way to any of them.
   */
  settled(options?: TreeOption & WaitOptions): Promise<ThreadInfo>
}

export function createThread(services: ThreadServices, head: StoredHead): Thread {
  const { backend, clock, random, closed } = services
  const { thread: id, root } = head
  const location = { root, thread: id }
  const waker = createStateWaker(backend, id)
  const send: SendToThread = (command, commandId = random.id()) =>
    sendCommand(backend, clock, { thread: id, id: commandId, command })
  const readHead = async (): Promise<StoredHead> => (await backend.heads.get(id)) ?? threadMissing(id)
  const info = async (): Promise<ThreadInfo> => toThreadInfo(await readHead())
  return {
    id,
    agent: head.agent,
    tags: head.tags,
    info,
    status: async () => (await info()).status,
    usage: () => readUsage(backend, id),
    context: (query) => readContext(backend, id, query),
    ...createThreadMessages(services, location, send),
    ...createThreadControl(send),
    grant: (amounts, options = {}) => grantTo(services, { id, parent: head.parent, waker }, { ...options, amounts }),
    events: (options = {}) => eventsOf(services, location, options),
    view: (options) => createThreadView(services, location, options),
    effects: () => readEffects(backend, id),
    ...inspectors(backend, id),
    children: () => readChildren(backend, id),
    tree: async () => readTree(backend, await readHead()),
    async export(options = {}) {
      const { exportThread } = await import('./thread-export.js')
      return exportThread(services, await readHead(), options)
    },
    async timeline(page) {
      const { readTimeline } = await import('./travel/timeline.js')
      return readTimeline(backend, await readHead(), page)
    },
    fork: forkMethod(services, readHead),
    rewind: rewindMethod(services, readHead),
    files: createThreadFiles(services, id, waker),
    kv: createThreadValues(services, id, waker),
    ...createThreadSchedules(services, id, waker),
    env: createThreadEnv(services, { id, root }),
    async settled(options = {}) {
      checkOptions(settledSchema(), options, 'settled')
      const { tree, signal } = options
      const waiting = { backend, closed, ...defined({ signal }) }
      if (!tree) return toThreadInfo(await threadSettled(waiting, root, readHead))
      await treeSettled(waiting, location)
      return info()
    },
  }
}

/** What looks into a thread is loaded with the first look; commands go out at once, so theirs is in memory. */
function inspectors(backend: Backend, id: string): Pick<Thread, 'state' | 'records'> {
  return {
    state: async () => (await import('./inspect/thread-state.js')).readStateInfo(backend, id),
    records: async (page) => (await import('./inspect/thread-records.js')).readRecords(backend, id, page),
  }
}

interface ForkMethod {
  (options: ForkOptions & { readonly dry: true }): Promise<Crossing>
  (options?: ForkOptions): Promise<Thread>
}

function forkMethod(services: ThreadServices, readHead: () => Promise<StoredHead>): ForkMethod {
  function fork(options: ForkOptions & { readonly dry: true }): Promise<Crossing>
  function fork(options?: ForkOptions): Promise<Thread>
  async function fork(options: ForkOptions & { readonly dry?: boolean } = {}): Promise<Crossing | Thread> {
    const forked = await forkThread(services, await readHead(), options)
    if ('crossing' in forked) return forked.crossing
    const { thread } = forked
    return createThread(services, (await services.backend.heads.get(thread)) ?? threadMissing(thread))
  }
  return fork
}

interface RewindMethod {
  (options: RewindOptions & { readonly dry: true }): Promise<Crossing>
  (options: RewindOptions): Promise<Rewound>
}

function rewindMethod(services: ThreadServices, readHead: () => Promise<StoredHead>): RewindMethod {
  function rewind(options: RewindOptions & { readonly dry: true }): Promise<Crossing>
  function rewind(options: RewindOptions): Promise<Rewound>
  async function rewind(options: RewindOptions & { readonly dry?: boolean }): Promise<Crossing | Rewound> {
    return rewindThread(services, await readHead(), options)
  }
  return rewind
}

/** Ends quietly when its reader's signal, or the skein, says so. */
export function eventsOf(
  { backend, closed }: ThreadServices,
  location: Pick<FollowOptions, 'root' | 'thread'>,
  options: EventOptions,
): AsyncIterable<SkeinEvent> {
  return createIteration(
    (signal) => {
      checkOptions(eventsSchema(), options, 'events')
      return follow(backend, { ...options, ...location, signal })
    },
    [closed, options.signal],
  )
}

async function readUsage(backend: Backend, id: string): Promise<ThreadUsage> {
  const { usage: own, usageBelow, byModel, budget: account } = (await wake(backend, id)).state
  return {
    own,
    subtree: addUsage(own, usageBelow),
    byModel: byModel.toSorted((a, b) => (a.model < b.model ? -1 : 1)),
    ...(account && { budget: { left: toBudget(account.left), reserved: toBudget(account.reserved) } }),
  }
}
