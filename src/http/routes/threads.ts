/** Routes of threads: to create, list, read and delete them, and to steer their turns. */
import { jsonResponse } from '../answer.js'
import { z } from 'zod'
import { SkeinError, threadStatuses } from '../../index.js'
import type { Thread, ThreadInfo, ThreadQuery } from '../../index.js'
import { defined } from '../../core/defined.js'
import { isDerivedId } from '../auth/derived-id.js'
import { createTreeGuard, isBound } from '../auth/principal.js'
import { route, traceOf } from '../route.js'
import type { RouteScene } from '../route.js'
import { longestWaitMs, outcomeWithin, runOutcome, sendTo, sentMessage } from '../run-outcome.js'
import {
  budget,
  changed,
  contexts,
  count,
  done,
  flag,
  isDone,
  messageId,
  pageLimit,
  threadId,
  threadInfo,
  usage,
} from '../schemas.js'
import { HttpProblem, badRequest } from '../problem.js'

const thread = { thread: threadId }

const createThread = route({
  method: 'post',
  path: '/threads',
  name: 'create_thread',
  summary:
    'Creates a thread. The same id again gives the thread that is there. With `message` its first turn begins, and ' +
    'with `wait` the answer comes when that has ended.',
  scope: 'write',
  query: { wait: count(longestWaitMs).optional() },
  body: z.strictObject({
    agent: z.string().min(1),
    id: threadId.optional(),
    tags: z.array(z.string().min(1).max(128)).max(64).optional(),
    files: z
      .record(z.string(), z.union([z.string(), z.strictObject({ base64: z.base64() })]))
      .optional()
      .describe('Files that it begins with, by path: texts, or bytes as `{ base64 }`'),
    env: z.record(z.string(), z.string()).optional().describe('Values of variables; sealed before they are stored'),
    budget: budget.optional(),
    context: contexts.optional(),
    message: sentMessage.optional().describe('Its first message; without an `id` that is `first`'),
  }),
  answer: {
    status: 201,
    description: 'The thread; with `message` also `run`, and `result` where it ended within `wait` milliseconds',
    schema: threadInfo.extend(runOutcome.partial().shape),
  },
  isTool: true,
  async run({ skein, principal, request, query: { wait }, body, signal, clock, mayTag, makesIds }) {
    const { tags = [], id, files, message, ...rest } = body
    if (wait !== undefined && !message) throw badRequest('wait: without a message there is no turn to wait for')
    const foreign = tags.find((tag) => !mayTag(tag))
    if (foreign !== undefined)
      throw new HttpProblem(
        { status: 403, code: 'FORBIDDEN' },
        `the key ${JSON.stringify(principal.name)} may not give the tag ${JSON.stringify(foreign)}`,
      )
    if (principal.roots)
      throw new HttpProblem({ status: 403, code: 'FORBIDDEN' }, 'this key is bound to trees that exist already')
    const key = id ?? request.headers.get('idempotency-key') ?? undefined
    if (key !== undefined && isDerivedId(key) && !makesIds)
      throw badRequest(`the id ${key} has the form of those that the server makes itself; choose another one`)
    const all = [...new Set([...tags, ...(principal.tags ?? [])])]
    const options = {
      ...defined({ ...rest, id: key, files: files && contentsOf(files) }),
      agent: body.agent,
      tags: all,
    }
    // An id that exists already may be one of another tenant, and why it is refused tells of that thread.
    const check = (taken: string): Promise<void> => createTreeGuard(skein, principal).checkThread(taken)
    const created = await skein.threads.create({ ...options, signal }).catch(async (thrown: unknown) => {
      if (key !== undefined && SkeinError.is(thrown, 'COMMAND_REFUSED')) await check(key)
      throw thrown
    })
    await check(created.id)
    const outcome =
      message && (await firstTurn({ skein, request, signal, principal, clock }, created, { message, wait }))
    return jsonResponse(
      { ...(await created.info()), ...outcome },
      { status: 201, headers: { location: `threads/${created.id}` } },
    )
  },
})

interface FirstTurn {
  readonly message: z.output<typeof sentMessage>
  readonly wait: number | undefined
}

async function firstTurn(
  scene: Pick<RouteScene, 'skein' | 'request' | 'signal' | 'principal' | 'clock'>,
  target: Thread,
  { message, wait }: FirstTurn,
): Promise<object> {
  // A request that is sent again is one message, as it is one thread.
  const run = sendTo(target, message, { ...traceOf(scene), id: message.id ?? 'first' })
  await run.accepted()
  const outcome = wait === undefined ? {} : await outcomeWithin({ target, run }, scene, wait)
  return { run: run.id, ...outcome }
}

function contentsOf(files: Readonly<Record<string, string | { readonly base64: string }>>) {
  const contents = Object.entries(files).map(([path, content]): [string, string | Uint8Array] => [
    path,
    typeof content === 'string' ? content : Buffer.from(content.base64, 'base64'),
  ])
  return Object.fromEntries(contents)
}

const mostListed = 1_000

const listThreads = route({
  method: 'get',
  path: '/threads',
  name: 'list_threads',
  summary: 'Lists threads, oldest first unless `sort` says otherwise.',
  scope: 'read',
  query: {
    status: z.enum(threadStatuses).optional(),
    agent: z.string().optional(),
    tag: z.string().optional(),
    parent: threadId.optional(),
    root: threadId.optional(),
    pending: flag.optional(),
    roots: flag.optional().describe('Only threads without a parent'),
    q: z.string().max(200).optional().describe('A text in title, id, name, agent, reference or tags'),
    sort: z.enum(['created', 'newest', 'updated', 'cost']).optional(),
    limit: pageLimit(mostListed).optional(),
    cursor: z.string().optional(),
  },
  answer: {
    status: 200,
    description: 'A page of threads; `next` is the cursor of the next one',
    schema: z.object({ threads: z.array(threadInfo), next: z.string().optional() }),
  },
  isTool: true,
  async run({ skein, principal, signal, query: { pending, roots: rootsOnly, limit = 100, ...rest } }) {
    const filter = { ...defined({ ...rest, rootsOnly }), limit, ...(pending && { pending: true as const }) }
    return isBound(principal) ? listVisible({ skein, principal, signal }, filter) : listPage(skein, filter)
  },
})

type Page = { readonly threads: readonly ThreadInfo[]; readonly next?: string }

/** What only the directory knows waits until it has read all threads. */
function listPage(skein: RouteScene['skein'], { q, sort, rootsOnly, ...filter }: ThreadQuery): Promise<Page> {
  const isPlain = q === undefined && sort === undefined && !rootsOnly
  return isPlain
    ? skein.threads.list(filter)
    : skein.directory().list({ ...filter, ...defined({ q, sort, rootsOnly }) })
}

/**
 * Pages on until the page is full: most of what there is may belong to others, so it looks at many at a time. A page
 * that has too many is read again as far as the last one that fits, because `next` goes on after that.
 */
async function listVisible(
  { skein, principal, signal }: Pick<RouteScene, 'skein' | 'principal' | 'signal'>,
  filter: ThreadQuery & { readonly limit: number },
): Promise<Page> {
  const guard = createTreeGuard(skein, principal)
  const threads: ThreadInfo[] = []
  let cursor = filter.cursor
  do {
    const left = filter.limit - threads.length
    const at = { ...filter, ...defined({ cursor }) }
    let page = await listPage(skein, { ...at, limit: mostListed })
    let seen = await guard.visible(page.threads)
    const last = seen[left - 1]
    if (last && (seen.length > left || last !== page.threads.at(-1))) {
      page = await listPage(skein, { ...at, limit: page.threads.indexOf(last) + 1 })
      seen = await guard.visible(page.threads)
    }
    threads.push(...seen)
    cursor = page.next
    signal.throwIfAborted()
  } while (cursor !== undefined && threads.length < filter.limit)
  return { threads, ...defined({ next: cursor }) }
}

const getThread = route({
  method: 'get',
  path: '/threads/{thread}',
  name: 'get_thread',
  summary: 'What is known of a thread.',
  scope: 'read',
  params: thread,
  answer: { status: 200, description: 'The thread', schema: threadInfo },
  isTool: true,
  run: async ({ skein, params }) => (await skein.threads.get(params.thread)).info(),
})

const countThreads = route({
  method: 'get',
  path: '/threads/{thread}/counts',
  name: 'count_threads',
  summary: 'Counts the thread and all below it: those at work, waiting and failed, and what they have used.',
  scope: 'read',
  params: thread,
  answer: {
    status: 200,
    description: 'The counts, and the position that they are true for',
    schema: z.object({
      threads: z.number(),
      working: z.number(),
      waiting: z.number(),
      failed: z.number(),
      unknown: z.number(),
      dead: z.number(),
      tokens: z.number(),
      costUsd: z.number(),
      position: z.number(),
    }),
  },
  isTool: true,
  run: ({ skein, params }) => skein.directory().counts(params.thread),
})

const deleteThread = route({
  method: 'delete',
  path: '/threads/{thread}',
  name: 'delete_tree',
  summary: 'Removes a tree for ever, by its root. Refused while it is at work, unless `terminate` is true.',
  scope: 'admin',
  params: thread,
  query: { terminate: flag.optional() },
  answer: { status: 204, description: 'It is gone' },
  async run({ skein, params, query }) {
    await skein.threads.delete(params.thread, defined(query))
    return undefined
  },
})

const reason = { reason: z.string().max(1_000).optional() }
const reasonAndTree = z.strictObject({ ...reason, tree: z.boolean().optional() }).optional()

const stopThread = route({
  method: 'post',
  path: '/threads/{thread}/stop',
  name: 'stop_turn',
  summary:
    'Ends the running turn; with `run`, only where it is the turn of that run. The thread takes further messages.',
  scope: 'write',
  params: thread,
  body: z.strictObject({ ...reason, run: messageId.optional() }).optional(),
  answer: { status: 200, description: 'Whether there was one', schema: changed },
  isTool: true,
  run: async ({ skein, params, body = {} }) => ({
    changed: await (await skein.threads.get(params.thread)).cancel(defined(body)),
  }),
})

const pauseThread = route({
  method: 'post',
  path: '/threads/{thread}/pause',
  name: 'pause_thread',
  summary: 'Starts nothing more, until it is resumed; with `tree`, nothing below it either.',
  scope: 'write',
  params: thread,
  body: reasonAndTree,
  answer: { status: 200, description: 'Whether that changed anything', schema: changed },
  run: async ({ skein, params, body = {} }) => ({
    changed: await (await skein.threads.get(params.thread)).pause(defined(body)),
  }),
})

const resumeThread = route({
  method: 'post',
  path: '/threads/{thread}/resume',
  name: 'resume_thread',
  summary: 'Goes on after a pause, a failed turn or a spent budget.',
  scope: 'write',
  params: thread,
  body: z.strictObject({ tree: z.boolean().optional() }).optional(),
  answer: { status: 200, description: 'Whether that changed anything', schema: changed },
  run: async ({ skein, params, body = {} }) => ({
    changed: await (await skein.threads.get(params.thread)).resume(defined(body)),
  }),
})

const terminateThread = route({
  method: 'post',
  path: '/threads/{thread}/terminate',
  name: 'terminate_thread',
  summary: 'Ends the thread and all below it for ever.',
  scope: 'write',
  params: thread,
  body: z.strictObject(reason).optional(),
  answer: { status: 200, description: 'Whether that changed anything', schema: changed },
  run: async ({ skein, params, body = {} }) => ({
    changed: await (await skein.threads.get(params.thread)).terminate(defined(body)),
  }),
})

const grantBudget = route({
  method: 'post',
  path: '/threads/{thread}/budget',
  name: 'grant_budget',
  summary: 'Raises the budget of a thread; with `resume` a turn that ended because it was spent goes on.',
  scope: 'write',
  params: thread,
  body: z.strictObject({ amounts: budget, resume: z.boolean().optional() }),
  answer: { status: 200, description: 'It is recorded', schema: done },
  async run({ skein, params, principal, body: { amounts, resume } }) {
    const target = await skein.threads.get(params.thread)
    await target.grant(defined(amounts), { by: principal.name, ...defined({ resume }) })
    return isDone
  },
})

const threadUsage = route({
  method: 'get',
  path: '/threads/{thread}/usage',
  name: 'get_usage',
  summary: 'What a thread has spent, and all below it.',
  scope: 'read',
  params: thread,
  answer: {
    status: 200,
    description: 'Tokens and cost',
    schema: z.looseObject({ own: usage, subtree: usage, byModel: z.array(z.looseObject({ model: z.string() })) }),
  },
  run: async ({ skein, params }) => (await skein.threads.get(params.thread)).usage(),
})

const threadTree = route({
  method: 'get',
  path: '/threads/{thread}/tree',
  name: 'get_tree',
  summary: 'A thread and all threads below it.',
  scope: 'read',
  params: thread,
  answer: { status: 200, description: 'The tree: each thread with its `children`', schema: threadInfo },
  isTool: true,
  run: async ({ skein, params }) => (await skein.threads.get(params.thread)).tree(),
})

const threadChildren = route({
  method: 'get',
  path: '/threads/{thread}/children',
  name: 'list_children',
  summary: 'Children as their parent knows them, and those in line with their places.',
  scope: 'read',
  params: thread,
  answer: {
    status: 200,
    description: 'The children',
    schema: z.object({ children: z.array(z.looseObject({ reference: z.string(), agent: z.string() })) }),
  },
  run: async ({ skein, params }) => ({ children: await (await skein.threads.get(params.thread)).children() }),
})

export const threadRoutes = [
  createThread,
  listThreads,
  getThread,
  countThreads,
  deleteThread,
  stopThread,
  pauseThread,
  resumeThread,
  terminateThread,
  grantBudget,
  threadUsage,
  threadTree,
  threadChildren,
]
