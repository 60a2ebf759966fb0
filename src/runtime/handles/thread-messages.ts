/**
 * The messages of a thread and the runs that they begin: sending, reading, editing, and finding the turn that a
 * message belongs to.
 */
import { z } from 'zod'
import type { Backend } from '../../backend/port.js'
import { nextTurn } from '../../core/async/next-turn.js'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import { checkOptions } from '../../core/options.js'
import type { Message, NumberedMessage } from '../../core/records/message.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { decode } from '../journal/journal.js'
import { wake, wakeWhole } from '../journal/wake.js'
import { readMessagePage } from '../watch/message-pages.js'
import { messagesOf } from '../watch/projection.js'
import { createRun } from '../watch/run.js'
import type { Run } from '../watch/run.js'
import type { RunLocation } from '../watch/run-streams.js'
import type { ThreadLocation } from '../watch/view.js'
import { plainJson } from './inbox.js'
import type { AcceptedCommand, SendToThread } from './send-command.js'
import { checkInjected, checkMessage, givenContext, givenId, givenRules, storeAttachments } from './sent-message.js'
import type { InjectOptions, SendMessage, SendOptions } from './sent-message.js'
import { threadMissing, traceOfSender } from './services.js'
import type { ThreadServices } from './services.js'
import { lazy } from '../../core/schema.js'

export interface MessagePage {
  /** The id of the last message that was read. */
  readonly after?: string
  /**
   * The newest messages before this record; `Infinity`: of all. Each has the `seq` of its record, and the page before
   * it is `before: page[0].seq`, until one is empty. Messages of one record stay together, also where that is more
   * than the limit.
   */
  readonly before?: number
  /** How many at most: the first ones, or with `before` the newest. Default: all. */
  readonly limit?: number
  /** Whether silent messages are given. Default `hide`. */
  readonly silent?: 'hide' | 'show'
}

export interface ThreadMessages {
  messages(page: MessagePage & { readonly before: number }): Promise<readonly NumberedMessage[]>
  messages(page?: MessagePage): Promise<readonly Message[]>
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
  /** The run that is going on. */
  current(): Promise<Run | undefined>
  /** Has a tool called that no model asked for: in the running turn after its calls, or in a turn of its own. */
  callTool(name: string, args?: unknown): Promise<Run>
}

export function createThreadMessages(
  services: ThreadServices,
  { root, thread }: ThreadLocation,
  send: SendToThread,
): ThreadMessages {
  const { backend, random } = services
  const runServices = { ...services, root, thread }
  const run = (id: string): Run => createRun(runServices, id, () => findRun(backend, { root, thread, run: id }))
  const edit = async (message: string, text?: string): Promise<void> => {
    await checkKnown(backend, thread, message)
    await send({ kind: 'edit', message, ...defined({ text }) })
  }
  return {
    messages: createMessageReader(backend, thread),
    send(message, options) {
      const id = givenId(message, options) ?? random.id()
      const accepted = post(services, send, { message, options, id })
      let isConsumed = false
      // Whoever consumes the run hears of it.
      accepted.catch((thrown: unknown) => warnUnheard(services, { thread, thrown, isHeard: () => isConsumed }))
      return createRun(runServices, id, () => {
        isConsumed = true
        return locateSent(backend, { root, thread, run: id }, accepted)
      })
    },
    async inject(message, options) {
      const { text, id = random.id(), role = 'user', silent } = checkInjected(message, options)
      await send({ kind: 'message', role, text, delivery: 'store', ...defined({ silent: silent || undefined }) }, id)
    },
    edit,
    remove: (message) => edit(message),
    run,
    async current() {
      const { turn } = (await wake(backend, thread)).state
      return turn && run(turn.run)
    },
    async callTool(name, args = {}) {
      const { run: joined = '' } = await send({ kind: 'call', tool: name, args: plainJson(args) })
      return run(joined)
    },
  }
}

interface Refusal {
  readonly thread: string
  readonly thrown: unknown
  isHeard(): boolean
}

/** In the next turn of the event loop: until then a sender may begin to wait. */
async function warnUnheard({ closed, warn }: ThreadServices, { thread, thrown, isHeard }: Refusal): Promise<void> {
  await nextTurn()
  if (!isHeard() && !closed.aborted)
    warn(`a message to thread ${thread} was refused, and nobody awaits its run`, thrown)
}

interface Posting {
  readonly message: string | SendMessage
  readonly options: SendOptions | undefined
  readonly id: string
}

/** A message without files is sent at once: two in a row arrive in their order. */
async function post(
  services: ThreadServices,
  send: SendToThread,
  { message, options, id }: Posting,
): Promise<AcceptedCommand> {
  const checked = checkMessage(message, options)
  const { text, delivery = 'steer', silent, attachments = [], context, trace = traceOfSender(services) } = checked
  const command = {
    kind: 'message',
    role: 'user',
    text,
    delivery,
    ...defined({ silent: silent || undefined, trace }),
    ...givenContext(context),
    ...givenRules(checked),
  } as const
  if (attachments.length === 0) return send(command, id)
  return send({ ...command, ...(await storeAttachments(services.backend, attachments)) }, id)
}

const pageSchema = lazy(() =>
  z.strictObject({
    after: z.string().optional(),
    before: z.union([z.number().int().min(0), z.literal(Infinity)]).optional(),
    limit: z.union([z.number().int().min(0), z.literal(Infinity)]).optional(),
    silent: z.enum(['hide', 'show']).optional(),
  }),
)

function createMessageReader(backend: Backend, id: string): ThreadMessages['messages'] {
  function read(page: MessagePage & { readonly before: number }): Promise<readonly NumberedMessage[]>
  function read(page?: MessagePage): Promise<readonly Message[]>
  async function read(page: MessagePage = {}): Promise<readonly Message[]> {
    checkOptions(pageSchema(), page, 'messages')
    const { before, after, limit = Infinity, silent = 'hide' } = page
    if (before === undefined) return readMessages(backend, id, page)
    if (after !== undefined)
      throw new SkeinError('BAD_OPTION', 'messages: a page is after a message or before a record, not both')
    return (await readMessagePage(backend, id, { before, limit, silent })) ?? threadMissing(id)
  }
  return read
}

async function readMessages(backend: Backend, id: string, page: MessagePage = {}): Promise<readonly Message[]> {
  const { state } = await wakeWhole(backend, id)
  if (state.seq === 0) threadMissing(id)
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

async function checkKnown(backend: Backend, id: string, message: string): Promise<void> {
  const all = await readMessages(backend, id, { silent: 'show' })
  if (all.some((each) => each.id === message)) return
  throw new SkeinError(
    'BAD_OPTION',
    `thread ${id} has no message ${JSON.stringify(message)}; messages() gives their ids`,
  )
}

interface RunId extends ThreadLocation {
  readonly run: string
}

async function locateSent(backend: Backend, sent: RunId, accepted: Promise<AcceptedCommand>): Promise<RunLocation> {
  const { seq, run = sent.run, began } = await accepted
  // Its own turn: the message is the last record but one at most. A turn it joined began earlier.
  if (run === sent.run) return { ...sent, after: Math.max(0, seq - 2) }
  return began === undefined ? findRun(backend, { ...sent, run }) : { ...sent, run, after: began - 1 }
}

/** Reads the journal for the first record of a run; a message that steered leads to the run that it joined. */
async function findRun(backend: Backend, { root, thread, run }: RunId): Promise<RunLocation> {
  const carried = { root, thread, run, after: 0, isCarried: true } as const
  let isFork = false
  for (const entry of await backend.journal.read(thread)) {
    for (const record of decode(thread, entry)) {
      const joined = runOf(record, run)
      if (joined === run) return { root, thread, run, after: record.seq - 1 }
      if (joined !== undefined) return findRun(backend, { root, thread, run: joined })
      if (record.type === 'turn.ended' && record.run === run) return carried
      isFork ||= record.type === 'thread.based'
    }
  }
  if (isFork && (await wake(backend, thread)).state.turn?.run === run) return carried
  throw new SkeinError('UNKNOWN_RUN', `thread ${thread} has no run ${JSON.stringify(run)}`)
}

/** The run that a record begins or joins, where it is about the message or the run `id`. */
function runOf(record: ThreadRecord, id: string): string | undefined {
  if (record.type === 'turn.started') return record.run === id ? id : undefined
  return record.type === 'message.received' && record.id === id ? record.run : undefined
}
