/**
 * Effects: how outstanding work is done (calls of tools: call.ts). Every effect ends in a landing, given to the thread
 * that wanted it; nothing here changes a thread.
 *
 * EX1 An effect never throws: whatever happens becomes a landing.
 * EX2 The text that a model speaks is told as it comes, with the attempt and the offset it belongs to (EV2).
 */
import type { Landing } from '../../actors/thread/commands.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { App } from '../agent/app.js'
import { createCancel } from '../core/cancel.js'
import type { Clock } from '../core/clock.js'
import type { DeadlineEffect, ModelEffect } from '../core/effect.js'
import type { DeltaEvent } from '../core/event.js'
import { SkeinError, toFailure } from '../core/failure.js'
import type { Model, ModelCallOptions, ModelDelta } from '../models/port.js'
import type { Blobs } from '../backend/port.js'
import type { Pool } from '../pool/port.js'
import type { ChildLimits } from './child-call.js'
import type { Started } from './reconcile.js'
import { toLanding, toRequest } from './request.js'
import type { Brief } from './request.js'
import { reachesBack } from './window.js'

/** What effects need of the skein they run in. */
export interface Means {
  readonly app: App
  readonly pool: Pool
  readonly clock: Clock
  readonly blobs: Blobs
  /** Values of variables that no thread has of its own. */
  readonly env: Readonly<Record<string, string>>
  /** What the files of one thread may hold. */
  readonly quotaBytes: number
  readonly childLimits: ChildLimits
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
  /** Resolves when the calls before this one of the step are settled. */
  turn(index: number): Promise<void>
  land(landing: Landing): void
  /** What the effect needs to keep could not be kept (TH5). */
  storeFailed(thrown: unknown): void
}

export function callModel(means: Means, wanting: Wanting, effect: ModelEffect): Started {
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
    const brief = means.brief(state.agent)
    if (reachesBack(state, brief.prompt)) await wanting.hydrated()
    const model = await means.model(brief)
    const stepsBefore = state.turn?.steps ?? 0
    const reply = await model.call(toRequest(brief, state), options)
    return toLanding(means, brief, { step: effect.step, reply, stepsBefore, state })
  }
  const failed = (thrown: unknown): Landing => ({ kind: 'model_failed', step: effect.step, failure: toFailure(thrown, 'MODEL_REJECTED') })
  speak().then(wanting.land, (thrown: unknown) => wanting.land(failed(thrown)))
  const abort = (reason: string): void => {
    voice.mute()
    cancel.abort(new SkeinError('CANCELLED', reason))
  }
  return { abort, soFar: () => [voice.soFar()] }
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

export function awaitDeadline({ clock }: Means, { land }: Wanting, { at, key }: DeadlineEffect): Started {
  const cancel = clock.wakeAt(at, () => land({ kind: 'deadline', key }))
  return { abort: cancel }
}
