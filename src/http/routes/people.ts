/** Routes for people: the inbox with its decisions, variables that are missing, and children that failed for good. */
import { z } from 'zod'
import type { InboxItem } from '../../index.js'
import { defined } from '../../core/defined.js'
import { visibleOf } from '../auth/principal.js'
import { route } from '../route.js'
import { callIdText, done, inboxItem, isDone, threadId } from '../schemas.js'

const thread = { thread: threadId }
const root = { root: threadId.optional() }
const comment = { comment: z.string().max(4_000).optional() }

const listInbox = route({
  method: 'get',
  path: '/inbox',
  name: 'list_inbox',
  summary: 'Everything that threads wait for a person to decide or to give, oldest first.',
  scope: 'read',
  query: { ...root, thread: threadId.optional() },
  answer: { status: 200, description: 'The inbox', schema: z.object({ items: z.array(inboxItem) }) },
  isTool: true,
  async run({ skein, principal, query }) {
    const items: readonly InboxItem[] = await skein.inbox.list(defined(query))
    return { items: await visibleOf({ skein, principal }, items) }
  },
})

const decision = { ...thread, call: callIdText }

const approveCall = route({
  method: 'post',
  path: '/inbox/{thread}/{call}/approve',
  name: 'approve_call',
  summary: 'Lets a call run, with other args where they are given. A second decision is refused.',
  scope: 'approve',
  params: decision,
  body: z.strictObject({ args: z.record(z.string(), z.unknown()).optional(), ...comment }).optional(),
  answer: { status: 200, description: 'It is recorded', schema: done },
  isTool: true,
  async run({ skein, principal, params, body = {} }) {
    await skein.inbox.approve(`${params.thread}/${params.call}`, { by: principal.name, ...defined(body) })
    return isDone
  },
})

const rejectCall = route({
  method: 'post',
  path: '/inbox/{thread}/{call}/reject',
  name: 'reject_call',
  summary: 'The call never runs, the question is not answered, the values are not given; the model is told.',
  scope: 'approve',
  params: decision,
  body: z.strictObject(comment).optional(),
  answer: { status: 200, description: 'It is recorded', schema: done },
  isTool: true,
  async run({ skein, principal, params, body = {} }) {
    await skein.inbox.reject(`${params.thread}/${params.call}`, { by: principal.name, ...defined(body) })
    return isDone
  },
})

const answerCall = route({
  method: 'post',
  path: '/inbox/{thread}/{call}/answer',
  name: 'answer_question',
  summary: 'Gives the output of a call that waits for a person.',
  scope: 'approve',
  params: decision,
  body: z.strictObject({ output: z.json() }),
  answer: { status: 200, description: 'It is recorded', schema: done },
  isTool: true,
  async run({ skein, principal, params, body }) {
    await skein.inbox.answer(`${params.thread}/${params.call}`, body.output, { by: principal.name })
    return isDone
  },
})

const listVariables = route({
  method: 'get',
  path: '/threads/{thread}/variables',
  name: 'list_variables',
  summary: 'Names of the variables that a thread has values for; never the values.',
  scope: 'read',
  params: thread,
  answer: {
    status: 200,
    description: 'The names',
    schema: z.object({ variables: z.array(z.object({ name: z.string(), from: z.enum(['own', 'inherited']) })) }),
  },
  run: async ({ skein, params }) => ({ variables: await (await skein.threads.get(params.thread)).env.names() }),
})

const setVariables = route({
  method: 'patch',
  path: '/threads/{thread}/variables',
  name: 'set_variables',
  summary: 'Sets values of variables, or takes them away with null. They are sealed before they are stored.',
  scope: 'write',
  params: thread,
  body: z.record(z.string(), z.string().nullable()),
  answer: { status: 200, description: 'It is durable', schema: done },
  async run({ skein, params, body }) {
    await (await skein.threads.get(params.thread)).env.set(body)
    return isDone
  },
})

const request = { ...thread, request: z.string().min(1).max(128) }

const getRequest = route({
  method: 'get',
  path: '/threads/{thread}/variables/{request}',
  name: 'get_variable_request',
  summary: 'Values that a child waits for before it begins.',
  scope: 'read',
  params: request,
  answer: {
    status: 200,
    description: 'The request',
    schema: z.looseObject({ id: z.string(), required: z.array(z.string()), missing: z.array(z.string()) }),
  },
  run: async ({ skein, params }) => skein.variables.get(params.thread, params.request),
})

const provideVariables = route({
  method: 'post',
  path: '/threads/{thread}/variables/{request}',
  name: 'provide_variables',
  summary: 'Stores the values, sealed, and starts the child, once. Nothing is stored where some are missing.',
  scope: 'write',
  params: request,
  body: z.record(z.string(), z.string()),
  answer: { status: 200, description: 'The child begins', schema: done },
  async run({ skein, params, body }) {
    await skein.variables.provide(params.thread, params.request, body)
    return isDone
  },
})

const listDeadLetters = route({
  method: 'get',
  path: '/dead-letters',
  name: 'list_dead_letters',
  summary: 'Children that failed for good, oldest first.',
  scope: 'read',
  query: root,
  answer: {
    status: 200,
    description: 'The letters',
    schema: z.object({
      letters: z.array(z.looseObject({ id: z.string(), thread: z.string(), reference: z.string() })),
    }),
  },
  run: async ({ skein, principal, query }) => ({
    letters: await visibleOf({ skein, principal }, await skein.deadLetters.list(defined(query))),
  }),
})

const letter = { ...thread, reference: z.string().min(1).max(128) }

const requeueLetter = route({
  method: 'post',
  path: '/dead-letters/{thread}/{reference}/requeue',
  name: 'requeue_dead_letter',
  summary: 'Tries a failed child again, as another thread; its answer comes to the parent as a message.',
  scope: 'write',
  params: letter,
  answer: { status: 200, description: 'It is recorded', schema: done },
  async run({ skein, params }) {
    await skein.deadLetters.requeue(`${params.thread}/${params.reference}`)
    return isDone
  },
})

const dropLetter = route({
  method: 'post',
  path: '/dead-letters/{thread}/{reference}/drop',
  name: 'drop_dead_letter',
  summary: 'Forgets a failed child.',
  scope: 'write',
  params: letter,
  answer: { status: 200, description: 'It is recorded', schema: done },
  async run({ skein, params }) {
    await skein.deadLetters.drop(`${params.thread}/${params.reference}`)
    return isDone
  },
})

export const peopleRoutes = [
  listInbox,
  approveCall,
  rejectCall,
  answerCall,
  listVariables,
  setVariables,
  getRequest,
  provideVariables,
  listDeadLetters,
  requeueLetter,
  dropLetter,
]
