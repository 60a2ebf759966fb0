/**
 * A run as seen from the body that asked for it: its host functions, what it said, and what became of it. The code
 * itself runs on another thread.
 *
 * - Whatever the code does, the run is over soon after its end is due: the thread is given `lastWordMs` to say its
 *   last word.
 * - Host functions run on the body's own thread, as part of its call. None begins after the end.
 * - Code that calls without end leaves the thread to others every `burstMs`: it waits for its reply meanwhile.
 */
import { AsyncResource } from 'node:async_hooks'
import { systemClock } from '../../src/core/clock.js'
import { isObject } from '../../src/core/json.js'
import type { Json } from '../../src/core/json.js'
import { encodeValue, runEnded, encodeError } from './reply.js'
import type { RunEnd } from './run-end.js'
import type { GuestProgram } from './job.js'
import type { Log } from './guest-output.js'
import { takeGuestPlace } from './threads.js'
import type { Leaving, GuestPlace } from './threads.js'
import type { Verdict } from './verdict.js'
import { watchdogMs, watched } from './watchdog.js'
import type { HostCall, FromGuest } from './wire.js'

/** Longer than the thread's own watchdog takes. */
const lastWordMs = 250
/** So long host functions are served before others on the body's thread have their turn. */
const burstMs = 5

export class GuestSession {
  readonly logs: Log[] = []
  readonly reports: Json[] = []
  readonly #job: GuestProgram
  readonly #ending: RunEnd
  readonly #stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  #turnAt: number | undefined
  /**
   * Messages come in nobody's name. Around the watchdog, not within: what it ends leaves no scope in good order, and
   * Node aborts.
   */
  readonly #asCaller = AsyncResource.bind((body: () => void) => body())

  constructor(job: GuestProgram, ending: RunEnd) {
    this.#job = job
    this.#ending = ending
  }

  async verdict(): Promise<Verdict> {
    const ending = this.#ending
    if (ending.isDue() && ending.verdict) return ending.verdict
    return new Promise((resolve) => {
      let patience: () => void = () => undefined
      const over = (verdict: Verdict, how: Leaving): void => {
        patience()
        ending.signal.removeEventListener('abort', stop)
        place.leave(how)
        resolve(ending.verdict ?? verdict)
      }
      const place = takeGuestPlace({
        onMessage: (word) => (word.type === 'ended' ? over(word.verdict, 'gone') : this.#hear(word)),
        onCall: (call) => this.#asCaller(() => this.#serve(call, place)),
        onThreadEnd: (why) => over(broke(why), 'gone'),
      })
      const stop = (): void => {
        const { verdict: why } = ending
        if (!why) return
        Atomics.store(this.#stop, 0, 1)
        place.send({ type: 'stop', run: place.run })
        // A thread that has not begun will see that it need not.
        if (!place.isReady()) over(why, 'gone')
        else patience = systemClock.wakeAt(systemClock.now() + lastWordMs, () => over(why, 'stuck'))
      }
      ending.signal.addEventListener('abort', stop)
      const { imports, ...job } = this.#job
      place.send({
        type: 'begin',
        run: place.run,
        job: { ...job, imports: imports.map(([name]) => name) },
        stop: this.#stop,
      })
    })
  }

  #hear(word: Extract<FromGuest, { run: number }>): void {
    if (word.type === 'log') this.logs.push(word.log)
    else if (word.type === 'report') this.reports.push(word.value)
  }

  /** SY2. Many calls one after the other are watched as one: that is what watching costs. */
  #serve(first: HostCall, place: GuestPlace): void {
    const ending = this.#ending
    const burstEnd = this.#turn() + burstMs
    let call: HostCall | undefined = first
    try {
      watched(() => {
        while (call) {
          const { run, id } = call
          const text = ending.isDue() ? runEnded : this.#answer(call, place)
          // What it did may have taken all the time there is.
          ending.isDue()
          const late = systemClock.now() >= burstEnd
          // Messages that are there already are heard before anything else is.
          if (late) setImmediate(() => place.reply({ run, id, text }))
          else place.reply({ run, id, text })
          // What a promise waits for comes first.
          call = late || text === null || ending.signal.aborted ? undefined : place.nextCall()
        }
      }, ending.remainingMs() + watchdogMs)
    } catch (thrown) {
      ending.isDue()
      if (call) place.reply({ run: call.run, id: call.id, text: encodeError(thrown) })
    }
  }

  /** When the event loop last came round, as far as this run has kept it from that. */
  #turn(): number {
    if (this.#turnAt === undefined) {
      this.#turnAt = systemClock.now()
      setImmediate(() => (this.#turnAt = undefined))
    }
    return this.#turnAt
  }

  /** The JSON of the answer; null: it comes when it is there. */
  #answer({ run, id, index, json }: HostCall, place: GuestPlace): string | null {
    try {
      const body = this.#job.imports[index]?.[1]
      const returned = body?.(...(JSON.parse(json) as Json[]))
      if (!isObject(returned) || typeof returned['then'] !== 'function') return encodeValue(returned)
      const land = (text: string): void => place.send({ type: 'answer', run, id, text })
      Promise.resolve(returned).then(
        (value) => land(encodeValue(value)),
        (thrown) => land(encodeError(thrown)),
      )
      return null
    } catch (thrown) {
      return encodeError(thrown)
    }
  }
}

function broke(why: string): Verdict {
  return { status: 'error', error: { name: 'InternalError', message: `the engine broke: ${why}` } }
}
