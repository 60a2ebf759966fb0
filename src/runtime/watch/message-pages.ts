/**
 * Pages of messages, the newest first, without reading the whole journal: the fold itself is begun a little before the
 * page, where what came before cannot matter, and is watched for signs that it did. Owns no state.
 *
 * MP1 Pages put together are all messages, in their order: where the fold of a part could differ from the fold of all,
 *     more is read, in the end all.
 * - It begins after the end of a turn or, within a long one, with a reply. Threads with two sides, and records about
 *   files that came along or children that were called earlier, are left to the whole fold.
 * - Messages that one record brought stay together, so that a page goes on before the first record of the one before.
 */
import { fold } from '../../../actors/thread/fold.js'
import { createState } from '../../../actors/thread/state.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { noLineage } from '../../../actors/thread/travel/lineage.js'
import { editsOf, withEdits } from '../../../actors/thread/turn/edits.js'
import type { Edits } from '../../../actors/thread/turn/edits.js'
import type { Backend } from '../../backend/port.js'
import type { Message, NumberedMessage } from '../../core/records/message.js'
import { shown } from '../../core/records/message.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { decode } from '../journal/journal.js'
import { wake } from '../journal/wake.js'

export interface PageRange {
  /** Only what was read before this record; Infinity: all. */
  readonly before: number
  readonly limit: number
  readonly silent: 'hide' | 'show'
  /** Records that are read at first. */
  readonly slice?: number
}

/** How many records are read at first, and by how much that grows where they are too few. */
const firstSlice = 200
const growth = 4
/** Entries that are read at once: they may hold several records each. */
const batchSize = 64

/** Undefined where there is no such thread. */
export async function readMessagePage(
  backend: Backend,
  id: string,
  { before, limit, silent, slice = firstSlice }: PageRange,
): Promise<readonly NumberedMessage[] | undefined> {
  const { seq, edits, queue, lineage } = await overlayOf(backend, id)
  if (seq === 0) return undefined
  const end = Math.min(before - 1, seq)
  const reader: PageReader = {
    limit,
    isVisible: (message) => silent === 'show' || !message.silent,
    edits: editsOf(edits),
    queue: before > seq ? queue.map(({ message }) => message) : [],
    isNewest: before > seq,
  }
  if (end <= 0) return []
  // What a rewind has undone is not read: which messages count is known at the end only.
  if (lineage.rewound !== undefined)
    return pageOf(replayFrom(id, await recordsBetween(backend, id, [0, seq])).before(before), reader).messages
  return readBackwards(backend, { id, end, limit, slice }, reader)
}

interface Backwards extends Pick<PageRange, 'limit'> {
  readonly id: string
  readonly end: number
  readonly slice: number
}

/** Reads more and more, until what is read is sure to be the page. */
async function readBackwards(
  backend: Backend,
  { id, end, limit, slice }: Backwards,
  reader: PageReader,
): Promise<readonly NumberedMessage[]> {
  for (let size = slice; ; size *= growth) {
    const start = limit < Infinity ? Math.max(0, end - size) : 0
    const records = await recordsBetween(backend, id, [start, end])
    if (start === 0) return pageOf(replayFrom(id, records), reader).messages
    for (const begin of [firstTurn(records), firstStep(records)]) {
      const replay = begin === undefined ? undefined : replayFrom(id, records.slice(begin), 'part')
      if (!replay?.isSound || (reader.isNewest && !sameIds(replay.state.queue, reader.queue))) continue
      const page = pageOf(replay, reader)
      if (page.isFull) return page.messages
    }
  }
}

type Overlay = Pick<ThreadState, 'seq' | 'edits' | 'queue' | 'lineage'>

/**
 * What else messages depend on: edits, and what waits to be read. Most threads have neither, and their heads say so;
 * those of earlier versions say no step either.
 */
async function overlayOf(backend: Backend, id: string): Promise<Overlay> {
  const head = await backend.heads.get(id)
  const isPlain = head?.step !== undefined && (head.edits ?? head.unread ?? head.damaged ?? head.rewound) === undefined
  return isPlain ? { seq: head.seq, edits: [], queue: [], lineage: noLineage } : (await wake(backend, id)).state
}

interface PageReader {
  readonly limit: number
  readonly isVisible: (message: Message) => boolean
  readonly edits: Edits | undefined
  /** Received and not read yet: they stand at the end. */
  readonly queue: readonly Message[]
  readonly isNewest: boolean
}

async function recordsBetween(
  { journal }: Backend,
  id: string,
  [start, end]: readonly [number, number],
): Promise<readonly ThreadRecord[]> {
  const records: ThreadRecord[] = []
  for (let after = start, more = true; more;) {
    const entries = await journal.read(id, { after, limit: Math.min(end - after, batchSize) })
    for (const entry of entries)
      for (const record of decode(id, entry)) if (record.seq > start && record.seq <= end) records.push(record)
    const last = entries.at(-1)
    after = last ? last.first + last.count - 1 : end
    more = after < end
  }
  return records
}

function sameIds(queue: ThreadState['queue'], messages: readonly Message[]): boolean {
  return queue.length === messages.length && queue.every(({ message }, n) => message.id === messages[n]?.id)
}

/** The record after the first end of a turn. */
function firstTurn(records: readonly ThreadRecord[]): number | undefined {
  const ended = records.findIndex(({ type }) => type === 'turn.ended')
  return ended === -1 || ended === records.length - 1 ? undefined : ended + 1
}

/**
 * The first reply before which, since the reply before, nothing happened but to calls: nothing waits to be read but
 * what waits for a turn of its own. One that another reply follows, because the turn may have stopped before the last.
 */
function firstStep(records: readonly ThreadRecord[]): number | undefined {
  let isQuiet = false
  let found: number | undefined
  for (const [index, { type }] of records.entries()) {
    if (type === 'model.replied') {
      if (found !== undefined) return found
      if (isQuiet) found = index
      isQuiet = true
    } else if (!ofCalls.has(type)) isQuiet = false
    if (type === 'turn.ended' || type === 'calls.made') found = undefined
  }
  return undefined
}

const ofCalls: ReadonlySet<ThreadRecord['type']> = new Set([
  'call.began',
  'call.unbegun',
  'call.tried',
  'call.returned',
  'call.settled',
  'call.parked',
])

/** They change no message, and may be about what came before. */
const silentTypes: ReadonlySet<ThreadRecord['type']> = new Set([
  'context.reduced',
  'message.edited',
  'budget.granted',
  'report.sent',
  'parent.told',
  'children.stopped',
  'env.changed',
  'thread.changed',
  'letter.dropped',
])

/** What they say can depend on anything before them. */
const deepTypes: ReadonlySet<ThreadRecord['type']> = new Set([
  'variables.provided',
  'variables.declined',
  'child.booted',
  'child.restarted',
  'letter.requeued',
  'call.queued',
  'messages.withdrawn',
  'thread.rewound',
])

class Replay {
  readonly state: ThreadState
  read: { readonly seq: number; readonly message: Message }[] = []
  readonly receivedAt = new Map<string, number>()
  isSound = true
  readonly #isPart: boolean
  readonly #readAt = new Map<string, number>()
  #knowsStep = false
  /** All that waits to be read was received here. */
  #knowsQueue = false
  /** The turn began before the part: its rules are not known. */
  #isInTurn = false

  constructor(state: ThreadState, isPart: boolean) {
    this.state = state
    this.#isPart = isPart
  }

  /** Begins in the middle of a turn. */
  beginIn(run: string, { seq, at }: Pick<ThreadRecord, 'seq' | 'at'>): void {
    this.state.seq = seq - 2
    fold(this.state, { type: 'turn.started', run, seq: seq - 1, at })
    this.#isInTurn = true
  }

  take(record: ThreadRecord): void {
    if (this.#isPart && !this.#isSelfContained(record)) {
      this.isSound = false
      return
    }
    const { state } = this
    if (record.type === 'message.received') this.receivedAt.set(record.id, record.seq)
    if (this.#isPart && silentTypes.has(record.type)) state.seq = record.seq
    else fold(state, record)
    if (record.type === 'turn.ended') this.#isInTurn = false
    if (record.type === 'thread.rewound') this.#restore()
    for (const message of state.transcript.items) this.#note(record.seq, message)
    state.transcript = { skipped: state.transcript.skipped + state.transcript.items.length, items: [] }
  }

  #note(seq: number, message: Message): void {
    this.#readAt.set(message.id, seq)
    this.read.push({ seq, message })
  }

  /** The messages of the state it went back to have the places that they had: an id is used once. */
  #restore(): void {
    const { transcript } = this.state
    this.read = transcript.items.map((message) => ({ seq: this.#readAt.get(message.id) ?? 0, message }))
    transcript.items = []
  }

  /** Only what was read before a record. */
  before(seq: number): this {
    this.read = this.read.filter((each) => each.seq < seq)
    return this
  }

  #isSelfContained(record: ThreadRecord): boolean {
    if (deepTypes.has(record.type) || 'attachments' in record || 'listed' in record) return false
    switch (record.type) {
      case 'turn.started':
        return !record.session && this.#isKnownRun(record)
      case 'hook.decided':
        this.#noteStep(record.step)
        return !this.#isInTurn
      case 'model.replied':
      case 'calls.made':
        this.#noteStep(record.step)
        return record.side === undefined && !(this.#isInTurn && record.calls.some(({ session }) => session))
      case 'child.reported':
      case 'child.told':
        return this.state.children.has(record.reference)
      default:
        return true
    }
  }

  /** The first message that waits begins the next turn: where that one was received here, all that wait were. */
  #isKnownRun({ run, by }: Extract<ThreadRecord, { readonly type: 'turn.started' }>): boolean {
    this.#knowsQueue ||= this.state.queue[0]?.message.id === run
    return this.#knowsQueue && (by !== undefined || this.state.queue.some(({ message }) => message.id === run))
  }

  #noteStep(step: number): void {
    if (!this.#knowsStep) this.state.step = step - 1
    this.#knowsStep = true
  }
}

function replayFrom(id: string, records: readonly ThreadRecord[], extent: 'all' | 'part' = 'all'): Replay {
  const [first] = records
  const replay = new Replay(createState(id), extent === 'part')
  if (!first) return replay
  try {
    if (extent === 'part') beginPart(replay, records, first)
    for (const record of records) {
      replay.take(record)
      if (!replay.isSound) break
    }
  } catch (thrown) {
    if (extent === 'all') throw thrown
    replay.isSound = false
  }
  return replay
}

/** As if the thread was made, and its last turn had ended, right before. */
function beginPart(replay: Replay, records: readonly ThreadRecord[], { type, seq, at }: ThreadRecord): void {
  const { state } = replay
  fold(state, { type: 'thread.created', agent: '', tags: [], path: [state.id], seq: 1, at })
  const isInTurn = type === 'model.replied'
  const ended = isInTurn ? records.find((record) => record.type === 'turn.ended') : undefined
  if (isInTurn) replay.beginIn(ended?.type === 'turn.ended' ? ended.run : 'unknown', { seq, at })
  else state.seq = seq - 1
}

function pageOf(
  { read, receivedAt }: Replay,
  { limit, isVisible, edits, queue }: PageReader,
): { readonly messages: readonly NumberedMessage[]; readonly isFull: boolean } {
  const visible = (seq: number, message: Message): readonly NumberedMessage[] => {
    const edited = withEdits(edits, message, 'person')
    return edited && isVisible(edited) ? [{ ...shown(edited), seq }] : []
  }
  const waiting = queue.flatMap((message) => visible(receivedAt.get(message.id) ?? 0, message))
  const page: NumberedMessage[][] = []
  let count = waiting.length
  let index = read.length
  while (index > 0) {
    const group: NumberedMessage[] = []
    const seq = read[index - 1]?.seq ?? 0
    for (; index > 0 && read[index - 1]?.seq === seq; index--) {
      const entry = read[index - 1]
      if (entry) group.unshift(...visible(seq, entry.message))
    }
    if (group.length === 0) continue
    if (page.length > 0 && count + group.length > limit) return { messages: joined(page, waiting), isFull: true }
    page.unshift(group)
    count += group.length
  }
  return { messages: joined(page, waiting), isFull: page.length > 0 && count >= limit }
}

function joined(page: readonly NumberedMessage[][], waiting: readonly NumberedMessage[]): readonly NumberedMessage[] {
  return [...page.flat(), ...waiting]
}
