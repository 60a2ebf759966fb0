/**
 * Routes of time travel: the timeline of a thread, its forks, going back, and what differs between two points.
 *
 * - Who writes may fork and rewind. What becomes of things done to the world is a decision: `force`, `revert` and
 *   `effects: "run"` need the scope `approve` besides. A fork of who has it not asks before each effect: an approval
 *   that was given in the source, and not used yet, would else be used by every fork.
 * - A fork is a tree of its own: a key that is bound to trees cannot make one, and of a tenant it gets the tags.
 */
import { z } from 'zod'
import { SkeinError } from '../../index.js'
import type { ForkOptions, Thread } from '../../index.js'
import { defined } from '../../core/defined.js'
import { parsePoint, pointForms } from '../../core/point.js'
import { isDerivedId } from '../auth/derived-id.js'
import { checkScope, createTreeGuard, hasScope } from '../auth/principal.js'
import type { Principal } from '../auth/principal.js'
import { HttpProblem, badRequest } from '../problem.js'
import { route } from '../route.js'
import type { RouteScene } from '../route.js'
import { budget, count, flag, message, messageId, threadId, threadInfo, usage } from '../schemas.js'

const thread = { thread: threadId }
const whole = z.number().int().min(0)

const point = z
  .union(
    [
      z.strictObject({ step: whole }),
      z.strictObject({ turn: messageId }),
      z.strictObject({ message: messageId }),
      z.strictObject({ seq: whole.min(1) }),
      z.strictObject({ cursor: z.string().regex(/^\d{1,16}\.\d{1,16}$/, 'a cursor looks like 41.12') }),
    ],
    'must be one of { step }, { turn }, { message }, { seq } and { cursor }',
  )
  .describe('A step whose results are in, before a turn or a message, after a record or the event of a cursor')

const getTimeline = route({
  method: 'get',
  path: '/threads/{thread}/timeline',
  name: 'get_timeline',
  summary: 'The turns and steps of a thread, oldest first: the points that one can go back to.',
  scope: 'read',
  params: thread,
  query: {
    after: count(Number.MAX_SAFE_INTEGER).optional().describe('The `seq` of the last row that was seen'),
    limit: z.coerce.number().int().min(1).max(1_000).optional(),
  },
  answer: {
    status: 200,
    description: 'A page of rows',
    schema: z.object({
      rows: z.array(
        z.looseObject({
          seq: z.number(),
          position: z.number(),
          at: z.number(),
          kind: z.enum(['turn', 'step', 'effect', 'reduced', 'rewound', 'forked']),
          step: z.number().optional(),
          calls: z
            .array(
              z.looseObject({
                call: z.string(),
                tool: z.string(),
                effect: z.enum(['begun', 'done', 'failed', 'unknown']).optional(),
                reverts: z.string().optional().describe('The call that it undoes'),
                undone: z.literal(true).optional().describe('A rewind has undone its effect'),
              }),
            )
            .optional(),
          usage: usage.optional(),
          point: z.literal(true).optional(),
          undone: z.literal(true).optional(),
        }),
      ),
    }),
  },
  isTool: true,
  run: async ({ skein, params, query }) => ({
    rows: await (await skein.threads.get(params.thread)).timeline(defined(query)),
  }),
})

const crossing = z
  .looseObject({
    thread: z.string(),
    seq: z.number(),
    effects: z.array(
      z.looseObject({
        thread: z.string(),
        call: z.string(),
        tool: z.string(),
        key: z.string(),
        state: z.enum(['done', 'unknown']),
        revert: z.boolean(),
        at: z.number(),
      }),
    ),
    cut: z.array(z.object({ thread: z.string(), seq: z.number() })).optional(),
  })
  .meta({ title: 'Crossing' })

const forkThread = route({
  method: 'post',
  path: '/threads/{thread}/fork',
  name: 'fork_thread',
  summary:
    'Another thread that begins with the past of this one up to a point; with `dry` only the report of what that ' +
    'crosses. Refused with EFFECTS_CROSSED and the report where the thread has acted on the world since, unless ' +
    '`effects` or `force` is said; `force` and `effects: "run"` need the scope approve, too, and without it `ask` is ' +
    'the default.',
  scope: 'write',
  params: thread,
  body: z
    .strictObject({
      at: point.optional().describe('Default: after the last record'),
      tree: z.boolean().optional().describe('All threads below it too, as they were at that position'),
      effects: z.enum(['ask', 'refuse', 'run']).optional().describe('What calls with a side effect do in the fork'),
      env: z.enum(['keep', 'drop']).optional(),
      schedules: z.enum(['keep', 'drop']).optional(),
      budget: budget.optional(),
      go: z.boolean().optional().describe('It goes on at once; else it is paused where a turn was under way'),
      force: z.boolean().optional(),
      dry: z.boolean().optional(),
      id: threadId.optional().describe('The same fork again gives the thread that is there'),
      tags: z.array(z.string().min(1).max(128)).max(64).optional().describe('Default: those of the thread'),
    })
    .optional(),
  answer: {
    status: 201,
    description: 'The fork; with `dry` the report, with status 200',
    schema: z.union([threadInfo, crossing]),
  },
  isTool: true,
  async run({ skein, principal, params, body = {}, mayTag, makesIds }) {
    const { dry = false, tags, id, ...rest } = body
    const source = await skein.threads.get(params.thread)
    if (dry) return Response.json(await source.fork({ ...defined({ ...rest, id, tags }), dry: true }))
    if (rest.force || rest.effects === 'run') checkScope(principal, 'approve')
    checkTree({ principal, mayTag }, tags)
    if (id !== undefined && isDerivedId(id) && !makesIds)
      throw badRequest(`the id ${id} has the form of those that the server makes itself; choose another one`)
    const all = principal.tags && [...new Set([...(tags ?? source.tags), ...principal.tags])]
    // An id that exists already may be one of another tenant, and why it is refused tells of that thread.
    const check = (taken: string): Promise<void> => createTreeGuard(skein, principal).checkThread(taken)
    const effects = rest.effects ?? (await unsaidWord(principal, source, defined(rest)))
    const options = defined({ ...rest, effects, id, tags: all ?? tags })
    const fork = await source.fork(options).catch(async (thrown: unknown) => {
      if (id !== undefined && SkeinError.is(thrown, 'COMMAND_REFUSED')) await check(id)
      throw thrown
    })
    await check(fork.id)
    return Response.json(await fork.info(), { status: 201, headers: { location: `../${fork.id}` } })
  },
})

const rewindThread = route({
  method: 'post',
  path: '/threads/{thread}/rewind',
  name: 'rewind_thread',
  summary:
    'Goes back to a point of the thread; with `dry` only the report of what lies between. Refused with ' +
    'EFFECTS_CROSSED and the report where the thread has acted on the world since, unless `revert` (its tools undo ' +
    'it, newest first) or `force` (it stays as it is) is said, which need the scope approve, too. Refused while a ' +
    'turn runs.',
  scope: 'write',
  params: thread,
  body: z.strictObject({
    to: point,
    revert: z.boolean().optional(),
    force: z.boolean().optional(),
    dry: z.boolean().optional(),
  }),
  answer: {
    status: 200,
    description: 'The record that it went back to, and the calls that were undone; with `dry` the report',
    schema: z.union([z.object({ to: z.number(), reverted: z.array(z.string()) }), crossing]),
  },
  isTool: true,
  async run({ skein, principal, params, body: { dry = false, ...rest } }) {
    const target = await skein.threads.get(params.thread)
    const options = { to: rest.to, ...defined(rest) }
    if (dry) return target.rewind({ ...options, dry: true })
    if (rest.force || rest.revert) checkScope(principal, 'approve')
    return target.rewind(options)
  },
})

/** What stands for `effects` where nothing was said; what was crossed is still refused then. */
async function unsaidWord(
  principal: Principal,
  source: Pick<Thread, 'fork'>,
  { at, tree, force }: Pick<ForkOptions, 'at' | 'tree' | 'force'>,
): Promise<'ask' | undefined> {
  if (force || hasScope(principal, 'approve')) return undefined
  const { effects } = await source.fork({ ...defined({ at, tree }), dry: true })
  return effects.length > 0 ? undefined : 'ask'
}

/** A fork is a new tree: the same is asked as of who creates one. */
function checkTree(
  { principal, mayTag }: Pick<RouteScene, 'principal' | 'mayTag'>,
  tags: readonly string[] = [],
): void {
  if (principal.roots)
    throw new HttpProblem({ status: 403, code: 'FORBIDDEN' }, 'this key is bound to trees that exist already')
  const foreign = tags.find((tag) => !mayTag(tag))
  if (foreign === undefined) return
  throw new HttpProblem(
    { status: 403, code: 'FORBIDDEN' },
    `the key ${JSON.stringify(principal.name)} may not give the tag ${JSON.stringify(foreign)}`,
  )
}

const side = z
  .string()
  .max(384)
  .describe('`<thread>`, or `<thread>@<point>`')
  .transform((text, context) => {
    const [id = '', ...rest] = text.split('@')
    const checked = threadId.safeParse(id)
    const at = rest.length > 0 ? parsePoint(rest.join('@')) : undefined
    if (checked.success && (at || rest.length === 0)) return { thread: checked.data, ...defined({ at }) }
    context.addIssue({ code: 'custom', message: `it looks like t1 or t1@3; a point is ${pointForms}` })
    return z.NEVER
  })

const parts = ['messages', 'files', 'values'] as const

const diffThreads = route({
  method: 'get',
  path: '/diff',
  name: 'diff_threads',
  summary: 'What differs between two threads, or two points of one: messages, files and values.',
  scope: 'read',
  query: {
    a: side,
    b: side,
    of: z
      .string()
      .max(64)
      .transform((text) => text.split(','))
      .pipe(z.array(z.enum(parts)))
      .optional()
      .describe('Some of messages, files and values, with commas between them; default: all'),
    patches: flag.optional().describe('Changed text files with a patch'),
  },
  lists: ['of'],
  answer: {
    status: 200,
    description: 'The differences',
    schema: z.looseObject({
      a: z.object({ thread: z.string(), seq: z.number() }),
      b: z.object({ thread: z.string(), seq: z.number() }),
      messages: z.object({ common: z.number(), a: z.array(message), b: z.array(message) }).optional(),
      files: z.array(z.looseObject({ path: z.string(), change: z.enum(['added', 'removed', 'changed']) })).optional(),
      values: z.array(z.looseObject({ key: z.string() })).optional(),
    }),
  },
  isTool: true,
  async run({ skein, principal, query: { a, b, ...options } }) {
    const guard = createTreeGuard(skein, principal)
    await guard.checkThread(a.thread)
    await guard.checkThread(b.thread)
    return skein.diff(a, b, defined(options))
  },
})

export const travelRoutes = [getTimeline, forkThread, rewindThread, diffThreads]
