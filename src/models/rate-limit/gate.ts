/**
 * The gate before one model, for all threads of a process (and hosts: src/runtime/admission.ts): a call goes, or
 * waits in line.
 *
 * - Until a call was limited, passing costs a comparison and two additions: no promise, nothing kept for a call.
 * - A limited call closes the gate for as long as the provider asked, and a random part of base × 2ⁿ on top, n
 *   being how often it closed before without one being let in between. What closes it again never opens it earlier.
 * - Who waits goes in the order in which they first asked; one that was limited goes back to its place.
 * - When it opens, one goes. For each that is let in (answered, or not refused within 10 s) one more may be under
 *   way, up to half of what was when it closed; from there one more for as many as are.
 * - It is forgotten a minute after it opened, when nobody waits.
 * - An abort ends a wait at once, and leaves nothing behind.
 * - All that wait are given up when it has closed more often in a row than a call is tried again, or when the
 *   provider asks for more than five minutes; in that case whoever comes in the next five, too, and then one asks
 *   again.
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
  /** An answer that came here has closed it for so long. */
  readonly closed?: (waitMs: number) => void
}

export interface GateCaller {
  readonly thread: string
  /** Where it stands among all who asked. */
  readonly ticket: number
  readonly signal: AbortSignal
  /** Told when it begins to wait, on its way forward, and at the end. */
  readonly waiting: (wait: ModelWait) => void
}

/** The right of one call to be under way. */
export interface GatePass {
  readonly since: Closing
  letIn: boolean
  cancel(): void
}

/** All since a call was limited. */
interface Closing {
  until: number
  /** How often in a row it closed. */
  readonly times: number
  /** Nobody waits for it. */
  readonly barred: boolean
  /** How many may be under way that went since it opened, and how many are. */
  room: number
  going: number
  readonly half: number
  /** How many the provider let in. */
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
/** What so few did at once was not too much. */
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

  /** For who asks now. */
  ticket(): number {
    return ++this.#tickets
  }

  /** The first that wait. */
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

  /** Resolves when the call may go; it has begun then. */
  enter(asker: GateCaller): Promise<GatePass | undefined> {
    return new Promise((resolve, reject) => {
      const { signal, thread, ticket, waiting: told } = asker
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
      const over = (): void => signal.removeEventListener('abort', aborted)
      const waiter: Waiter = {
        thread,
        ticket,
        told,
        go: () => (over(), resolve(this.#closing ? this.#pass(this.#closing) : this.begin())),
        giveUp: (error) => (over(), reject(error)),
      }
      signal.addEventListener('abort', aborted, { once: true })
      this.#line.join(waiter)
      this.#wakeInTime()
    })
  }

  /** The provider took the call. */
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

  /**
   * The provider refused a call that is under way. Gives how long all wait now; undefined where that is given up
   *.
   */
  limited(askedMs: number, pass: GatePass | undefined): number | undefined {
    const before = this.#closing
    const now = this.#now
    if (before && now < before.until) {
      // It was sent before the gate closed: that it failed is known; that it is to wait longer may be new.
      if (now + askedMs <= before.until) return before.until - now
      return this.#shut({ askedMs, times: before.times, half: before.half })
    }
    // One that broke off was let in for nothing.
    const inVain = before && before.letIn - (pass?.letIn ? 1 : 0) <= 0
    const times = !before ? 1 : pass?.since !== before ? before.times : inVain ? before.times + 1 : 1
    return this.#shut({ askedMs, times, half: (before?.going ?? this.#underWay) / 2 })
  }

  /** Another host was told to wait so long. */
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

  #shut(how: Limited): number | undefined {
    const { maxRetries = defaultMaxRetries, closed } = this.#options
    const tooOften = how.times > maxRetries
    // Whoever comes after that may try as often.
    const { until, barred } = this.#close(tooOften ? { ...how, times: 0 } : how)
    const waitMs = until - this.#now
    closed?.(barred ? how.askedMs : waitMs)
    if (tooOften) this.#line.giveUp(this.#gaveUp(how.times))
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

  /** A wake-up only while someone waits for it. */
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
