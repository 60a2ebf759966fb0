/**
 * The rate limit gate of one model, for all threads of a process (across hosts: src/runtime/effects/model-gates.ts).
 *
 * - Until a call is rate limited, passing costs a comparison and two additions: no promise, no object per call.
 * - A limited call closes the gate for the time that the provider asked for plus a random part of base × 2ⁿ, n being
 *   how often it closed in a row. Closing again never opens it earlier.
 * - Waiting calls go in the order of their tickets; a call that is limited again keeps its ticket.
 * - When the gate opens, one call goes. For each call let in (answered, or not refused within 10 s) one more may be
 *   under way, up to half of the number at closing; from there on growth is additive.
 * - A minute after opening the gate forgets the closing, unless a call waits.
 * - All waiting calls are given up when the gate closed more often in a row than a call is retried, or when the
 *   provider asks for more than five minutes; then calls of the next five minutes are refused as well.
 */
import type { Random, Clock } from '../../core/clock.js'
import { SkeinError } from '../../core/failure.js'
import { WaitingQueue } from './queue.js'
import type { Waiter } from './queue.js'
import type { ModelWait } from '../port.js'

export interface GateOptions {
  readonly clock: Clock
  readonly random: Random
  readonly maxRetries?: number
  readonly baseMs?: number
  readonly capMs?: number
  /** Called when a response to this process has closed the gate. */
  readonly closed?: (waitMs: number) => void
}

export interface GateCaller {
  readonly thread: string
  /** The order of waiting: from `ticket()`, taken when the call first asked. */
  readonly ticket: number
  readonly signal: AbortSignal
  /** Called when the wait begins, when the position changes, and at the end. */
  readonly waiting: (wait: ModelWait) => void
}

/** The right of one call to be under way. */
export interface GatePass {
  readonly since: Closing
  letIn: boolean
  cancel(): void
}

/** The state since a call was limited. */
interface Closing {
  until: number
  /** How often in a row it closed. */
  readonly times: number
  /** The wait is too long: calls are refused instead of queued. */
  readonly barred: boolean
  /** How many calls may be under way since it opened, and how many are. */
  room: number
  going: number
  readonly half: number
  /** How many calls the provider accepted. */
  letIn: number
}

interface Limited {
  readonly askedMs: number
  readonly times: number
  readonly half: number
}

export const longestAskedWaitMs = 5 * 60_000
const forgottenAfterMs = 60_000
const refusedWithinMs = 10_000
/** So few parallel calls are never the cause of a rate limit. */
const leastHalf = 8
export const defaultMaxRetries = 4

export class RateLimitGate {
  readonly #model: string
  readonly #options: GateOptions
  readonly #line: WaitingQueue
  #closing: Closing | undefined
  #tickets = 0
  #underWay = 0
  #cancelWake: (() => void) | undefined

  constructor(model: string, options: GateOptions) {
    this.#model = model
    this.#options = options
    this.#line = new WaitingQueue(model, () => this.#closing?.until ?? 0)
  }

  /** The next place in the order of waiting. */
  ticket(): number {
    return ++this.#tickets
  }

  /** The first `most` waiting calls. */
  waiting(most: number): ReturnType<WaitingQueue['list']> {
    return this.#line.list(most)
  }

  /** Whether a call may begin without a pass. */
  get free(): boolean {
    const closing = this.#closing
    if (!closing) return true
    if (this.#line.length > 0 || this.#now < closing.until + forgottenAfterMs) return false
    this.#closing = undefined
    return true
  }

  begin(): undefined {
    this.#underWay++
  }

  /** Resolves when the call may go; it counts as under way then. */
  enter(caller: GateCaller): Promise<GatePass | undefined> {
    return new Promise((resolve, reject) => {
      const { signal, thread, ticket, waiting: notify } = caller
      if (signal.aborted) return reject(signal.reason)
      const closing = this.#closing
      if (!closing) return resolve(this.begin())
      if (closing.barred && this.#now < closing.until) return reject(this.#barred(closing.until))
      if (this.#line.length === 0 && this.#mayGo(closing)) return resolve(this.#pass(closing))
      const aborted = (): void => {
        this.#line.leave(waiter)
        this.#wakeInTime()
        reject(signal.reason)
      }
      const stopListening = (): void => signal.removeEventListener('abort', aborted)
      const waiter: Waiter = {
        thread,
        ticket,
        notify,
        go: () => {
          stopListening()
          resolve(this.#closing ? this.#pass(this.#closing) : this.begin())
        },
        giveUp(error) {
          stopListening()
          reject(error)
        },
      }
      signal.addEventListener('abort', aborted, { once: true })
      this.#line.join(waiter)
      this.#wakeInTime()
    })
  }

  /** The provider accepted the call. */
  letIn(pass: GatePass | undefined): void {
    if (!pass || pass.letIn) return
    pass.letIn = true
    pass.cancel()
    const { since } = pass
    if (since !== this.#closing) return
    since.letIn++
    since.room += since.room < since.half ? 1 : 1 / since.room
    this.#letGo()
  }

  end(pass: GatePass | undefined): void {
    this.#underWay--
    if (!pass) return
    pass.cancel()
    pass.since.going--
    if (pass.since === this.#closing) this.#letGo()
  }

  /** The provider refused a call that is under way. Returns how long all wait now; undefined if they were given up. */
  limited(askedMs: number, pass: GatePass | undefined): number | undefined {
    const before = this.#closing
    const now = this.#now
    if (before && now < before.until) {
      // The call was sent before the gate closed: only a longer wait is news.
      if (now + askedMs <= before.until) return before.until - now
      return this.#shut({ askedMs, times: before.times, half: before.half })
    }
    return this.#shut({ askedMs, times: this.#timesInARow(pass), half: (before?.going ?? this.#underWay) / 2 })
  }

  /** How often in a row the gate has closed, counting the refusal of this call. */
  #timesInARow(pass: GatePass | undefined): number {
    const before = this.#closing
    if (!before) return 1
    // The call went before the last closing.
    if (pass?.since !== before) return before.times
    // A call that was let in and broke off later does not count as let in.
    const othersLetIn = before.letIn - (pass.letIn ? 1 : 0)
    return othersLetIn <= 0 ? before.times + 1 : 1
  }

  /** Another host was told to wait this long. */
  heard(waitMs: number): void {
    const before = this.#closing
    const shut = before && this.#now < before.until
    if (shut && this.#now + waitMs <= before.until) return
    this.#close({
      askedMs: waitMs,
      times: before?.times ?? 0,
      half: shut ? before.half : (before?.going ?? this.#underWay) / 2,
    })
  }

  #shut(refusal: Limited): number | undefined {
    const { maxRetries = defaultMaxRetries, closed } = this.#options
    const tooOften = refusal.times > maxRetries
    // Calls that come after that have all their retries.
    const { until, barred } = this.#close(tooOften ? { ...refusal, times: 0 } : refusal)
    const waitMs = until - this.#now
    closed?.(barred ? refusal.askedMs : waitMs)
    if (tooOften) this.#line.giveUp(this.#gaveUp(refusal.times))
    return tooOften || barred ? undefined : waitMs
  }

  #close({ askedMs, times, half }: Limited): Closing {
    const barred = askedMs > longestAskedWaitMs
    const until = this.#now + (barred ? longestAskedWaitMs : askedMs + this.#jitter(times))
    const closing: Closing = { until, times, barred, room: 1, going: 0, half: Math.max(leastHalf, half), letIn: 0 }
    this.#closing = closing
    if (barred) this.#line.giveUp(this.#barred(until))
    this.#wakeInTime()
    this.#line.moved()
    return closing
  }

  #jitter(times: number): number {
    const { baseMs = 500, capMs = 30_000, random } = this.#options
    return Math.floor(random.fraction() * Math.min(capMs, baseMs * 2 ** Math.max(0, times - 1)))
  }

  #mayGo({ until, going, room }: Closing): boolean {
    return this.#now >= until && going < Math.floor(room)
  }

  #pass(since: Closing): GatePass {
    const { clock } = this.#options
    this.#underWay++
    since.going++
    const pass: GatePass = {
      since,
      letIn: false,
      cancel: clock.wakeAt(clock.now() + refusedWithinMs, () => this.letIn(pass)),
    }
    return pass
  }

  #letGo(): void {
    let went = false
    for (
      let closing = this.#closing;
      closing && this.#line.length > 0 && this.#mayGo(closing);
      closing = this.#closing
    ) {
      this.#line.next()
      went = true
    }
    if (went) this.#line.moved()
  }

  /** Sets the timer only while a call waits for it. */
  #wakeInTime(): void {
    this.#cancelWake?.()
    this.#cancelWake = undefined
    const until = this.#closing?.until ?? 0
    if (this.#line.length > 0 && this.#now < until)
      this.#cancelWake = this.#options.clock.wakeAt(until, () => this.#letGo())
  }

  get #now(): number {
    return this.#options.clock.now()
  }

  #barred(until: number): SkeinError {
    const message =
      `model ${this.#model} is rate limited: its provider asked for a wait of more than ` +
      `${longestAskedWaitMs / 1_000} s, so it is not asked again before ${new Date(until).toISOString()}; a ` +
      `fallback or a higher limit at the provider would help`
    return new SkeinError('MODEL_RATE_LIMITED', message, { retry: true, data: { model: this.#model, until } })
  }

  #gaveUp(times: number): SkeinError {
    const message =
      `model ${this.#model} is rate limited: it refused ${times} times in a row, each time after ` +
      `the wait that it asked for; gave up all calls that waited for it`
    return new SkeinError('MODEL_RATE_LIMITED', message, { retry: true, data: { model: this.#model, times } })
  }
}
