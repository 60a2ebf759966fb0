/**
 * Streams of trees: each reads the past of its tree, then goes on with what happens. All streams of one tree share
 * both: pages of the past, and the feed. Owns what is shared, and how a stream changes over.
 *
 * - What is shared is of one tree: one that has its id later shares nothing with it.
 * - It is kept while the tree has a stream.
 */
import type { SkeinClient } from '../../index.js'
import { defined } from '../../core/defined.js'
import { bytesOf, toStreamed } from './server-sent-events.js'
import type { Texts } from './server-sent-events.js'
import { TreeFeed, fellBehind } from './tree-feed.js'
import type { FeedLimits, FeedPlace } from './tree-feed.js'

/** A tree, and when it was made: another one may have its id later. */
export interface TreeId {
  readonly root: string
  readonly born: number
}

/** What all trees together hold back for slow clients, and one of them at most and at least. */
const totalBytes = 256 * 2 ** 20
const mostBytes = 32 * 2 ** 20
const leastBytes = 2 ** 20

export class TreeFeeds {
  readonly #skein: SkeinClient
  readonly #limits: FeedLimits
  readonly #trees = new Map<string, SharedTree>()

  constructor(skein: SkeinClient, { maxBuffered }: Pick<FeedLimits, 'maxBuffered'>) {
    this.#skein = skein
    const share = (): number => Math.max(leastBytes, Math.min(mostBytes, totalBytes / this.#trees.size))
    this.#limits = {
      maxBuffered,
      get maxBufferedBytes() {
        return share()
      },
    }
  }

  /** What a tree's clients are told, from after the cursor on. */
  read({ root, born }: TreeId, from: string | undefined): Texts {
    const key = `${root}/${born}`
    const tree = this.#trees.get(key) ?? new SharedTree(this.#skein, root, this.#limits)
    this.#trees.set(key, tree)
    tree.readers++
    return new FeedReader(tree, from, () => {
      tree.readers--
      if (tree.readers === 0) this.#trees.delete(key)
    })
  }
}

/** Events of the past, as far as they fit. */
interface Page {
  readonly bytes: Uint8Array
  /** The last event that it has. */
  readonly cursor: string | undefined
  /** There was more when it was read. */
  readonly isFull: boolean
}

const pageBytes = 256 * 1024
const mostPages = 16

class SharedTree {
  readonly root: string
  readonly #skein: SkeinClient
  readonly #limits: FeedLimits
  /** By the cursor that they follow; those that were asked for last come last. */
  readonly #pages = new Map<string | undefined, Promise<Page>>()
  #feed: TreeFeed | undefined
  readers = 0

  constructor(skein: SkeinClient, root: string, limits: FeedLimits) {
    this.#skein = skein
    this.root = root
    this.#limits = limits
  }

  /** One that goes on. */
  get feed(): TreeFeed | undefined {
    return this.#feed?.over ? undefined : this.#feed
  }

  begin(from: string | undefined): TreeFeed {
    this.#feed = new TreeFeed(this.#skein, { root: this.root, ...defined({ from }) }, this.#limits)
    return this.#feed
  }

  leave(feed: TreeFeed, reader: FeedPlace): void {
    if (feed.leave(reader) && this.#feed === feed) this.#feed = undefined
  }

  async pageAfter(cursor: string | undefined): Promise<Page> {
    const known = this.#pages.get(cursor)
    const page = known ?? this.#read(cursor)
    this.#pages.delete(cursor)
    this.#pages.set(cursor, page)
    for (const [each] of this.#pages) if (this.#pages.size > mostPages) this.#pages.delete(each)
    const isWhole = await page.then(
      ({ isFull }) => isFull,
      () => false,
    )
    // The next who asks for it may be told more.
    if (!isWhole && this.#pages.get(cursor) === page) this.#pages.delete(cursor)
    return page
  }

  async #read(from: string | undefined): Promise<Page> {
    const pieces: Uint8Array[] = []
    let cursor = from
    let size = 0
    for await (const event of this.#skein.events({ root: this.root, until: 'now', ...defined({ from }) })) {
      if ('cursor' in event) cursor = event.cursor
      else if (event.type === 'tree.reset') cursor = undefined
      const bytes = bytesOf(toStreamed(event))
      pieces.push(bytes)
      size += bytes.length
      if (size >= pageBytes) break
    }
    return { bytes: Buffer.concat(pieces, size), cursor, isFull: size >= pageBytes }
  }
}

class FeedReader implements Texts, FeedPlace {
  readonly #tree: SharedTree
  readonly #release: () => void
  /** The last durable event that it was given of the past. */
  #cursor: string | undefined
  /** Whether the cursor was found in the journal. */
  #isSure = false
  /** Whether the last look at the past found something. */
  #isNew = true
  #feed: TreeFeed | undefined
  /** Not yet at a place of the feed: it holds nothing back. */
  at = Infinity
  silentTo = 0
  /** What models had said when it joined. */
  #speech: Uint8Array | undefined
  #wake: (() => void) | undefined
  #isOver = false

  constructor(tree: SharedTree, from: string | undefined, release: () => void) {
    this.#tree = tree
    this.#cursor = from
    this.#release = release
  }

  async next(): Promise<Uint8Array | undefined> {
    try {
      while (!this.#isOver) {
        const isPast = !this.#joined()
        const given = isPast ? await this.#ofPast() : this.#ofFeed()
        if (given && !this.#isOver) return given
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
    const feed = this.#feed?.over ? undefined : (this.#feed ?? this.#tree.feed)
    const place = feed?.placeAfter(this.#cursor)
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

  /** The next of the past; undefined: it has come to its end. */
  async #ofPast(): Promise<Uint8Array | undefined> {
    if (!this.#isNew) throw fellBehind()
    const { bytes, cursor, isFull } = await this.#tree.pageAfter(this.#cursor)
    if (this.#isOver) return undefined
    this.#cursor = cursor
    this.#isSure = true
    this.#isNew = bytes.length > 0
    if (!isFull && !this.#tree.feed) this.#enter(this.#tree.begin(cursor), 0)
    return bytes.length > 0 ? bytes : undefined
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
    if (feed) this.#tree.leave(feed, this)
  }

  stop(): void {
    if (!this.#isOver) this.#release()
    this.#isOver = true
    this.#leave()
    this.ring()
  }
}
