/**
 * One stream of several trees and inboxes, for a browser that has few connections. Every event says what it is of; its
 * id has the cursors of all trees (`one=12.0;two=7.3`), so that one header resumes them all.
 *
 * - A tree that is deleted is told (`removed`), and the others go on.
 */
import { SkeinError } from '../../index.js'
import type { EventOptions, InboxItem, SkeinClient } from '../../index.js'
import { defined } from '../../core/defined.js'
import { badRequest } from '../problem.js'
import { merge } from './merge.js'
import { toStreamed } from './server-sent-events.js'
import type { StreamedEvent } from './server-sent-events.js'
import type { TreeInbox } from './tree-inbox.js'

/** Cursors by root. */
type Cursors = ReadonlyMap<string, string>

const cursorForm = /^([\w-]{1,64})=(\d+\.\d+)$/

export function parseCursors(text: string | undefined): Cursors {
  if (text === undefined || text === '') return new Map()
  return new Map(
    text.split(';').map((part): [string, string] => {
      const [, root, cursor] = cursorForm.exec(part) ?? []
      if (root !== undefined && cursor !== undefined) return [root, cursor]
      throw badRequest(`${JSON.stringify(text.slice(0, 64))} is no cursor; one is the id of an event of this stream`)
    }),
  )
}

const formatCursors = (cursors: Cursors): string => [...cursors].map(([root, at]) => `${root}=${at}`).join(';')

export interface Multiplexed {
  readonly trees: readonly string[]
  /** By root. */
  readonly inboxes: ReadonlyMap<string, TreeInbox>
  readonly from: Cursors
}

type Reading = Required<Pick<EventOptions, 'signal' | 'maxBuffered'>>

export function multiplex(
  skein: SkeinClient,
  { trees, inboxes, from }: Multiplexed,
  reading: Reading,
): AsyncIterable<StreamedEvent> {
  const cursors = new Map([...from].filter(([root]) => trees.includes(root)))
  const ofTrees = trees.map((root) => untilRemoved('tree', root, treeEvents(skein, { root, cursors }, reading)))
  const ofInboxes = [...inboxes].map(([root, inbox]) =>
    untilRemoved('inbox', root, inboxLists(root, inbox(reading.signal))),
  )
  return merge([...ofTrees, ...ofInboxes])
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
