/**
 * Snapshots: a disposable cache of a fold, so that waking a long thread does not read its whole journal. The transcript
 * is left out (it is in the journal and would make every snapshot as long as the history) and read when it is needed;
 * but where a summary stands for its beginning, the rest is short and goes with the snapshot. One that is taken when a
 * thread leaves memory has it too, packed, unless it is long: the next turn unpacks it and folds no history.
 *
 * - A snapshot begins with the hash of the rest. One of another fold version, or whose bytes are not what was written,
 *   is as good as none.
 * - Waking from a snapshot and the tail gives the state that waking from the whole journal gives.
 * - The snapshots of a thread are together no longer than its journal, the last one aside: what a thread with 100,000
 *   children writes, and what it reads when it wakes, grows with its history and not with that times its children.
 */
import { hash } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { Packr } from 'msgpackr/pack'
import { z } from 'zod'
import { positionAt } from '../../../actors/thread/position.js'
import { boundaryOf } from '../../../actors/thread/turn/context.js'
import { createState } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import { isObject } from '../../core/json.js'
import { noItems, withItem } from '../../core/lists.js'
import type { Message } from '../../core/records/message.js'
import { chainHash } from './journal.js'
import type { Chain, PackedEntry } from './journal.js'
import { lazy } from '../../core/schema.js'
import { freezeTree, thawTree } from '../../core/tree.js'
import type { FrozenTree } from '../../core/tree.js'
import type { Accepted, Child, ThreadState } from '../../../actors/thread/state.js'

/** Goes up when `fold` or the shape of its state changes. */
const foldVersion = 29

const codec = new Packr({ useRecords: false, mapsAsObjects: true })
const smallBytes = 8_192
const digestBytes = 16
/** A longer history is not packed: packing and unpacking it would hold the event loop for more than milliseconds. */
const mostHistoryChars = 400_000
/** About what the text of a message has besides its words. */
const messageChars = 120

const envelope = lazy(() =>
  z.object({
    version: z.literal(foldVersion),
    chain: z.string(),
    accepted: z.custom<readonly (readonly [string, Accepted])[]>(Array.isArray),
    messages: z.number(),
    files: z.custom<FrozenTree>(Array.isArray),
    children: z.array(z.tuple([z.string(), z.custom<Child>((value) => typeof value === 'object' && value !== null)])),
    // The other fields of the state, as `freeze` of this fold version wrote them: JSON, which keeps every text and key
    // as the journal does, and bytes, because the codec allocates three times the length of a text.
    state: z
      .instanceof(Uint8Array)
      .transform((bytes): unknown => JSON.parse(Buffer.from(bytes).toString()))
      .pipe(
        z.looseObject({
          id: z.string(),
          seq: z.number(),
          position: z.object({ gate: z.string(), work: z.string() }),
          tail: z.array(z.custom<Message>(isObject)),
        }),
      ),
  }),
)

const historyEnvelope = lazy(() =>
  z.looseObject({
    version: z.literal(foldVersion),
    messages: z.number(),
    thread: z.string(),
    history: z.instanceof(Uint8Array),
  }),
)

export interface SnapshotSource {
  readonly state: ThreadState
  readonly chain: Chain
}

/** How far the journal went beyond the last snapshot, and how long that one was; 0 without one. */
export interface JournalTail {
  readonly folded: number
  readonly foldedBytes: number
  readonly snapshotBytes: number
  /** Entries of it whose text nobody has made yet: not in `foldedBytes`. */
  readonly unmade?: readonly PackedEntry[]
}

/**
 * When the next snapshot is due: after so many records, and not before the journal has grown by what the last one
 * took.
 */
export class SnapshotPace {
  readonly #every: number
  /** Since the last snapshot. */
  #records: number
  #bytes: number
  #snapshotBytes: number
  #unmade: PackedEntry[]

  constructor({ folded, foldedBytes, snapshotBytes, unmade = noItems }: JournalTail, every: number) {
    this.#unmade = unmade.length > 0 ? [...unmade] : noItems
    this.#every = every
    this.#records = folded
    this.#bytes = foldedBytes
    this.#snapshotBytes = snapshotBytes
  }

  get due(): boolean {
    if (this.#records < this.#every) return false
    for (const { body } of this.#unmade) this.#bytes += body.length
    this.#unmade = noItems
    return this.#bytes >= this.#snapshotBytes
  }

  /** An entry was appended to the journal. */
  appended(entry: PackedEntry): void {
    this.#records += entry.count
    if (entry.isMade) this.#bytes += entry.body.length
    else this.#unmade = withItem(this.#unmade, entry)
  }

  /** A fork has begun with so many records: what it read once need not be read again. */
  based(records: number): void {
    this.#records += records
  }

  /** Counted on when this state is continued. */
  get tail(): JournalTail {
    return { folded: this.#records, foldedBytes: this.#bytes, snapshotBytes: this.#snapshotBytes, unmade: this.#unmade }
  }

  /** A snapshot was taken. */
  took({ length }: Uint8Array): void {
    this.#records = 0
    this.#bytes = 0
    this.#unmade = noItems
    this.#snapshotBytes = length
  }
}

/** Of a thread that leaves memory: with all messages, if they are there and not too many. */
export function freezeAtRest({ state, chain }: SnapshotSource): Uint8Array {
  const { items, skipped } = state.transcript
  const isPacked =
    skipped === 0 && boundaryOf(state) === 0 && state.said + items.length * messageChars <= mostHistoryChars
  const history = isPacked && items.length > 0 ? deflateRawSync(JSON.stringify(items), { level: 1 }) : undefined
  return freeze({ state, chain }, history)
}

export function freeze({ state, chain }: SnapshotSource, history?: Uint8Array): Uint8Array {
  const { transcript, accepted, files, children, ...rest } = state
  const messages = transcript.skipped + transcript.items.length
  const boundary = boundaryOf(state)
  const tail =
    boundary > 0 && transcript.skipped <= boundary ? transcript.items.slice(boundary - transcript.skipped) : []
  const packed = codec.pack({
    version: foldVersion,
    chain: chainHash(chain),
    accepted: [...accepted],
    messages,
    files: freezeTree(files),
    children: [...children],
    state: Buffer.from(JSON.stringify({ ...rest, tail })),
    ...(history && { thread: state.id, history }),
  })
  // The codec would keep its buffer for the next snapshot, and that of a parent of thousands takes megabytes.
  if (packed.length > smallBytes) codec.useBuffer(Buffer.allocUnsafeSlow(smallBytes))
  return Buffer.concat([digest(packed), packed])
}

function digest(bytes: Uint8Array): Buffer {
  return Buffer.from(hash('sha256', bytes, 'base64'), 'base64').subarray(0, digestBytes)
}

/** The messages of the thread when the snapshot was taken, where it has them all. */
export function thawHistory(id: string, bytes: Uint8Array | undefined): readonly Message[] | undefined {
  const checked = historyEnvelope().safeParse(unpackQuietly(bytes))
  if (!checked.success || checked.data.thread !== id) return undefined
  const items: unknown = JSON.parse(inflateRawSync(checked.data.history).toString())
  return isMessages(items) && items.length === checked.data.messages ? items : undefined
}

function isMessages(value: unknown): value is readonly Message[] {
  return Array.isArray(value)
}

export function thaw(id: string, bytes: Uint8Array | undefined): SnapshotSource | undefined {
  const checked = envelope().safeParse(unpackQuietly(bytes))
  if (!checked.success || checked.data.state.id !== id) return undefined
  const { chain, accepted, messages, files, children } = checked.data
  const { tail, ...state } = checked.data.state
  const frozen = state as unknown as Omit<ThreadState, 'accepted' | 'transcript' | 'files' | 'children'>
  const position = positionAt(frozen.position.gate, frozen.position.work)
  const commands = accepted.map(([command, { seq, at, run }]) => [command, { seq, at, ...defined({ run }) }] as const)
  return {
    chain,
    state: {
      ...createState(id),
      ...frozen,
      position,
      files: thawTree(files),
      children: new Map(children),
      accepted: new Map(commands),
      transcript: { skipped: messages - tail.length, items: tail },
    },
  }
}

/** Undefined where its bytes are not those that were written. */
function unpackQuietly(bytes: Uint8Array | undefined): unknown {
  if (!bytes || !digest(bytes.subarray(digestBytes)).equals(bytes.subarray(0, digestBytes))) return undefined
  try {
    return codec.unpack(bytes.subarray(digestBytes))
  } catch {
    return undefined
  }
}
