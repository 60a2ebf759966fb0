/**
 * Time limits of a model call: a provider that hangs would otherwise hold its turn without end.
 *
 * - An attempt that is silent for `idleMs`, or not finished after `totalMs`, is aborted and fails with
 *   MODEL_UNAVAILABLE, whatever the model does with the signal. An abort from outside keeps its reason.
 * - Calls of one model share one timer, which is cancelled when no call is under way: a call costs an entry in a set.
 */
import { createCancel } from '../../core/async/cancel.js'
import type { Clock } from '../../core/clock.js'
import { SkeinError } from '../../core/failure.js'
import { onAbort } from './abort.js'
import { attempted } from './attempt.js'
import type { Model, ModelCallOptions, ModelDelta, ModelReply, ModelRequest, ModelWait } from '../port.js'

export interface TimeLimits {
  /** Some models think for minutes before their first delta. */
  readonly idleMs: number
  readonly totalMs: number
}

export const defaultTimeLimits: TimeLimits = { idleMs: 300_000, totalMs: 1_800_000 }

export function withTimeLimits(model: Model, limits: TimeLimits, clock: Clock): Model {
  const watchdog = new Watchdog(model, limits, clock)
  return { name: model.name, call: (request, call) => watchdog.follow(request, call) }
}

class Watchdog {
  readonly #model: Model
  readonly #limits: TimeLimits
  readonly clock: Clock
  readonly #calls = new Set<TimedCall>()
  #cancelWake: (() => void) | undefined
  #wakesAt = Infinity

  constructor(model: Model, limits: TimeLimits, clock: Clock) {
    this.#model = model
    this.#limits = limits
    this.clock = clock
  }

  follow(request: ModelRequest, call: ModelCallOptions): Promise<ModelReply> {
    const timed = new TimedCall(call, this.clock)
    return new Promise<ModelReply>((resolve, reject) => {
      timed.timedOut = reject
      this.#calls.add(timed)
      this.#arm(this.#dueOf(timed))
      attempted(this.#model, request, timed).then(
        (reply) => {
          this.#leave(timed)
          resolve(reply)
        },
        (thrown: unknown) => {
          this.#leave(timed)
          reject(thrown)
        },
      )
    })
  }

  #leave(timed: TimedCall): void {
    this.#calls.delete(timed)
    timed.end()
    if (this.#calls.size > 0) return
    this.#cancelWake?.()
    this.#cancelWake = undefined
    this.#wakesAt = Infinity
  }

  #dueOf({ startedAt, heardAt }: TimedCall): number {
    return Math.min(heardAt + this.#limits.idleMs, startedAt + this.#limits.totalMs)
  }

  /** A sign of life does not move the timer: when it fires, all calls are checked again. */
  #arm(at: number): void {
    if (at >= this.#wakesAt) return
    this.#cancelWake?.()
    this.#wakesAt = at
    this.#cancelWake = this.clock.wakeAt(at, () => this.#check())
  }

  #check(): void {
    this.#cancelWake = undefined
    this.#wakesAt = Infinity
    const now = this.clock.now()
    let next = Infinity
    for (const timed of this.#calls) {
      const due = this.#dueOf(timed)
      if (due > now) next = Math.min(next, due)
      else {
        this.#calls.delete(timed)
        timed.fail(this.#failed(now - timed.startedAt >= this.#limits.totalMs ? 'total' : 'idle'))
      }
    }
    if (next < Infinity) this.#arm(next)
  }

  #failed(limit: 'idle' | 'total'): SkeinError {
    const { idleMs, totalMs } = this.#limits
    const silent = `nothing was heard of it for ${idleMs / 1_000} s (timeouts.idleMs)`
    const what = limit === 'idle' ? silent : `it was not done after ${totalMs / 1_000} s (timeouts.totalMs)`
    const model = this.#model.name
    const message = `model ${model} did not answer in time: ${what}; the same request may succeed later`
    return new SkeinError('MODEL_UNAVAILABLE', message, { retry: true, data: { model, timeout: limit } })
  }
}

const ignored = (): void => undefined

/** A class and no literal: a swarm creates thousands per second. */
class TimedCall implements ModelCallOptions {
  readonly #call: ModelCallOptions
  readonly #clock: Clock
  readonly #cancel = createCancel()
  #emit: ModelCallOptions['emit'] | undefined
  readonly startedAt: number
  heardAt: number
  timedOut: (error: SkeinError) => void = ignored
  #stopListening: (() => void) | undefined

  constructor(call: ModelCallOptions, clock: Clock) {
    this.#call = call
    this.#clock = clock
    this.startedAt = this.heardAt = clock.now()
  }

  get signal(): AbortSignal {
    this.#listen()
    return this.#cancel.signal
  }

  onAbort(listener: (reason: Error) => void): () => void {
    this.#listen()
    return this.#cancel.onAbort(listener)
  }

  /** Only where somebody wants to know: many calls end before. */
  #listen(): void {
    this.#stopListening ??= onAbort(this.#call, (reason) => this.#cancel.abort(reason))
  }

  restarted(): void {
    this.#call.restarted?.()
  }

  waiting(wait: ModelWait): void {
    this.#call.waiting?.(wait)
  }

  heard(): void {
    this.heardAt = this.#clock.now()
  }

  /** No method: a model may take it out of the options. */
  get emit(): ModelCallOptions['emit'] {
    return (this.#emit ??= (delta: ModelDelta): void => {
      this.heardAt = this.#clock.now()
      this.#call.emit(delta)
    })
  }

  fail(error: SkeinError): void {
    this.timedOut(error)
    this.#cancel.abort(error)
  }

  end(): void {
    this.#stopListening?.()
  }
}
