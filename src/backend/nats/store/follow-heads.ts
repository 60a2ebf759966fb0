/**
 * Following the heads of a namespace (J12). Owns the feed of one follower, and replaces it by a new one when messages
 * were purged that it has not seen go: by whoever purged them, or while the connection was broken.
 */
import { storeClosed } from '../../checks.js'
import type { HeadChange, HeadFollower } from '../../port.js'
import { tell } from '../../topics.js'
import { every, sleep } from '../connection/timers.js'
import type { NatsContext } from '../context.js'
import { HeadFeed } from './head-feed.js'

/** How often it is looked whether something was purged unseen, while nobody asks. */
const lookMs = 30_000
const pauseMs = 20
/** A subject may come or go between two answers of the server. */
const mostTries = 3

export class NatsHeadFollower implements HeadFollower {
  readonly #context: NatsContext
  readonly #told: (change: HeadChange) => void
  readonly #stops: (() => void)[] = []
  #feed: HeadFeed
  #looking: Promise<number> | undefined
  #stopped = false
  readonly ready: Promise<number>

  constructor(context: NatsContext, told: (change: HeadChange) => void) {
    context.assertOpen()
    this.#context = context
    this.#told = (change) => {
      if (!this.#stopped) tell(() => told(change))
    }
    this.#feed = new HeadFeed(context, this.#told)
    this.ready = this.#feed.ready.then(() => this.#feed.last)
    this.ready.catch(() => undefined) // whoever waits for it hears of it
    const look = (): void => void this.current().catch(() => undefined)
    this.#stops.push(context.connection.onReconnect(look), every(lookMs, look))
  }

  /** One look at a time serves all who asked before it began. */
  readonly current = async (): Promise<number> => {
    await this.ready
    while (this.#looking) await this.#looking.catch(() => undefined)
    this.#looking = this.#look()
    try {
      return await this.#looking
    } finally {
      this.#looking = undefined
    }
  }

  readonly stop = (): void => {
    this.#stopped = true
    for (const stop of this.#stops) stop()
    this.#feed.stop()
  }

  async #look(): Promise<number> {
    for (let tries = 0; tries < mostTries; tries++) {
      if (this.#stopped) throw storeClosed('nats')
      if (tries > 0) await sleep(pauseMs)
      if (await this.#feed.catchUp()) return this.#feed.last
    }
    await this.#readAgain()
    return this.#feed.last
  }

  async #readAgain(): Promise<void> {
    const before = this.#feed
    before.stop()
    let hold: HeadChange[] | undefined = []
    this.#feed = new HeadFeed(this.#context, (change) => (hold ? hold.push(change) : this.#told(change)))
    await this.#feed.ready
    for (const root of before.roots)
      if (this.#feed.sizeOf(root) !== before.sizeOf(root)) this.#told({ position: this.#feed.last, removed: root })
    for (const change of hold) this.#told(change)
    hold = undefined
  }
}
