/**
 * Routes of views: a thread, or a run of it, as its own fold has it, with what each record changed. For clients that
 * show a turn as it goes on.
 */
import { z } from 'zod'
import type { ThreadChange, ThreadProjection } from '../../index.js'
import { defined } from '../../core/defined.js'
import { badRequest } from '../problem.js'
import { route } from '../route.js'
import type { RouteAnswer } from '../route.js'
import { count, flag, messageId, threadId, threadInfo } from '../schemas.js'
import { eventStream } from '../stream/server-sent-events.js'
import type { StreamedEvent } from '../stream/server-sent-events.js'

const thread = { thread: threadId }

const changes: RouteAnswer = {
  status: 200,
  type: 'events',
  description: 'Server-sent events (`change`): what happened, what it changed, and the thread afterwards',
}

const getView = route({
  method: 'get',
  path: '/threads/{thread}/view',
  name: 'get_view',
  summary: 'A thread as it is now: its status, its turn, its calls, its children and what its last turn came to.',
  scope: 'read',
  params: thread,
  answer: { status: 200, description: 'The view, without messages', schema: z.looseObject({ status: z.string() }) },
  async run({ skein, params }) {
    const { messages: _, ...rest } = await (await skein.threads.get(params.thread)).view().now()
    return rest
  },
})

const threadChanges = route({
  method: 'get',
  path: '/threads/{thread}/changes',
  name: 'stream_changes',
  summary: 'A live view of a thread, or with `tree` of all below it too; `from` is a cursor, or `start`.',
  scope: 'read',
  params: thread,
  query: { from: z.string().max(256).optional(), until: z.literal('now').optional(), tree: flag.optional() },
  answer: changes,
  async run({ skein, params, query, request, signal, streams, clock }) {
    const from = request.headers.get('last-event-id') ?? query.from
    if (from !== undefined && !/^(start|\d+\.\d+)$/.test(from))
      throw badRequest(`${JSON.stringify(from.slice(0, 64))} is no cursor; one is the id of an event of this stream`)
    const target = await skein.threads.get(params.thread)
    const { until, tree } = query
    const view = target.view({ ...defined({ from, until, tree }), signal, maxBuffered: streams.maxBuffered })
    return eventStream(toChanges(view), { clock, signal, heartbeatMs: streams.heartbeatMs, enter: streams.enter })
  },
})

const runChanges = route({
  method: 'get',
  path: '/threads/{thread}/runs/{run}/changes',
  name: 'stream_run_changes',
  summary: 'A view of a run from its beginning to its result; with `tree` of all threads below, too.',
  scope: 'read',
  params: { ...thread, run: messageId },
  query: { tree: flag.optional() },
  answer: changes,
  async run({ skein, params, query: { tree }, signal, streams, clock }) {
    const run = (await skein.threads.get(params.thread)).run(params.run)
    await run.accepted()
    const view = run.view({ ...defined({ tree }), signal, maxBuffered: streams.maxBuffered })
    return eventStream(toChanges(view), { clock, signal, heartbeatMs: streams.heartbeatMs, enter: streams.enter })
  },
})

/** What is told of a thread at first: all but its messages. After that only what may change without being told. */
async function* toChanges(view: AsyncIterable<ThreadChange>): AsyncGenerator<StreamedEvent> {
  const known = new Set<string>()
  for await (const { value, threads, ...change } of view) {
    const { event } = change
    const id = event && 'cursor' in event ? { id: event.cursor } : {}
    const data = { ...change, value: known.has(change.thread) ? briefOf(value) : wholeOf(value) }
    known.add(change.thread)
    for (const each of known) if (!threads.has(each)) known.delete(each)
    yield { event: 'change', data: { ...data, gone: !threads.has(change.thread) }, ...id }
  }
}

function briefOf({ agent, status, turn, usage }: ThreadProjection): object {
  return { agent, status, usage, ...defined({ turn }) }
}

function wholeOf(value: ThreadProjection): object {
  const { thread: id, path, calls, children, result } = value
  return { ...briefOf(value), thread: id, path, calls, children, ...defined({ result }) }
}

const longestWaitMs = 600_000

const awaitRest = route({
  method: 'get',
  path: '/threads/{thread}/settled',
  name: 'await_rest',
  summary: 'Waits until a thread, or with `tree` all below it too, is at rest; at most `wait` milliseconds.',
  scope: 'read',
  params: thread,
  query: { tree: flag.optional(), wait: count(longestWaitMs).optional() },
  answer: {
    status: 200,
    description: 'The thread, and whether it is at rest',
    schema: z.object({ thread: threadInfo, settled: z.boolean() }),
  },
  async run({ skein, params, query: { tree, wait = 0 }, signal }) {
    const target = await skein.threads.get(params.thread)
    const enough = AbortSignal.timeout(wait)
    try {
      const until = AbortSignal.any([enough, signal])
      return { thread: await target.settled({ ...defined({ tree }), signal: until }), settled: true }
    } catch (thrown) {
      if (!enough.aborted && !signal.aborted) throw thrown
      return { thread: await target.info(), settled: false }
    }
  },
})

export const viewRoutes = [getView, threadChanges, runChanges, awaitRest]
