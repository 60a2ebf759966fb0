/**
 * Effects: how outstanding work is done (calls of tools: call.ts). Every effect ends in a landing, given to the thread
 * that wanted it; nothing here changes a thread.
 *
 * - An effect never throws: whatever happens becomes a landing.
 * - Nothing that a model says is recorded or told with a secret in it (VZ2).
 */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { App } from '../../agent/app.js'
import { createCancel } from '../../core/async/cancel.js'
import type { Clock } from '../../core/clock.js'
import type { DeadlineEffect, ModelEffect } from '../../core/effect.js'
import type { FileQuota } from '../../core/tree.js'
import type { DeltaEvent } from '../../core/records/event.js'
import { SkeinError, toFailure } from '../../core/failure.js'
import type { SideName } from '../../core/records/message.js'
import type { Redactor } from '../../core/redact/redact.js'
import type { Model } from '../../models/port.js'
import type { Blobs } from '../../backend/port.js'
import type { Pool } from '../../pool/port.js'
import type { ChildLimits } from '../resolve/child-call.js'
import type { Environments } from '../secrets/environment.js'
import { maskFailure, maskReply } from '../secrets/mask.js'
import type { OrphanedCalls } from './orphaned-calls.js'
import type { Quotas } from '../host/quotas.js'
import type { RunningEffect } from '../resident/reconcile.js'
import { checkReply, toLanding, toRequest } from '../resolve/model-request.js'
import type { AgentSetup } from '../resolve/model-request.js'
import { ModelStream } from './model-stream.js'
import { reachesBack } from '../resolve/prompt-window.js'

/** What effects need of the skein they run in. */
export interface Services {
  readonly app: App
  readonly pool: Pool
  readonly clock: Clock
  readonly blobs: Blobs
  readonly envs: Environments
  /** What the files of one thread may hold. */
  readonly quota: FileQuota
  readonly childLimits: ChildLimits
  readonly orphans: OrphanedCalls
  /** How long another host may still be at work on what it held (0: none can be). */
  readonly leaseMs: number
  readonly quotas?: Quotas
  /** `disabled`: agents that may not be called now. */
  brief(agent: string, side?: SideName, disabled?: readonly string[]): AgentSetup
  /** A promise only the first time. */
  model(brief: AgentSetup): Model | Promise<Model>
}

/** What an effect needs of the thread that wants it. */
export interface EffectOwner {
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

/** A class: a swarm asks its models thousands of times a second. */
export class ModelCall implements RunningEffect {
  readonly #means: Services
  readonly #wanting: EffectOwner
  readonly #step: number
  readonly #cancel = createCancel()
  readonly #redactor: Redactor | undefined
  readonly #voice: ModelStream

  constructor(means: Services, wanting: EffectOwner, { step }: ModelEffect) {
    this.#means = means
    this.#wanting = wanting
    this.#step = step
    this.#redactor = means.envs.redactor(wanting.state)
    this.#voice = new ModelStream(wanting, step, { cancel: this.#cancel, redactor: this.#redactor })
    this.#ask().then(
      (landing) => wanting.land(landing),
      (thrown: unknown) => wanting.land(this.#failed(thrown)),
    )
  }

  async #ask(): Promise<Landing> {
    const { state } = this.#wanting
    const means = this.#means
    const voice = this.#voice
    const brief = means.brief(state.agent, state.turn?.session?.side, means.envs.disabled(state))
    voice.label = brief.side.label
    if (reachesBack(state, brief.prompt)) await this.#wanting.hydrated()
    const known = means.model(brief)
    const model = known instanceof Promise ? await known : known
    const given = await model.call(toRequest(brief, state, { envs: means.envs, read: this.#read }), voice)
    const reply = this.#redactor ? maskReply(this.#redactor, checkReply(brief.model.name, given)) : given
    voice.end()
    return toLanding(means, brief, { step: this.#step, reply, state })
  }

  /** What is gone, or cannot be read now, is told to the model as what it is not shown. */
  readonly #read = async (hash: string): Promise<Uint8Array | undefined> => {
    try {
      return await gather(this.#means.blobs.get(hash))
    } catch {
      // The blob is missing or damaged, or its store is away: the turn can go on without a picture.
      return undefined
    }
  }

  #failed(thrown: unknown): Landing {
    const failure = toFailure(thrown, 'MODEL_REJECTED')
    return {
      kind: 'model_failed',
      step: this.#step,
      failure: this.#redactor ? maskFailure(this.#redactor, failure) : failure,
    }
  }

  abort(reason: string): void {
    this.#voice.mute()
    this.#cancel.abort(new SkeinError('CANCELLED', reason))
  }

  soFar(): readonly DeltaEvent[] {
    return this.#voice.soFar()
  }
}

async function gather(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return Buffer.concat(parts)
}

export function awaitDeadline({ clock }: Services, wanting: EffectOwner, { at, key }: DeadlineEffect): RunningEffect {
  const cancel = clock.wakeAt(at, () => wanting.land({ kind: 'deadline', key }))
  return { abort: cancel }
}
