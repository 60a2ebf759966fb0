/**
 * The events of one tree for all streams of it: followed once and written once, however many clients read them. What
 * they have not read yet is kept here, one copy for all.
 *
 * TF1 Every stream gets each durable event once, in the order of the tree.
 * TF2 What is kept is bounded in number and bytes: a reader that is further behind is cut off (STREAM_LAGGED).
 * TF3 Who joins while a model speaks is given the text so far (`stream.reset`), then what follows it.
 */
import { SkeinError } from '../../index.js'
import type { SkeinClient, SkeinEvent } from '../../index.js'
import { bytesOf, toStreamed } from './server-sent-events.js'

interface FeedItem {
  /** Of a durable event. */
  readonly cursor?: string
  readonly bytes: Uint8Array
}

/** A cursor is `position.seq`; those of a tree grow in that order. */
function isAfter(one: string, other: string): boolean {
  const [a = 0, b = 0] = one.split('.').map(Number)
  const [c = 0, d = 0] = other.split('.').map(Number)
  return a > c || (a === c && b > d)
}

export interface FeedLimits {
  readonly maxBuffered: number
  readonly maxBufferedBytes: number
}

/** Kept for those who come back, though everyone has read it. */
const leastBytes = 64 * 1024
/** The most that is written at once. */
const chunkBytes = 64 * 1024

type Speech = Extract<SkeinEvent, { readonly type: 'text.delta' | 'stream.reset' }>

/** After these nothing more of a step is said. */
const speechEnds: ReadonlySet<SkeinEvent['type']> = new Set([
  'model.replied',
  'calls.made',
  'turn.ended',
  'thread.ended',
])

/** What models say at present, by thread. */
class Speeches {
  readonly #texts = new Map<string, { readonly of: Speech; readonly text: string }>()

  note(event: SkeinEvent): void {
    if (event.type === 'text.delta' || event.type === 'stream.reset') return this.#speak(event)
    if (speechEnds.has(event.type)) this.#texts.delete(event.thread)
  }

  #speak(event: Speech): void {
    const before = event.type === 'text.delta' && event.offset > 0 ? (this.#texts.get(event.thread)?.text ?? '') : ''
    this.#texts.set(event.thread, { of: event, text: before + event.text })
  }

  /** Each text so far, as an event. */
  resets(): readonly SkeinEvent[] {
    return [...this.#texts.values()].map(({ of: { thread, path, run, step, attempt }, text }) => ({
      type: 'stream.reset',
      thread,
      path,
      run,
      step,
      attempt,
      text,
    }))
  }
}

/** A reader: the number of the next item that it is given, and before which one it is given no deltas. */
export interface FeedPlace {
  readonly at: number
  readonly silentTo: number
  /** There is something new. */
  ring(): void
}

interface FeedChunk {
  readonly at: number
  readonly end: number
  readonly bytes: Uint8Array
}

export class TreeFeed {
  readonly #limits: FeedLimits
  /** The cursor after which it began; undefined: the beginning of the tree. */
  readonly #start: string | undefined
  readonly #left = new AbortController()
  readonly #readers = new Set<FeedPlace>()
  readonly #speeches = new Speeches()
  #items: FeedItem[] = []
  /** The number of the first item that is kept. */
  #first = 0
  #bytes = 0
  /** Looked at again when so many bytes are kept. */
  #trimAt = leastBytes
  /** The last durable event. */
  #last: string | undefined
  #isRinging = false
  #over: { readonly failed?: unknown } | undefined
  /** What all readers that stand at one place are given next. */
  #chunk: FeedChunk | undefined

  constructor(
    skein: SkeinClient,
    { root, from }: { readonly root: string; readonly from?: string },
    limits: FeedLimits,
  ) {
    this.#limits = limits
    this.#start = from
    this.#last = from
    void this.#follow(skein.events({ root, signal: this.#left.signal, ...(from !== undefined && { from }) }))
  }

  get end(): number {
    return this.#first + this.#items.length
  }

  async #follow(events: AsyncIterable<SkeinEvent>): Promise<void> {
    try {
      for await (const event of events) {
        // Another tree has the id: whoever comes back is told so, if it may see that one.
        if (event.type === 'tree.reset') throw fellBehind()
        this.#take(event)
      }
      this.#over = {}
    } catch (failed) {
      this.#over = { failed }
    }
    this.#ring()
  }

  #take(event: SkeinEvent): void {
    const bytes = bytesOf(toStreamed(event))
    this.#speeches.note(event)
    if ('cursor' in event) this.#last = event.cursor
    this.#items.push('cursor' in event ? { cursor: event.cursor, bytes } : { bytes })
    this.#bytes += bytes.length
    if (this.#bytes >= this.#trimAt || this.#items.length > this.#limits.maxBuffered) this.#trim()
    this.#ring()
  }

  /** TF2: what all have read goes, then what those who are too slow have not. */
  #trim(): void {
    const { maxBuffered, maxBufferedBytes } = this.#limits
    const slowest = Math.min(this.end, ...[...this.#readers].map(({ at }) => at)) - this.#first
    let drop = 0
    for (const { bytes } of this.#items) {
      const isTooMuch = this.#bytes > maxBufferedBytes || this.#items.length - drop > maxBuffered
      if (!isTooMuch && (drop >= slowest || this.#bytes <= leastBytes)) break
      this.#bytes -= bytes.length
      drop++
    }
    this.#items = this.#items.slice(drop)
    this.#first += drop
    this.#trimAt = this.#bytes + leastBytes
  }

  /** Once for all that happens in a moment, so that it is written together. */
  #ring(): void {
    if (this.#isRinging) return
    this.#isRinging = true
    setImmediate(() => {
      this.#isRinging = false
      for (const reader of this.#readers) reader.ring()
    })
  }

  /**
   * Where a stream goes on that was given all up to the cursor; `ahead`: this feed has not come so far;
   * undefined: it cannot be said here, the journal must be read.
   */
  placeAfter(cursor: string | undefined): number | 'ahead' | undefined {
    if (cursor === this.#start && this.#first === 0) return 0
    if (cursor === undefined) return undefined
    if (this.#last === undefined || isAfter(cursor, this.#last)) return 'ahead'
    const at = this.#items.findLastIndex((item) => item.cursor === cursor)
    if (at >= 0) return this.#first + at + 1
    return cursor === this.#last ? this.end : undefined
  }

  /** TF3: durable events up to now, the text so far, then all. */
  chunkAt(reader: FeedPlace): FeedChunk {
    if (reader.at < this.#first) throw fellBehind()
    const silent = reader.at < reader.silentTo
    const known = this.#chunk
    if (!silent && known?.at === reader.at) return known
    const pieces: Uint8Array[] = []
    let size = 0
    let end = reader.at
    const last = silent ? Math.min(reader.silentTo, this.end) : this.end
    for (; end < last && size < chunkBytes; end++) {
      const item = this.#items[end - this.#first]
      if (!item || (silent && item.cursor === undefined)) continue
      pieces.push(item.bytes)
      size += item.bytes.length
    }
    const chunk = { at: reader.at, end, bytes: Buffer.concat(pieces, size) }
    if (!silent && end > reader.at) this.#chunk = chunk
    return chunk
  }

  speech(): Uint8Array {
    return Buffer.concat(this.#speeches.resets().map((event) => bytesOf(toStreamed(event))))
  }

  /** Undefined: there is more to come. */
  get over(): { readonly failed?: unknown } | undefined {
    return this.#over
  }

  enter(reader: FeedPlace): void {
    this.#readers.add(reader)
  }

  /** Whether it was the last one, which ends the feed. */
  leave(reader: FeedPlace): boolean {
    this.#readers.delete(reader)
    if (this.#readers.size > 0) return false
    this.#left.abort()
    return true
  }
}

export function fellBehind(): SkeinError {
  return new SkeinError('STREAM_LAGGED', 'go on from the id of the last event that was read', { retry: true })
}
