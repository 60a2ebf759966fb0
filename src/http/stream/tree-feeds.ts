/**
 * Streams of trees: each reads the past of its tree from the journal at its own pace, then goes on with the feed that
 * all streams of that tree share. Owns the feeds, and how a stream changes over.
 */
import type { SkeinClient, SkeinEvent } from '../../index.js'
import { defined } from '../../core/defined.js'
import { bytesOf, toStreamed } from './server-sent-events.js'
import type { Texts } from './server-sent-events.js'
import { TreeFeed, lagged } from './tree-feed.js'
import type { FeedLimits, FeedPlace } from './tree-feed.js'

export class TreeFeeds {
  readonly #skein: SkeinClient
  readonly #limits: FeedLimits
  readonly #feeds = new Map<string, TreeFeed>()

  constructor(skein: SkeinClient, limits: FeedLimits) {
    this.#skein = skein
    this.#limits = limits
  }

  /** What a tree's clients are told, from after the cursor on. */
  read(root: string, from: string | undefined): Texts {
    return new FeedReader(this, root, from)
  }

  past(root: string, from: string | undefined): AsyncIterator<SkeinEvent> {
    const { maxBuffered } = this.#limits
    return this.#skein.events({ root, until: 'now', maxBuffered, ...defined({ from }) })[Symbol.asyncIterator]()
  }

  /** The one that all share. */
  current(root: string): TreeFeed | undefined {
    const feed = this.#feeds.get(root)
    return feed?.over ? undefined : feed
  }

  begin(root: string, from: string | undefined): TreeFeed {
    const feed = new TreeFeed(this.#skein, { root, ...defined({ from }) }, this.#limits)
    this.#feeds.set(root, feed)
    return feed
  }

  leave(root: string, feed: TreeFeed, reader: FeedPlace): void {
    if (feed.leave(reader) && this.#feeds.get(root) === feed) this.#feeds.delete(root)
  }
}

class FeedReader implements Texts, FeedPlace {
  readonly #feeds: TreeFeeds
  readonly #root: string
  /** The last durable event that it was given of the past. */
  #cursor: string | undefined
  #past: AsyncIterator<SkeinEvent> | undefined
  /** Whether the last look at the past found something. */
  #isNew = true
  /** Whether the cursor was found in the journal. */
  #isSure = false
  #feed: TreeFeed | undefined
  /** Not yet at a place of the feed: it holds nothing back. */
  at = Infinity
  silentTo = 0
  /** What models had said when it joined. */
  #speech: Uint8Array | undefined
  #wake: (() => void) | undefined
  #isOver = false

  constructor(feeds: TreeFeeds, root: string, from: string | undefined) {
    this.#feeds = feeds
    this.#root = root
    this.#cursor = from
  }

  async next(): Promise<Uint8Array | undefined> {
    try {
      while (!this.#isOver) {
        const isPast = this.#past !== undefined || !this.#joined()
        const given = isPast ? await this.#ofPast() : this.#ofFeed()
        if (given) return given
        if (!isPast && !this.#isOver) await new Promise<void>((resolve) => (this.#wake = resolve))
      }
      return undefined
    } catch (thrown) {
      this.stop()
      throw thrown
    }
  }

  /** Whether it has, or waits for, a place in the feed. */
  #joined(): boolean {
    if (this.at < Infinity) return true
    const feed = this.#feed ?? this.#feeds.current(this.#root)
    const place = feed?.over ? undefined : feed?.placeAfter(this.#cursor)
    // A cursor that this reader was not given itself may be of another tree: the journal tells.
    if (!feed || place === undefined || (place === 'ahead' && !this.#isSure)) {
      this.#leave()
      return false
    }
    this.#enter(feed, place)
    return true
  }

  #enter(feed: TreeFeed, place: number | 'ahead'): void {
    this.#feed = feed
    feed.enter(this)
    if (place === 'ahead') return
    this.at = place
    this.silentTo = feed.end
    this.#speech = feed.speech()
  }

  /** The next event of the past; undefined: it has come to its end. */
  async #ofPast(): Promise<Uint8Array | undefined> {
    if (!this.#past) {
      if (!this.#isNew) throw lagged()
      this.#isNew = false
      this.#past = this.#feeds.past(this.#root, this.#cursor)
    }
    const { done, value } = await this.#past.next()
    if (done) {
      this.#past = undefined
      this.#isSure = true
      if (!this.#isOver && !this.#feeds.current(this.#root)) this.#enter(this.#feeds.begin(this.#root, this.#cursor), 0)
      return undefined
    }
    this.#isNew = true
    if ('cursor' in value) this.#cursor = value.cursor
    else if (value.type === 'tree.reset') this.#cursor = undefined
    return bytesOf(toStreamed(value))
  }

  /** Undefined: nothing yet, or nothing more. */
  #ofFeed(): Uint8Array | undefined {
    const feed = this.#feed
    if (!feed || this.at === Infinity) return undefined
    const { bytes, end } = feed.chunkAt(this)
    this.at = end
    if (bytes.length > 0) return bytes
    if (this.#speech && this.#speech.length > 0 && end >= this.silentTo) {
      const speech = this.#speech
      this.#speech = undefined
      return speech
    }
    if (!feed.over) return undefined
    this.stop()
    if (feed.over.failed !== undefined) throw feed.over.failed
    return undefined
  }

  ring(): void {
    this.#wake?.()
    this.#wake = undefined
  }

  #leave(): void {
    const feed = this.#feed
    this.#feed = undefined
    if (feed) this.#feeds.leave(this.#root, feed, this)
  }

  stop(): void {
    this.#isOver = true
    this.#leave()
    void this.#past?.return?.()
    this.ring()
  }
}
