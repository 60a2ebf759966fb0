/**
 * One connection to the service for all that is looked at. Owns the stream: it opens it, sees when it is silent, and
 * opens it again from where it was.
 *
 * - `live` is said after the first message of the server alone, and no longer than bytes come: a socket that says
 *   nothing for two and a half beats is `stale`, as one that was closed.
 * - A change of what is looked at opens a second stream first and then leaves the first, so that nothing is stale
 *   meanwhile. What both tell is told twice, which stores take once.
 */
import type { PageClock } from '../kit/clock.js'
import { SseParser } from './sse.js'
import type { SentEvent } from './sse.js'
import { noSubscription, viewQuery, watchedIn } from './subscription.js'
import type { Subscription, TreePosition } from './subscription.js'

export type LinkPhase = 'connecting' | 'live' | 'stale' | 'paused'

export interface LinkState {
  readonly phase: LinkPhase
  /** Why it is not live. */
  readonly why?: string
  /** HTTP status of a refusal. */
  readonly status?: number
}

export interface LinkMessage {
  readonly event: string
  readonly data: unknown
}

export interface LinkOptions {
  readonly base: string
  readonly clock: PageClock
  readonly onState: (state: LinkState) => void
  readonly onMessage: (message: LinkMessage) => void
}

const firstBeatMs = 1_000
const retries = [100, 250, 500, 1_000, 2_000, 5_000]

export class Connection {
  readonly #options: LinkOptions
  #wanted: Subscription = noSubscription
  readonly #positions = new Map<string, TreePosition>()
  #key = ''
  #beatMs = firstBeatMs
  #streams = new Set<AbortController>()
  #failures = 0
  #cancelRetry: (() => void) | undefined
  #cancelSilence: (() => void) | undefined
  #isPaused = false
  #phase: LinkPhase = 'connecting'
  #watched = ''
  #why: string | undefined

  constructor(options: LinkOptions) {
    this.#options = options
  }

  get phase(): LinkPhase {
    return this.#phase
  }

  beat(ms: number): void {
    this.#beatMs = ms
  }

  authorize(key: string): void {
    if (key === this.#key) return
    this.#key = key
    this.#reopen()
  }

  /** `isNew`: someone begins to look, and wants to be told all of it. */
  want(subscription: Subscription, isNew = false): void {
    this.#wanted = subscription
    const moved = Object.entries(subscription.trees).filter(([root, position]) => this.#isBehind(root, position))
    for (const [root, position] of moved) this.#positions.set(root, position)
    for (const root of this.#positions.keys()) if (!(root in subscription.trees)) this.#positions.delete(root)
    if (!isNew && watchedIn(subscription) === this.#watched && moved.length === 0) return
    this.#reopen()
  }

  #isBehind(root: string, { epoch, at }: TreePosition): boolean {
    const known = this.#positions.get(root)
    return known?.epoch !== epoch || at[0] < known.at[0] || at[1] < known.at[1]
  }

  pause(): void {
    this.#isPaused = true
    this.#end()
    this.#say({ phase: 'paused', why: 'this tab is hidden' })
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#reopen()
  }

  #end(): void {
    this.#cancelRetry?.()
    this.#cancelSilence?.()
    for (const stream of this.#streams) stream.abort()
    this.#streams.clear()
  }

  #say(state: LinkState): void {
    this.#phase = state.phase
    this.#options.onState(state)
  }

  #reopen(): void {
    this.#watched = watchedIn(this.#wanted)
    this.#cancelRetry?.()
    if (this.#isPaused) return
    if (this.#watched === watchedIn(noSubscription)) {
      this.#end()
      return this.#say({ phase: 'connecting' })
    }
    void this.#open()
  }

  async #open(): Promise<void> {
    const before = [...this.#streams]
    const stream = new AbortController()
    this.#streams.add(stream)
    if (this.#phase !== 'live') this.#say({ phase: this.#failures > 0 ? 'stale' : 'connecting', ...this.#lastWhy() })
    const asked = { ...this.#wanted, trees: Object.fromEntries(this.#positions) }
    const leaveOthers = (): void => {
      for (const each of before) {
        each.abort()
        this.#streams.delete(each)
      }
    }
    try {
      await this.#read(stream, viewQuery(asked), leaveOthers)
      this.#failed(stream, { phase: 'stale', why: 'the connection was closed' })
    } catch (thrown) {
      const silent = { phase: 'stale', why: 'the server does not answer' } as const
      this.#failed(stream, thrown instanceof Refused ? thrown.state : silent)
    }
  }

  #lastWhy(): { readonly why?: string } {
    return this.#why === undefined ? {} : { why: this.#why }
  }

  async #read(stream: AbortController, query: string, isOpen: () => void): Promise<void> {
    const { base } = this.#options
    const headers = this.#key === '' ? {} : { authorization: `Bearer ${this.#key}` }
    this.#watchSilence(stream)
    const response = await fetch(`${base}view?${query}`, { headers, signal: stream.signal, cache: 'no-store' })
    if (!response.ok || !response.body) throw await Refused.of(response)
    const parser = new SseParser((event) => {
      if (event.event === 'live') isOpen()
      this.#heard(stream, event)
    })
    const reader = response.body.getReader()
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (stream.signal.aborted) return
      this.#watchSilence(stream)
      parser.push(next.value)
    }
  }

  #heard(stream: AbortController, { event, data }: SentEvent): void {
    if (stream.signal.aborted) return
    if (event === 'live') {
      this.#failures = 0
      this.#why = undefined
      this.#say({ phase: 'live' })
    }
    const parsed: unknown = JSON.parse(data)
    if (event === 'tree') this.#advance(parsed)
    if (event === 'lagging' || event === 'error') return stream.abort()
    this.#options.onMessage({ event, data: parsed })
  }

  /** From where the next stream goes on. */
  #advance(data: unknown): void {
    const change: { root?: string; epoch?: string; to?: [number, number] } = Object(data)
    const { root, epoch, to } = change
    if (root === undefined || epoch === undefined || to === undefined || !this.#positions.has(root)) return
    this.#positions.set(root, { epoch, at: to })
  }

  #watchSilence(stream: AbortController): void {
    this.#cancelSilence?.()
    this.#cancelSilence = this.#options.clock.after(this.#beatMs * 2.5, () => {
      if (stream.signal.aborted) return
      const silence = { phase: 'stale', why: 'the server is silent' } as const
      this.#failed(stream, silence)
    })
  }

  #failed(stream: AbortController, state: LinkState): void {
    if (!this.#streams.delete(stream)) return
    stream.abort()
    if (this.#streams.size > 0 || this.#isPaused) return
    this.#cancelSilence?.()
    this.#why = state.why
    this.#say(state)
    const wait = retries[Math.min(this.#failures++, retries.length - 1)] ?? 0
    this.#cancelRetry = this.#options.clock.after(wait, () => void this.#open())
  }
}

class Refused extends Error {
  readonly state: LinkState
  constructor(state: LinkState) {
    super(state.why)
    this.state = state
  }

  static async of(response: Response): Promise<Refused> {
    const { status } = response
    // The server tells programs of a header, which nobody sends by hand here.
    if (status === 401) return new Refused({ phase: 'stale', why: 'the server wants a key', status })
    const body: unknown = await response.json().catch(() => undefined)
    const detail = typeof body === 'object' && body !== null && 'detail' in body ? String(body.detail) : undefined
    return new Refused({ phase: 'stale', why: detail ?? `the server answered ${status}`, status })
  }
}
