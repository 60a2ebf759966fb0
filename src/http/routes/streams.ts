/** Routes of streams: the events of a run, of a thread, of a tree, and the inbox, as server-sent events. */
import { z } from 'zod'
import type { EventOptions, SkeinEvent, ThreadInfo } from '../../index.js'
import { defined } from '../../core/defined.js'
import { createHeadFilter } from '../auth/head-filter.js'
import { createTreeGuard } from '../auth/principal.js'
import { badRequest, unknownThread } from '../problem.js'
import { route } from '../route.js'
import type { RouteAnswer, RouteScene } from '../route.js'
import { messageId, threadId } from '../schemas.js'
import { multiplex, parseCursors } from '../stream/multiplex.js'
import { eventStream, eventStreamOf, eventTexts, toStreamed } from '../stream/server-sent-events.js'
import type { StreamedEvent } from '../stream/server-sent-events.js'
import { openTreeInbox } from '../stream/tree-inbox.js'
import type { TreeInbox } from '../stream/tree-inbox.js'

const eventAnswer: RouteAnswer = {
  status: 200,
  type: 'events',
  description: 'Server-sent events; `id` is a cursor: send it as `Last-Event-ID`, or `from`, to go on after it',
}
const range = {
  from: z.string().max(256).optional(),
  until: z.literal('now').optional().describe('Ends after what is durable now'),
}
type Range = { readonly [Name in keyof typeof range]?: z.output<(typeof range)[Name]> }

type Streaming = Pick<RouteScene, 'request' | 'signal' | 'streams' | 'clock'>

/** The header of a browser that reconnects counts more than what its address said at first. */
function rangeOf({ request }: Streaming, { from, until }: Range): Pick<EventOptions, 'from' | 'until'> {
  const cursor = request.headers.get('last-event-id') ?? from
  // Refused before the stream begins: a browser would come back for ever.
  if (cursor !== undefined && !/^\d+\.\d+$/.test(cursor))
    throw badRequest(`${JSON.stringify(cursor.slice(0, 64))} is no cursor; one is the id of an event of this stream`)
  return defined({ from: cursor, until })
}

function streamOf({ signal, streams, clock }: Streaming, source: AsyncIterable<StreamedEvent>): Response {
  return eventStream(source, { clock, signal, heartbeatMs: streams.heartbeatMs, enter: streams.enter })
}

function streamOfEvents({ signal, streams, clock }: Streaming, source: AsyncIterable<SkeinEvent>): Response {
  const { heartbeatMs, enter } = streams
  return eventStreamOf(source, { clock, signal, heartbeatMs, enter }, toStreamed)
}

const threadEvents = route({
  method: 'get',
  path: '/threads/{thread}/events',
  name: 'stream_thread',
  summary: 'All events of a thread, from its beginning or a cursor, then live, or with `until` as far as it went.',
  scope: 'read',
  params: { thread: threadId },
  query: range,
  answer: eventAnswer,
  async run({ skein, params, query, ...scene }) {
    const thread = await skein.threads.get(params.thread)
    // Whoever leaves, or closes the server, ends the stream, and that ends these.
    const events = thread.events({ ...rangeOf(scene, query), maxBuffered: scene.streams.maxBuffered })
    return streamOfEvents(scene, events)
  },
})

const treeEvents = route({
  method: 'get',
  path: '/trees/{root}/events',
  name: 'stream_tree',
  summary: 'All events of a whole tree, from its beginning or a cursor, then live, or with `until` as far as it went.',
  scope: 'read',
  params: { root: threadId },
  query: range,
  answer: eventAnswer,
  async run({ skein, params: { root }, query, ...scene }) {
    const { signal, streams } = scene
    const { from, until } = rangeOf(scene, query)
    const { createdAt: born } = await checkRoot(skein, root)
    if (until === undefined) {
      const { heartbeatMs, enter, feeds } = streams
      return eventTexts(feeds.read({ root, born }, from), { clock: scene.clock, signal, heartbeatMs, enter })
    }
    const source = skein.events({ root, until, signal, maxBuffered: streams.maxBuffered, ...defined({ from }) })
    return streamOfEvents(scene, source)
  },
})

const runEvents = route({
  method: 'get',
  path: '/threads/{thread}/runs/{run}/events',
  name: 'stream_run',
  summary: 'The events of a run from its beginning, and meanwhile of all threads below; ends with it.',
  scope: 'read',
  params: { thread: threadId, run: messageId },
  answer: eventAnswer,
  async run({ skein, params, ...scene }) {
    const run = (await skein.threads.get(params.thread)).run(params.run)
    await run.accepted()
    const { signal, streams } = scene
    const { fullStream } = run.streams({ signal, maxBuffered: streams.maxBuffered })
    return streamOfEvents(scene, fullStream)
  },
})

const runText = route({
  method: 'get',
  path: '/threads/{thread}/runs/{run}/text',
  name: 'stream_text',
  summary: 'What the agent says in a run, as it says it.',
  scope: 'read',
  params: { thread: threadId, run: messageId },
  answer: { status: 200, type: 'text', description: 'Plain text, in chunks' },
  async run({ skein, params, signal, streams }) {
    const run = (await skein.threads.get(params.thread)).run(params.run)
    await run.accepted()
    const leave = streams.enter()
    const { textStream } = run.streams({ signal, maxBuffered: streams.maxBuffered })
    const pieces = textStream[Symbol.asyncIterator]()
    const encoder = new TextEncoder()
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await pieces.next().catch((thrown: unknown) => {
          leave()
          throw thrown
        })
        if (!done) return controller.enqueue(encoder.encode(value))
        leave()
        controller.close()
      },
      async cancel() {
        leave()
        await pieces.return?.()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' } })
  },
})

const inboxStream = route({
  method: 'get',
  path: '/trees/{root}/inbox/events',
  name: 'stream_inbox',
  summary: 'What a tree waits for people to decide: the whole list now, and again whenever it has changed.',
  scope: 'read',
  params: { root: threadId },
  answer: eventAnswer,
  async run({ skein, principal, params: { root }, ...scene }) {
    const inbox = await openTreeInbox({ skein, principal }, root)
    async function* lists(): AsyncGenerator<StreamedEvent> {
      for await (const items of inbox(scene.signal)) yield { event: 'inbox', data: { items } }
    }
    return streamOf(scene, lists())
  },
})

const mostSources = 64
const roots = z
  .string()
  .transform((text) => [...new Set(text.split(','))])
  .pipe(z.array(threadId).max(mostSources))

const multiplexed = route({
  method: 'get',
  path: '/stream',
  name: 'stream_many',
  summary:
    'The heads of all threads (`heads=1`), several trees (`tree`) and inboxes of trees (`inbox`) in one stream; the ' +
    'last two may be given several times.',
  scope: 'read',
  query: {
    heads: z.literal('1').optional(),
    tree: roots.optional(),
    inbox: roots.optional(),
    from: z.string().max(8_192).optional(),
  },
  lists: ['tree', 'inbox'],
  answer: eventAnswer,
  async run({ skein, principal, query: { heads, tree: trees = [], inbox: inboxes = [], from }, ...scene }) {
    if (trees.length + inboxes.length === 0 && !heads)
      throw badRequest('name what to stream: ?heads=1, ?tree=<root>, ?inbox=<root>, the last two as often as you like')
    const guard = createTreeGuard(skein, principal)
    for (const root of new Set([...trees, ...inboxes])) {
      await guard.checkThread(root)
      await checkRoot(skein, root)
    }
    const cursors = parseCursors(scene.request.headers.get('last-event-id') ?? from)
    const { signal, streams } = scene
    const opened = new Map<string, TreeInbox>()
    for (const root of inboxes) opened.set(root, await openTreeInbox({ skein, principal }, root))
    const source = multiplex(
      skein,
      { trees, inboxes: opened, from: cursors, ...(heads && { heads: createHeadFilter(skein, principal) }) },
      { signal, maxBuffered: streams.maxBuffered },
    )
    return streamOf(scene, source)
  },
})

async function checkRoot(skein: RouteScene['skein'], root: string): Promise<ThreadInfo> {
  const info = await (await skein.threads.get(root)).info()
  if (info.root !== root) throw unknownThread(root)
  return info
}

export const streamRoutes = [threadEvents, treeEvents, runEvents, runText, inboxStream, multiplexed]
