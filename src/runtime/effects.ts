/**
 * Effects: how each kind of outstanding work is done. Every effect ends in a landing, given to the thread that
 * wanted it; nothing here changes a thread.
 *
 * EX1 An effect never throws: whatever happens becomes a landing.
 * EX2 The text that a model speaks is told as it comes, with the attempt and the offset it belongs to (EV2).
 * EX3 An effect on the world whose outcome is not known is never silently repeated.
 */
import { hash } from 'node:crypto'
import type { Landing } from '../../actors/thread/commands.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { App } from '../agent/app.js'
import { createCancel } from '../core/cancel.js'
import type { Clock } from '../core/clock.js'
import type { CallEffect, DeadlineEffect, ModelEffect, Outcome } from '../core/effect.js'
import type { DeltaEvent } from '../core/event.js'
import { SkeinError, failure, toFailure } from '../core/failure.js'
import type { Failure } from '../core/failure.js'
import { canonical } from '../core/json.js'
import type { Json } from '../core/json.js'
import type { Model, ModelCallOptions, ModelDelta } from '../models/port.js'
import type { Job, Pool } from '../pool/port.js'
import type { Started } from './reconcile.js'
import { toLanding, toRequest } from './request.js'
import type { Brief } from './request.js'

/** What effects need of the skein they run in. */
export interface Means {
  readonly app: App
  readonly pool: Pool
  readonly clock: Clock
  brief(agent: string): Brief
  model(brief: Brief): Promise<Model>
}

/** What an effect needs of the thread that wants it. */
export interface Wanting {
  readonly state: ThreadState
  /** Resolves when the whole transcript is in memory. */
  hydrated(): Promise<void>
  /** Undefined when nobody listens. */
  speak(make: () => DeltaEvent): void
  land(landing: Landing): void
}

/** The model's words so far, for a watcher that comes in the middle. */
export interface Speaking extends Started {
  soFar(): DeltaEvent
}

export function callModel(means: Means, wanting: Wanting, effect: ModelEffect): Speaking {
  const cancel = createCancel()
  const voice = createVoice(wanting, effect.step)
  const options: ModelCallOptions = {
    get signal() {
      return cancel.signal
    },
    emit: voice.emit,
    restarted: voice.restart,
  }
  const speak = async (): Promise<Landing> => {
    const { state } = wanting
    if (state.transcript.skipped > 0) await wanting.hydrated()
    const brief = means.brief(state.agent)
    const model = await means.model(brief)
    const stepsBefore = state.turn?.steps ?? 0
    const reply = await model.call(toRequest(brief, state), options)
    return toLanding(means.app, brief, { step: effect.step, reply, stepsBefore })
  }
  const failed = (thrown: unknown): Landing => ({ kind: 'model_failed', step: effect.step, failure: toFailure(thrown, 'MODEL_REJECTED') })
  speak().then(wanting.land, (thrown: unknown) => wanting.land(failed(thrown)))
  const abort = (reason: string): void => {
    voice.mute()
    cancel.abort(new SkeinError('CANCELLED', reason))
  }
  return { abort, soFar: voice.soFar }
}

function createVoice({ state, speak }: Wanting, step: number) {
  const place = () => ({ thread: state.id, path: state.path, run: state.turn?.run ?? '', step, attempt })
  let attempt = 1
  let text = ''
  let reasoned = 0
  let muted = false
  return {
    /** A model may go on speaking after its step was given up: that belongs to no turn any more. */
    mute(): void {
      muted = true
    },
    emit(delta: ModelDelta): void {
      // An adapter's mistake ends its step here, not the process of whoever listens.
      if (typeof delta.text !== 'string') throw new SkeinError('MODEL_REJECTED', `the model emitted a ${delta.type} delta whose text is ${typeof delta.text}, not a string`)
      if (muted) return
      if (delta.type === 'text') {
        const offset = text.length
        text += delta.text
        speak(() => ({ type: 'text.delta', ...place(), offset, text: delta.text }))
      } else if (delta.type === 'reasoning') {
        const offset = reasoned
        reasoned += delta.text.length
        speak(() => ({ type: 'reasoning.delta', ...place(), offset, text: delta.text }))
      } else speak(() => ({ ...place(), ...delta, type: 'call.delta' }))
    },
    restart(): void {
      if (muted) return
      attempt++
      text = ''
      reasoned = 0
      speak(() => ({ type: 'stream.reset', ...place(), text }))
    },
    soFar: (): DeltaEvent => ({ type: 'stream.reset', ...place(), text }),
  }
}

export function runCall(means: Means, { state, land }: Wanting, { step, index, recovered }: CallEffect & { readonly recovered: boolean }): Started {
  const cancel = createCancel()
  const call = state.slots.items[index]?.call
  if (call) {
    const { tool, args } = call
    const job: Job = {
      tool,
      args,
      threadId: state.id,
      cancel,
      get idempotencyKey() {
        return keyOfCall([state.id, step, index, tool, args])
      },
    }
    const outcome = call.sideEffect ? runEffect(means, job, recovered) : means.pool.run(job)
    void outcome.then((landed) => land({ kind: 'returned', step, index, outcome: landed }))
  }
  return { abort: (reason) => cancel.abort(new SkeinError('CANCELLED', reason)) }
}

/** EX3: a body that may have run is not run again, unless the tool says how that is safe (T10). */
async function runEffect({ pool, app }: Means, job: Job, recovered: boolean): Promise<Outcome> {
  const first = recovered ? undefined : await pool.run(job)
  if (first && (first.ok || first.failure.code !== 'WORKER_CRASHED')) return first
  const tool = app.tools.get(job.tool)
  if (tool?.idempotent || (!tool?.probe && tool?.onUnknown === 'retry')) return pool.run(job)
  if (!tool?.probe) return unknown(job.tool)
  const found = await pool.run({ ...job, probe: true })
  if (!found.ok) return unknown(job.tool, found.failure)
  return found.value === null ? pool.run(job) : found
}

function unknown(tool: string, cause?: Failure): Outcome {
  const message = `${tool} had begun when its process or thread ended, so it may already have happened; find out before you ask for it again`
  return { ok: false, failure: { ...failure('EFFECT_UNKNOWN', message), ...(cause && { cause }) } }
}

/** Derived from what is asked, never from a provider's call id: the same after a retry or a crash (T10). */
function keyOfCall(parts: Json): string {
  return hash('sha256', canonical(parts), 'base64url').slice(0, 32)
}

export function awaitDeadline({ clock }: Means, { land }: Wanting, { at, key }: DeadlineEffect): Started {
  const cancel = clock.wakeAt(at, () => land({ kind: 'deadline', key }))
  return { abort: cancel }
}
