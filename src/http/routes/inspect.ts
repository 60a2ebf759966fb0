/** Routes for people who look at a thread: where it stands, its records, its effects on the world, its context. */
import { z } from 'zod'
import { defined } from '../../core/defined.js'
import { visibleOf } from '../auth/principal.js'
import { route } from '../route.js'
import { callIdText, count, done, flag, isDone, message, sideEffect, threadId } from '../schemas.js'

const thread = { thread: threadId }

const threadState = route({
  method: 'get',
  path: '/threads/{thread}/state',
  name: 'get_state',
  summary: 'Where a thread stands: its place in the statechart, what it waits for, and until when.',
  scope: 'read',
  params: thread,
  answer: {
    status: 200,
    description: 'The state',
    schema: z.looseObject({
      thread: z.string(),
      status: z.string(),
      seq: z.number(),
      digest: z.string().describe('The hash of its journal up to `seq`'),
      value: z.object({ gate: z.string(), work: z.string() }),
      outstanding: z.array(z.looseObject({ key: z.string(), kind: z.string() })),
      deadlines: z.array(z.object({ key: z.string(), at: z.number() })),
    }),
  },
  run: async ({ skein, params }) => (await skein.threads.get(params.thread)).state(),
})

const mostRecords = 1_000

const listRecords = route({
  method: 'get',
  path: '/threads/{thread}/records',
  name: 'list_records',
  summary: 'Records of a thread by number: after one, or the last before one. Sealed values are left out.',
  scope: 'read',
  params: thread,
  query: {
    after: count(Number.MAX_SAFE_INTEGER).optional(),
    before: count(Number.MAX_SAFE_INTEGER).optional(),
    limit: z.coerce.number().int().min(1).max(mostRecords).optional(),
  },
  answer: {
    status: 200,
    description: 'A page of records, oldest first',
    schema: z.object({ records: z.array(z.looseObject({ seq: z.number(), type: z.string(), at: z.number() })) }),
  },
  run: async ({ skein, params, query }) => ({
    records: await (await skein.threads.get(params.thread)).records(defined(query)),
  }),
})

const effects = z.object({ effects: z.array(sideEffect) })

const threadEffects = route({
  method: 'get',
  path: '/threads/{thread}/effects',
  name: 'list_effects',
  summary: 'What the calls of a thread have done to the world, or may have done: unknown ones first.',
  scope: 'read',
  params: thread,
  answer: { status: 200, description: 'The effects', schema: effects },
  run: async ({ skein, params }) => ({ effects: await (await skein.threads.get(params.thread)).effects() }),
})

const unknownEffects = route({
  method: 'get',
  path: '/effects',
  name: 'list_unknown_effects',
  summary: 'Calls of all threads, or of one tree, of which nobody knows whether they changed the world.',
  scope: 'read',
  query: { root: threadId.optional() },
  answer: { status: 200, description: 'The effects, oldest first', schema: effects },
  run: async ({ skein, principal, query }) => ({
    effects: await visibleOf({ skein, principal }, await skein.effects.list(defined(query))),
  }),
})

const resolveEffect = route({
  method: 'post',
  path: '/effects/{thread}/{call}/resolve',
  name: 'resolve_effect',
  summary: 'Says what became of a call whose effect is unknown. Its model is told; a second resolution is refused.',
  scope: 'approve',
  params: { ...thread, call: callIdText },
  body: z.strictObject({
    happened: z.boolean(),
    value: z.json().optional().describe('What it returned, as far as that is known'),
    comment: z.string().max(4_000).optional(),
  }),
  answer: { status: 200, description: 'It is recorded', schema: done },
  async run({ skein, principal, params, body: { happened, ...rest } }) {
    const resolution = { happened, ...defined(rest), by: principal.name }
    await skein.effects.resolve(`${params.thread}/${params.call}`, resolution)
    return isDone
  },
})

const threadContext = route({
  method: 'get',
  path: '/threads/{thread}/context',
  name: 'get_context',
  summary: 'What the model of a thread would read now, and what was left out and why.',
  scope: 'read',
  params: thread,
  query: { side: z.enum(['a', 'b']).optional() },
  answer: {
    status: 200,
    description: 'The context',
    schema: z.looseObject({ messages: z.array(message), leftOut: z.array(z.looseObject({ id: z.string() })) }),
  },
  run: async ({ skein, params, query }) => (await skein.threads.get(params.thread)).context(defined(query)),
})

const exportThread = route({
  method: 'get',
  path: '/threads/{thread}/export',
  name: 'export_thread',
  summary: 'The journal of a thread, or of it and all below, and what its model was shown; without sealed values.',
  scope: 'read',
  params: thread,
  query: { tree: flag.optional(), maxBlobBytes: count(2 ** 30).optional() },
  answer: {
    status: 200,
    description: 'A file that can be replayed (`skein replay`)',
    schema: z.looseObject({ format: z.literal('skein-thread'), thread: z.string() }),
  },
  run: async ({ skein, params, query }) => (await skein.threads.get(params.thread)).export(defined(query)),
})

export const inspectRoutes = [
  threadState,
  listRecords,
  threadEffects,
  unknownEffects,
  resolveEffect,
  threadContext,
  exportThread,
]
