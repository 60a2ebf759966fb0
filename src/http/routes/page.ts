/** Routes of the page: who looks, the snapshot of a tree, and the stream of all that one browser looks at. */
import { z } from 'zod'
import { createTreeGuard, isBound } from '../auth/principal.js'
import { pageBuild } from '../page-files.js'
import { badRequest, unknownThread } from '../problem.js'
import { route } from '../route.js'
import type { RouteScene } from '../route.js'
import { threadId } from '../schemas.js'
import { eventStream } from '../stream/server-sent-events.js'
import { ViewEvents, inboxSource, rootsSource, textSource, treeSource } from '../view/view-stream.js'
import type { ViewSource } from '../view/view-stream.js'

const session = route({
  method: 'get',
  path: '/view/session',
  name: 'get_session',
  summary: 'Who asks, what they may do, and how often a stream of the page tells the time.',
  scope: 'read',
  answer: {
    status: 200,
    description: 'The session',
    schema: z.object({
      name: z.string(),
      scopes: z.array(z.string()),
      isBound: z.boolean(),
      heartbeatMs: z.number(),
      definitions: z.boolean(),
      build: z.string().describe('Which page is served; an older one is to be loaded again'),
      now: z.number(),
    }),
  },
  async run({ skein, principal, streams, clock }) {
    const { name, scopes } = principal
    const definitions = skein.definitions !== undefined
    const own = { name, scopes, isBound: isBound(principal) }
    return { ...own, heartbeatMs: beatOf(streams), definitions, build: await pageBuild(), now: clock.now() }
  },
})

const longestBeatMs = 1_000

/** People should see soon that nothing comes any more. */
function beatOf({ heartbeatMs }: RouteScene['streams']): number {
  return Math.min(heartbeatMs, longestBeatMs)
}

const snapshot = route({
  method: 'get',
  path: '/trees/{root}/snapshot',
  name: 'get_tree_snapshot',
  summary:
    'All threads of a tree and the spans of their work, in columns and without bodies; `GET /view` goes on from it.',
  scope: 'read',
  params: { root: threadId },
  answer: {
    status: 200,
    description: 'The snapshot; `epoch`, `threadsSeq` and `spansSeq` say where the stream goes on',
    schema: z.looseObject({ root: z.string(), epoch: z.string(), threadsSeq: z.number(), spansSeq: z.number() }),
  },
  async run({ skein, params: { root }, request, views }) {
    await checkRoot({ skein }, root)
    const { view, release } = views.use(root)
    try {
      await view.ready
      const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', vary: 'accept-encoding' }
      if (!/\bgzip\b/.test(request.headers.get('accept-encoding') ?? ''))
        return new Response(view.snapshotText(), { headers })
      return new Response(view.snapshotGzip(), { headers: { ...headers, 'content-encoding': 'gzip' } })
    } finally {
      release()
    }
  },
})

async function checkRoot({ skein }: Pick<RouteScene, 'skein'>, root: string): Promise<void> {
  const info = await (await skein.threads.get(root)).info()
  if (info.root !== root) throw unknownThread(root)
}

const flag = z.literal('1').optional()
const mostWatched = 32

interface WatchedTree {
  readonly root: string
  readonly epoch: string
  readonly position: readonly [number, number]
}

const treePattern = /^([\w-]{1,64})@([\w-]{1,32})\.(\d{1,15})\.(\d{1,15})$/

function treesOf(list: string): readonly WatchedTree[] {
  return list.split(',').map((entry) => {
    const [, root, epoch, threads, spans] = treePattern.exec(entry) ?? []
    if (root === undefined || epoch === undefined)
      throw badRequest(`${JSON.stringify(entry.slice(0, 64))} must look like <root>@<epoch>.<threadsSeq>.<spansSeq>`)
    return { root, epoch, position: [Number(threads), Number(spans)] }
  })
}

function textsOf(list: string): readonly (readonly [root: string, thread: string])[] {
  return list.split(',').map((entry) => {
    const [, root, thread] = /^([\w-]{1,64})\/([\w-]{1,64})$/.exec(entry) ?? []
    if (root === undefined || thread === undefined)
      throw badRequest(`${JSON.stringify(entry.slice(0, 64))} must look like <root>/<thread>`)
    return [root, thread]
  })
}

const viewStream = route({
  method: 'get',
  path: '/view',
  name: 'stream_view',
  summary: 'All that one browser looks at, over one connection: trees, the inbox, single trees and what a thread says.',
  scope: 'read',
  query: {
    roots: flag,
    inbox: flag,
    trees: z.string().max(8_192).optional().describe('`<root>@<epoch>.<threadsSeq>.<spansSeq>`, with commas between'),
    texts: z.string().max(8_192).optional().describe('`<root>/<thread>`, with commas between'),
  },
  answer: { status: 200, type: 'events', description: 'Server-sent events; each tells what has changed, as it is now' },
  async run({ skein, principal, query, signal, clock, streams, views }) {
    const trees = query.trees === undefined ? [] : treesOf(query.trees)
    const texts = query.texts === undefined ? [] : textsOf(query.texts)
    if (trees.length + texts.length > mostWatched)
      throw badRequest(`a stream has at most ${mostWatched} trees and texts`)
    const guard = createTreeGuard(skein, principal)
    const used = new Map<string, ReturnType<typeof views.use>>()
    const release = (): void => used.forEach((each) => each.release())
    const useTree = async (root: string) => {
      const known = used.get(root)
      if (known) return known.view
      await guard.checkThread(root)
      const made = views.use(root)
      used.set(root, made)
      await made.view.ready.catch(() => undefined)
      return made.view
    }
    signal.addEventListener('abort', release, { once: true })
    try {
      const sources: ViewSource[] = []
      for (const tree of trees) sources.push(treeSource(await useTree(tree.root), tree))
      for (const [root, thread] of texts) sources.push(textSource(await useTree(root), thread))
      sources.push(...(await commonSources({ skein, principal, views, signal }, query)))
      const events = new ViewEvents(sources, { clock, signal })
      return eventStream(events, { clock, signal, heartbeatMs: beatOf(streams), enter: streams.enter })
    } catch (thrown) {
      release()
      throw thrown
    }
  },
})

async function commonSources(
  { skein, principal, views, signal }: Pick<RouteScene, 'skein' | 'principal' | 'views' | 'signal'>,
  { roots, inbox }: { readonly roots?: '1' | undefined; readonly inbox?: '1' | undefined },
): Promise<readonly ViewSource[]> {
  const sources: ViewSource[] = []
  if (roots) {
    const view = views.roots()
    await view.ready.catch(() => undefined)
    const { roots: bound, tags } = principal
    sources.push(
      rootsSource(
        view,
        (row) => (bound?.includes(row.thread) ?? true) && (tags?.some((tag) => row.tags.includes(tag)) ?? true),
      ),
    )
  }
  if (inbox) {
    const guard = createTreeGuard(skein, principal)
    sources.push(
      inboxSource(skein.inbox.watch({ signal }), async (items) => {
        if (!isBound(principal)) return items
        const seen = await Promise.all(items.map(({ path }) => guard.seesRoot(path[0] ?? '')))
        return items.filter((_, index) => seen[index])
      }),
    )
  }
  return sources
}

export const pageRoutes = [session, snapshot, viewStream]
