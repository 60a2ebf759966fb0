/**
 * A call as a job for the pool: what its body may use of its thread and of the skein.
 *
 * - The idempotency key is derived from what is asked, never from a provider's call id: the same after a retry or a
 *   crash (T10).
 */
import type { Slot } from '../../../actors/thread/calls/slots.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { ToolDefinition } from '../../agent/define.js'
import type { Cancel } from '../../core/async/cancel.js'
import { defined } from '../../core/defined.js'
import type { CallEffect } from '../../core/effect.js'
import type { DeltaEvent } from '../../core/records/event.js'
import { callId } from '../../core/records/message.js'
import type { SnapshotAccess, ToolJob, BodyPart, ToolOutput } from '../../pool/port.js'
import { idempotencyKeyOf } from '../resolve/tool-calls.js'
import { createSnapshotAccess } from './desk.js'
import type { Services, EffectOwner } from './model-call.js'
import type { CallEnv } from '../secrets/environment.js'
import { maskOutput } from '../secrets/mask.js'

/** Things said by a call that a watcher who comes late is told. */
const remembered = 128
/** Never changed. */
const nothing: DeltaEvent[] = []

/** What a call says. One for all tries of it: what is said is numbered on. */
export class CallOutput {
  readonly #means: Services
  #wanting: EffectOwner
  readonly #effect: CallEffect
  /** Most calls say nothing. */
  #last: DeltaEvent[] = nothing
  #number = 0

  constructor(means: Services, wanting: EffectOwner, effect: CallEffect) {
    this.#means = means
    this.#wanting = wanting
    this.#effect = effect
  }

  /** The thread is awake anew: it is heard there. */
  follow(wanting: EffectOwner): this {
    this.#wanting = wanting
    return this
  }

  said(told: ToolOutput): void {
    const { state } = this.#wanting
    const { step, index, again } = this.#effect
    const redactor = this.#means.envs.redactor(state)
    const what = redactor ? maskOutput(redactor, told) : told
    const tool = state.slots.items[index]?.call.tool ?? ''
    const place = {
      thread: state.id,
      path: state.path,
      run: state.turn?.run ?? '',
      step,
      attempt: again ? 2 : 1,
      index,
      call: callId(step, index),
      tool,
      number: this.#number++,
    }
    const event: DeltaEvent =
      what.type === 'log'
        ? { type: 'tool.log', ...place, text: what.text }
        : { type: `tool.${what.type}`, ...place, event: what.event }
    if (this.#last.length === 0 || this.#last.length >= 2 * remembered) this.#last = this.#last.slice(-remembered)
    this.#last.push(event)
    this.#wanting.speak(() => event)
  }

  /** The last of what was said. */
  soFar(): readonly DeltaEvent[] {
    return this.#last
  }
}

export interface CallJobStart {
  readonly means: Services
  readonly wanting: EffectOwner
  readonly effect: CallEffect
  readonly slot: Slot
  readonly cancel: Cancel
  readonly voice: CallOutput
}

/** A class, so that what most bodies never use (desk, key, env) is made only when it is asked for. */
export class CallJob implements ToolJob {
  readonly tool: string
  readonly args: ToolJob['args']
  readonly threadId: string
  readonly cancel: Cancel
  readonly run: BodyPart
  /** Its body runs, or has: what comes of it is not to be lost. */
  acting = false
  readonly #start: CallJobStart
  readonly #definition: ToolDefinition | undefined
  #desk: SnapshotAccess | undefined
  #opened: CallEnv | undefined

  constructor(start: CallJobStart, run?: BodyPart) {
    const { slot, wanting, cancel, means } = start
    this.#start = start
    this.tool = slot.call.tool
    this.args = slot.call.args
    this.threadId = wanting.state.id
    this.cancel = cancel
    this.run = run ?? (slot.answer ? { part: 'respond', answer: slot.answer.output } : { part: 'execute' })
    this.#definition = means.app.tools.get(this.tool)
  }

  /** The same call once more, with an end of its own: one that was late may be tried again. */
  trying(cancel: Cancel): CallJob {
    return new CallJob({ ...this.#start, cancel }, this.run)
  }

  /** The same call, asking the world whether it happened. */
  probing(): ToolJob {
    return new CallJob(this.#start, { part: 'probe' })
  }

  /** What it is known by, here and outside. */
  get place(): { readonly thread: string; readonly step: number; readonly index: number; readonly key: string } {
    const { step, index } = this.#start.effect
    return { thread: this.threadId, step, index, key: this.idempotencyKey }
  }

  /** When its body began, and how long it may take. */
  get begun(): { readonly beganAt?: number; readonly limitMs?: number } {
    const { beganAt, call } = this.#start.slot
    return { ...defined({ beganAt }), ...(call.limitMs !== undefined && { limitMs: call.limitMs }) }
  }

  get definition(): ToolDefinition | undefined {
    return this.#definition
  }

  get state(): ThreadState {
    return this.#start.wanting.state
  }

  get hasParent(): boolean {
    return this.state.child !== undefined
  }

  get shares(): readonly string[] {
    const tree = this.state.path[0] ?? this.threadId
    const tag = this.#start.means.quotas?.tagOf(tree)
    return tag === undefined ? [tree] : [tree, tag]
  }

  get idempotencyKey(): string {
    return idempotencyKeyOf(this.threadId, this.#start.effect, this)
  }

  /** Opened once; throws where a value cannot be (VQ2). */
  get #values(): CallEnv {
    const { means, wanting } = this.#start
    return (this.#opened ??= means.envs.ofCall(wanting.state, this.tool))
  }

  get env(): ToolJob['env'] {
    return this.#values.env
  }

  get secrets(): ToolJob['secrets'] {
    return this.#values.secrets
  }

  get snapshot(): SnapshotAccess {
    const { means, wanting, effect } = this.#start
    const { contextSchema, sharedSchema } = this.#definition ?? {}
    this.#desk ??= createSnapshotAccess({
      state: wanting.state,
      index: effect.index,
      blobs: means.blobs,
      quota: means.quota,
      turn: () => wanting.turn(effect.index),
      contexts: [...(contextSchema ? [`context/${this.tool}`] : []), ...(sharedSchema ? ['shared'] : [])],
    })
    return this.#desk
  }

  emit(what: ToolOutput): void {
    this.#start.voice.said(what)
  }
}
