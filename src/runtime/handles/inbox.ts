/**
 * The inbox: everything that threads wait for a person to decide or to give, in one list and one subscription. It is
 * made of the threads' heads, so it is as durable as they are and the same in every process.
 *
 * - A decision is a command to the thread: its promise resolves when it is durable, and a second one is refused.
 */
import { z } from 'zod'
import type { StoredHead } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { SkeinError } from '../../core/failure.js'
import type { Command } from '../../core/records/command.js'
import { toJson } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { eachHead } from '../journal/heads.js'
import { checkOptions } from '../../core/options.js'
import { decisionSchema } from './options.js'
import { sendCommand } from './send-command.js'
import { createQueue } from '../watch/async-queue.js'
import { createIteration } from '../../core/async/iteration.js'
import { inboxOf, itemsOf } from '../watch/directory/inbox-item.js'
import type { InboxItem } from '../watch/directory/inbox-item.js'
import type { ThreadServices } from './services.js'
import { toTreeSignal, treeTopic } from '../watch/topics.js'
import { lazy } from '../../core/schema.js'

export interface InboxFilter {
  /** Only what waits in this tree. */
  readonly root?: string
  readonly thread?: string
}

export interface Inbox {
  list(filter?: InboxFilter): Promise<readonly InboxItem[]>
  /** The list now, and again whenever it has changed. Of all trees it is kept by the directory, which it opens. */
  watch(filter?: InboxFilter & { readonly signal?: AbortSignal }): AsyncIterable<readonly InboxItem[]>
  /** Lets the call run, with other args where they are given. */
  approve(
    id: string,
    options?: { readonly args?: unknown; readonly by?: string; readonly comment?: string },
  ): Promise<void>
  /** The call never runs, the question is not answered, the values are not given; the model is told. */
  reject(id: string, options?: { readonly by?: string; readonly comment?: string }): Promise<void>
  /** Gives the output of a call that waits for a person. */
  answer(id: string, output: unknown, options?: { readonly by?: string }): Promise<void>
}

const text = z.string().optional()
const filterSchema = lazy(() => z.strictObject({ root: text, thread: text }))
const watchSchema = lazy(() =>
  z.strictObject({ root: text, thread: text, signal: z.instanceof(AbortSignal).optional() }),
)
const approveSchema = lazy(() => decisionSchema().extend({ args: z.unknown().optional() }))
const answerSchema = lazy(() => z.strictObject({ by: text }))

export function createInbox(services: ThreadServices): Inbox {
  const { backend, clock, random, directory } = services
  const list = async (filter: InboxFilter = {}): Promise<readonly InboxItem[]> => {
    checkOptions(filterSchema(), filter, 'inbox.list')
    if (filter.thread !== undefined) {
      const head = await backend.heads.get(filter.thread)
      return head ? itemsOf(head, await backend.heads.get(head.root)) : []
    }
    const { root } = filter
    if (directory.isReady) return (await directory.inbox(defined({ root }))).items
    const heads: StoredHead[] = []
    for await (const head of eachHead(backend, { pending: true, ...defined({ root }) })) heads.push(head)
    const roots = new Map<string, StoredHead | undefined>(heads.map((head) => [head.thread, head]))
    for (const { root: above } of heads) if (!roots.has(above)) roots.set(above, await backend.heads.get(above))
    return inboxOf(heads, (id) => roots.get(id))
  }
  const send = async (id: string, make: (call: string) => Command): Promise<void> => {
    const { thread, call } = parseId(id)
    await sendCommand(backend, clock, { thread, id: random.id(), command: make(call) })
  }
  return {
    list,
    watch: ({ signal, ...filter } = {}) =>
      createIteration(
        (ended) => {
          checkOptions(watchSchema(), { ...filter, ...defined({ signal }) }, 'inbox.watch')
          return watchInbox(services, { ...filter, signal: ended }, () => list(filter))
        },
        [services.closed, signal],
      ),
    async approve(id, options = {}) {
      const { args, by, comment } = checkOptions(approveSchema(), options, 'inbox.approve')
      const edited = args === undefined ? undefined : plainJson(args)
      await send(id, (call) => ({
        kind: 'decide',
        call,
        decision: 'approve',
        ...defined({ by, comment, args: edited }),
      }))
    },
    async reject(id, options = {}) {
      const { by, comment } = checkOptions(decisionSchema(), options, 'inbox.reject')
      await send(id, (call) => ({ kind: 'decide', call, decision: 'reject', ...defined({ by, comment }) }))
    },
    async answer(id, output, options = {}) {
      const { by } = checkOptions(answerSchema(), options, 'inbox.answer')
      await send(id, (call) => ({ kind: 'answer', call, output: plainJson(output), ...defined({ by }) }))
    },
  }
}

function parseId(id: string): { readonly thread: string; readonly call: string } {
  const slash = id.lastIndexOf('/')
  if (slash > 0) return { thread: id.slice(0, slash), call: id.slice(slash + 1) }
  throw new SkeinError(
    'BAD_OPTION',
    `${JSON.stringify(id)} is no id of the inbox; one looks like <thread>/call_1_0 (see inbox.list())`,
  )
}

async function* watchInbox(
  services: ThreadServices,
  { signal, ...filter }: InboxFilter & { readonly signal: AbortSignal },
  list: () => Promise<readonly InboxItem[]>,
): AsyncGenerator<readonly InboxItem[]> {
  const bell = createQueue<'ring'>(signal)
  const stop = await listen(services, filter, () => bell.push('ring'))
  try {
    let before = ''
    for (let rung: 'ring' | undefined = 'ring'; rung; rung = await bell.next()) {
      const items = await list()
      const now = JSON.stringify(items)
      if (now === before) continue
      before = now
      yield items
    }
  } finally {
    stop()
    bell.close()
  }
}

/** Rings when the inbox may have changed. Returns what stops it. */
async function listen(
  { backend, directory }: ThreadServices,
  { root, thread }: InboxFilter,
  ring: () => void,
): Promise<() => void> {
  const tree = root ?? (thread === undefined ? undefined : (await backend.heads.get(thread))?.root)
  if (tree === undefined) {
    await directory.ready()
    return directory.listen((heads) => heads.some(({ pending }) => pending) && ring())
  }
  const heard = (value: Json): unknown => toTreeSignal(value)?.kind === 'committed' && ring()
  return backend.signals.subscribe(treeTopic(tree), heard, ring)
}

type CommandJson = Extract<Command, { kind: 'answer' }>['output']

/** A caller's value as plain JSON: a copy that the caller cannot change later. */
export function plainJson(value: unknown): CommandJson {
  const copy: CommandJson = JSON.parse(JSON.stringify(toJson(value)))
  return copy
}
