/**
 * Routes of messages and the runs that they begin.
 *
 * - A message that is sent twice with one id (`id`, or the header `Idempotency-Key`) is one message: a request that
 *   timed out can be sent again.
 */
import { jsonResponse } from '../answer.js'
import { z } from 'zod'
import type { Run, Thread } from '../../index.js'
import { defined } from '../../core/defined.js'
import { badRequest } from '../problem.js'
import { route, traceOf } from '../route.js'
import { longestWaitMs, outcomeWithin, runOutcome, sendTo, sentMessage } from '../run-outcome.js'
import type { RunAnswer } from '../run-outcome.js'
import { callIdText, count, done, flag, isDone, message, messageId, pageLimit, threadId } from '../schemas.js'

const thread = { thread: threadId }

const sendMessage = route({
  method: 'post',
  path: '/threads/{thread}/messages',
  name: 'send_message',
  summary: 'Says something to a thread. Answers when that is durable, or with `wait` when the turn has ended.',
  scope: 'write',
  params: thread,
  query: { wait: count(longestWaitMs).optional() },
  body: sentMessage,
  answer: {
    status: 202,
    description: 'The run that answers it; status 200 with `result` where it ended within `wait` milliseconds',
    schema: runOutcome,
  },
  isTool: true,
  async run({ skein, params, query, body, ...scene }) {
    const { request } = scene
    const key = body.id ?? request.headers.get('idempotency-key') ?? undefined
    if (key !== undefined && !messageId.safeParse(key).success)
      throw badRequest('the header Idempotency-Key must be 1 to 128 letters, digits or any of "_-.:"')
    const target = await skein.threads.get(params.thread)
    const run = sendTo(target, body, { ...traceOf({ skein, request }), ...defined({ id: key }) })
    await run.accepted()
    const outcome = query.wait === undefined ? {} : await outcomeWithin({ target, run }, scene, query.wait)
    return runAnswer(run, outcome)
  },
})

function runAnswer({ id }: Run, { result, waiting }: RunAnswer): Response {
  return jsonResponse({ run: id, ...defined({ result, waiting }) }, { status: result ? 200 : 202 })
}

const injectMessage = route({
  method: 'post',
  path: '/threads/{thread}/inject',
  name: 'inject_message',
  summary: 'Stores a message without starting a turn.',
  scope: 'write',
  params: thread,
  body: z.strictObject({
    text: z.string(),
    id: messageId.optional(),
    role: z.enum(['user', 'system', 'assistant']).optional(),
    silent: z.boolean().optional(),
  }),
  answer: { status: 200, description: 'It is stored', schema: done },
  async run({ skein, params, body: { text, ...options } }) {
    await (await skein.threads.get(params.thread)).inject(text, defined(options))
    return isDone
  },
})

const mostMessages = 1_000

const listMessages = route({
  method: 'get',
  path: '/threads/{thread}/messages',
  name: 'list_messages',
  summary:
    'Messages of a thread, oldest first: the first ones, or those after `after`, the id of the last one that was ' +
    'read. With `before` the newest before that record (`end`: of all), each with its `seq`; the page before it is ' +
    '`before` the first `seq`.',
  scope: 'read',
  params: thread,
  query: {
    after: messageId.optional(),
    before: z
      .union([z.literal('end').transform(() => Infinity), count(Number.MAX_SAFE_INTEGER)])
      .optional()
      .describe('`end`, or the `seq` of the first message of the page after it'),
    limit: pageLimit(mostMessages).optional(),
    silent: flag.optional(),
  },
  answer: { status: 200, description: 'A page of messages', schema: z.object({ messages: z.array(message) }) },
  isTool: true,
  async run({ skein, params, query: { after, before, limit = 100, silent } }) {
    const target = await skein.threads.get(params.thread)
    const shown = silent ? { silent: 'show' as const } : {}
    return { messages: await target.messages({ ...defined({ after, before }), limit, ...shown }) }
  },
})

const editMessage = route({
  method: 'patch',
  path: '/threads/{thread}/messages/{message}',
  name: 'edit_message',
  summary: 'Has a message read otherwise from now on.',
  scope: 'write',
  params: { ...thread, message: messageId },
  body: z.strictObject({ text: z.string() }),
  answer: { status: 200, description: 'It is recorded', schema: done },
  async run({ skein, params, body }) {
    await (await skein.threads.get(params.thread)).edit(params.message, body.text)
    return isDone
  },
})

const removeMessage = route({
  method: 'delete',
  path: '/threads/{thread}/messages/{message}',
  name: 'remove_message',
  summary: 'Takes a message out of what is read.',
  scope: 'write',
  params: { ...thread, message: messageId },
  answer: { status: 204, description: 'It is recorded' },
  async run({ skein, params }) {
    await (await skein.threads.get(params.thread)).remove(params.message)
    return undefined
  },
})

const callTool = route({
  method: 'post',
  path: '/threads/{thread}/calls',
  name: 'call_tool',
  summary: 'Has a tool called that no model asked for.',
  scope: 'write',
  params: thread,
  body: z.strictObject({ tool: z.string().min(1), args: z.record(z.string(), z.unknown()).optional() }),
  answer: { status: 202, description: 'The run that it belongs to', schema: z.object({ run: z.string() }) },
  async run({ skein, params, body }) {
    const run = await (await skein.threads.get(params.thread)).callTool(body.tool, body.args)
    return { run: run.id }
  },
})

const run = { ...thread, run: messageId }

const getRun = route({
  method: 'get',
  path: '/threads/{thread}/runs/{run}',
  name: 'get_run',
  summary: 'The result of a run, when it has ended; `wait` says how long to wait for that.',
  scope: 'read',
  params: run,
  query: { wait: count(longestWaitMs).optional() },
  answer: {
    status: 200,
    description: 'The result; status 202 where the turn goes on',
    schema: runOutcome,
  },
  isTool: true,
  async run({ skein, params, query, ...scene }) {
    const target = await skein.threads.get(params.thread)
    const known = await knownRun(target, params.run)
    return runAnswer(known, await outcomeWithin({ target, run: known }, scene, query.wait ?? 0))
  },
})

/** Rejects where there is no such run: a wait for its result alone would not. */
async function knownRun(target: Thread, id: string): Promise<Run> {
  const found = target.run(id)
  await found.accepted()
  return found
}

const runCalls = route({
  method: 'get',
  path: '/threads/{thread}/runs/{run}/calls',
  name: 'list_pending_calls',
  summary: 'Calls of a run that are not answered now.',
  scope: 'read',
  params: run,
  answer: {
    status: 200,
    description: 'The calls',
    schema: z.object({ calls: z.array(z.looseObject({ id: z.string(), tool: z.string() })) }),
  },
  async run({ skein, params }) {
    const known = await knownRun(await skein.threads.get(params.thread), params.run)
    return { calls: await known.pendingToolCalls() }
  },
})

const callResult = route({
  method: 'post',
  path: '/threads/{thread}/calls/{call}/result',
  name: 'answer_call',
  summary: 'Gives the output of a call that waits for a person or for the caller.',
  scope: 'approve',
  params: { ...thread, call: callIdText },
  body: z.strictObject({ output: z.unknown() }),
  answer: { status: 200, description: 'It is recorded', schema: done },
  async run({ skein, params, principal, body }) {
    await skein.inbox.answer(`${params.thread}/${params.call}`, body.output, { by: principal.name })
    return isDone
  },
})

export const messageRoutes = [
  sendMessage,
  injectMessage,
  listMessages,
  editMessage,
  removeMessage,
  callTool,
  getRun,
  runCalls,
  callResult,
]
