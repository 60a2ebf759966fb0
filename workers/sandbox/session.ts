/**
 * A run as the body that started it sees it: its host functions, its output and its verdict. The code itself runs on
 * another thread.
 *
 * - Whatever the code does, the run is over soon after its end is due: the thread has `lastWordMs` to report it.
 * - Host functions run on the body's own thread, as part of its call. None begins after the end.
 * - Code that calls host functions without pause leaves the thread to others every `burstMs`, and waits meanwhile.
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
/** How long host functions are served before others on the body's thread get their turn. */
const burstMs = 5

export class GuestSession {
  readonly logs: Log[] = []
  readonly reports: Json[] = []
  readonly #job: GuestProgram
  readonly #runEnd: RunEnd
  readonly #stop = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  #turnStartedAt: number | undefined
  /**
   * Restores the async context of the caller, which messages do not carry. Around the watchdog, not within: what the
   * watchdog ends would leave the scope in disorder, and Node would abort.
   */
  readonly #asCaller = AsyncResource.bind((body: () => void) => body())

  constructor(job: GuestProgram, runEnd: RunEnd) {
    this.#job = job
    this.#runEnd = runEnd
  }

  async verdict(): Promise<Verdict> {
    const runEnd = this.#runEnd
    if (runEnd.isDue() && runEnd.verdict) return runEnd.verdict
    return new Promise((resolve) => {
      let stopTimer: () => void = () => undefined
      const finish = (verdict: Verdict, how: Leaving): void => {
        stopTimer()
        runEnd.signal.removeEventListener('abort', stop)
        place.leave(how)
        resolve(runEnd.verdict ?? verdict)
      }
      const place = takeGuestPlace({
        onMessage: (message) => (message.type === 'ended' ? finish(message.verdict, 'gone') : this.#receive(message)),
        onCall: (call) => this.#asCaller(() => this.#serve(call, place)),
        onThreadEnd: (cause) => finish(broken(cause), 'gone'),
      })
      const stop = (): void => {
        const { verdict } = runEnd
        if (!verdict) return
        Atomics.store(this.#stop, 0, 1)
        place.send({ type: 'stop', run: place.run })
        // A thread that is not ready yet will find the run stopped.
        if (!place.isReady()) finish(verdict, 'gone')
        else stopTimer = systemClock.wakeAt(systemClock.now() + lastWordMs, () => finish(verdict, 'stuck'))
      }
      runEnd.signal.addEventListener('abort', stop)
      const { imports, ...job } = this.#job
      place.send({
        type: 'begin',
        run: place.run,
        job: { ...job, imports: imports.map(([name]) => name) },
        stop: this.#stop,
      })
    })
  }

  #receive(message: Extract<FromGuest, { run: number }>): void {
    if (message.type === 'log') this.logs.push(message.log)
    else if (message.type === 'report') this.reports.push(message.value)
  }

  /** Serves calls in a row under one watchdog, which costs more than most calls do. */
  #serve(first: HostCall, place: GuestPlace): void {
    const runEnd = this.#runEnd
    const burstEnd = this.#turnStart() + burstMs
    let call: HostCall | undefined = first
    try {
      watched(() => {
        while (call) {
          const { run, id } = call
          const text = runEnd.isDue() ? runEnded : this.#answer(call, place)
          // The call may have taken all the time there is.
          runEnd.isDue()
          const late = systemClock.now() >= burstEnd
          // Messages that have arrived already are handled first.
          if (late) setImmediate(() => place.reply({ run, id, text }))
          else place.reply({ run, id, text })
          // Let the event loop turn for a promise.
          call = late || text === null || runEnd.signal.aborted ? undefined : place.nextCall()
        }
      }, runEnd.remainingMs() + watchdogMs)
    } catch (thrown) {
      runEnd.isDue()
      if (call) place.reply({ run: call.run, id: call.id, text: encodeError(thrown) })
    }
  }

  /** When this run began to serve calls in this turn of the event loop. */
  #turnStart(): number {
    if (this.#turnStartedAt === undefined) {
      this.#turnStartedAt = systemClock.now()
      setImmediate(() => (this.#turnStartedAt = undefined))
    }
    return this.#turnStartedAt
  }

  /** The JSON of the answer, or null if it is sent later. */
  #answer({ run, id, index, json }: HostCall, place: GuestPlace): string | null {
    try {
      const body = this.#job.imports[index]?.[1]
      const returned = body?.(...(JSON.parse(json) as Json[]))
      if (!isObject(returned) || typeof returned['then'] !== 'function') return encodeValue(returned)
      const send = (text: string): void => place.send({ type: 'answer', run, id, text })
      Promise.resolve(returned).then(
        (value) => send(encodeValue(value)),
        (thrown) => send(encodeError(thrown)),
      )
      return null
    } catch (thrown) {
      return encodeError(thrown)
    }
  }
}

function broken(cause: string): Verdict {
  return { status: 'error', error: { name: 'InternalError', message: `the engine broke: ${cause}` } }
}
