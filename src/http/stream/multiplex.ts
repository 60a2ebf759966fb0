/**
 * One stream of the heads of all threads, of several trees and inboxes, for a browser that has few connections. Every
 * event says what it is of; its id has the position of the heads and the cursors of all trees
 * (`h31;one=12.0;two=7.3`), so that one header resumes them all.
 *
 * - A tree that is deleted is told (`removed`), and the others go on.
 * - Heads come in pages; only the last page of some has their position in its id.
 */
import { SkeinError } from '../../index.js'
import type { DirectoryPage, EventOptions, InboxItem, SkeinClient } from '../../index.js'
import { defined } from '../../core/defined.js'
import type { SeenPage } from '../auth/head-filter.js'
import { badRequest } from '../problem.js'
import { merge } from './merge.js'
import { toStreamed } from './server-sent-events.js'
import type { StreamedEvent } from './server-sent-events.js'
import type { TreeInbox } from './tree-inbox.js'

/** Cursors by root, and the position of the heads by no name. */
type Cursors = ReadonlyMap<string, string>

const ofHeads = ''
const cursorForm = /^(?:([\w-]{1,64})=(\d+\.\d+)|h(\d{1,15}))$/

export function parseCursors(text: string | undefined): Cursors {
  if (text === undefined || text === '') return new Map()
  return new Map(
    text.split(';').map((part): [string, string] => {
      const [, root = ofHeads, cursor, position] = cursorForm.exec(part) ?? []
      const at = cursor ?? position
      if (at !== undefined) return [root, at]
      throw badRequest(`${JSON.stringify(text.slice(0, 64))} is no cursor; one is the id of an event of this stream`)
    }),
  )
}

function formatCursors(cursors: Cursors): string {
  return [...cursors].map(([root, at]) => (root === ofHeads ? `h${at}` : `${root}=${at}`)).join(';')
}

export interface Multiplexed {
  /** What may be seen of the heads; absent: they are not asked for. */
  readonly heads?: (page: DirectoryPage) => Promise<SeenPage>
  readonly trees: readonly string[]
  /** By root. */
  readonly inboxes: ReadonlyMap<string, TreeInbox>
  readonly from: Cursors
}

type Reading = Required<Pick<EventOptions, 'signal' | 'maxBuffered'>>

export function multiplex(
  skein: SkeinClient,
  { heads, trees, inboxes, from }: Multiplexed,
  reading: Reading,
): AsyncIterable<StreamedEvent> {
  const cursors = new Map([...from].filter(([root]) => (root === ofHeads ? heads : trees.includes(root))))
  const ofAll = heads ? [headPages(skein, { see: heads, cursors }, reading.signal)] : []
  const ofTrees = trees.map((root) => untilRemoved('tree', root, treeEvents(skein, { root, cursors }, reading)))
  const ofInboxes = [...inboxes].map(([root, inbox]) =>
    untilRemoved('inbox', root, inboxLists(root, inbox(reading.signal))),
  )
  return merge([...ofAll, ...ofTrees, ...ofInboxes])
}

interface FollowedHeads {
  readonly see: NonNullable<Multiplexed['heads']>
  readonly cursors: Map<string, string>
}

/** Pages of which nothing may be seen are told as well where they have a position: it is gone on from there. */
async function* headPages(
  skein: SkeinClient,
  { see, cursors }: FollowedHeads,
  signal: AbortSignal,
): AsyncGenerator<StreamedEvent> {
  const before = cursors.get(ofHeads)
  const from = before === undefined ? {} : { from: Number(before) }
  for await (const page of skein.directory().changes({ ...from, signal })) {
    const heads = await see(page)
    const isReset = page.all === true && before !== undefined
    if (isReset) cursors.delete(ofHeads)
    if (page.position !== undefined) cursors.set(ofHeads, String(page.position))
    const moves = isReset || page.position !== undefined
    yield { event: isReset ? 'reset' : 'heads', data: { heads }, ...(moves && { id: formatCursors(cursors) }) }
  }
}

interface FollowedTree {
  readonly root: string
  /** Of all trees of the stream: kept current as events are given. */
  readonly cursors: Map<string, string>
}

async function* treeEvents(
  skein: SkeinClient,
  { root, cursors }: FollowedTree,
  reading: Reading,
): AsyncGenerator<StreamedEvent> {
  for await (const event of skein.events({ root, ...reading, ...defined({ from: cursors.get(root) }) })) {
    const { event: name } = toStreamed(event)
    if ('cursor' in event) cursors.set(root, event.cursor)
    else if (event.type === 'tree.reset') cursors.delete(root)
    const moves = 'cursor' in event || event.type === 'tree.reset'
    yield { event: name, data: { tree: root, event }, ...(moves && { id: formatCursors(cursors) }) }
  }
}

async function* inboxLists(root: string, lists: AsyncIterable<readonly InboxItem[]>): AsyncGenerator<StreamedEvent> {
  for await (const items of lists) yield { event: 'inbox', data: { inbox: root, items } }
}

async function* untilRemoved(
  what: 'tree' | 'inbox',
  root: string,
  events: AsyncIterable<StreamedEvent>,
): AsyncGenerator<StreamedEvent> {
  try {
    yield* events
  } catch (thrown) {
    if (!SkeinError.is(thrown, 'UNKNOWN_THREAD')) throw thrown
    yield { event: 'removed', data: { [what]: root } }
  }
}
