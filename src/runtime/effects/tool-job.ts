/**
 * A call as a job for the pool: what its body may use of its thread and of the skein.
 *
 * - The idempotency key is derived from the call itself, never from a provider's call id: the same after a retry or a
 *   crash (T10).
 * - Files that a body sees are those of one instant; values are read with their version, which is compared at the
 *   call's turn.
 * - A call that may run ahead sees the thread as it is when it first looks; any other waits until the calls before it
 *   are settled, so that it reads what they left (T3).
 */
import type { Slot } from '../../../actors/thread/calls/slots.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { ToolDefinition } from '../../agent/define.js'
import type { Cancel } from '../../core/async/cancel.js'
import type { Clock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import type { CallEffect } from '../../core/effect.js'
import type { DeltaEvent } from '../../core/records/event.js'
import { entriesOf, kvKey } from '../../core/records/change.js'
import { callId } from '../../core/records/message.js'
import { tookOf } from '../../core/records/took.js'
import type { Took } from '../../core/records/took.js'
import { createTreeSource } from '../../files/tree-source.js'
import type { BodyPart, Snapshot, SnapshotAccess, ToolJob, ToolOutput, ValueAt } from '../../pool/port.js'
import { idempotencyKeyOf } from '../resolve/tool-calls.js'

import type { CallEnv } from '../secrets/environment.js'
import { maskOutput } from '../secrets/mask.js'
import { archivedValue } from './archived-results.js'
import { patientBlobs } from './patient-blobs.js'
import type { EffectOwner, Services } from '../services.js'

/** Outputs of a call that are told to a watcher who comes late. */
const remembered = 128
/** Shared and never changed: most calls say nothing. */
const none: DeltaEvent[] = []

/** What a call says while it runs: progress and logs. One for all tries of it, so that its numbers continue. */
export class CallOutput {
  readonly #services: Services
  #owner: EffectOwner
  readonly #effect: CallEffect
  /** The last outputs. */
  #last: DeltaEvent[] = none
  #number = 0

  constructor(services: Services, owner: EffectOwner, effect: CallEffect) {
    this.#services = services
    this.#owner = owner
    this.#effect = effect
  }

  /** The thread was woken again on this host: from now on its watchers are told through its new resident. */
  follow(owner: EffectOwner): this {
    this.#owner = owner
    return this
  }

  said(output: ToolOutput): void {
    const { state } = this.#owner
    const { step, index, again } = this.#effect
    const redactor = this.#services.envs.redactor(state)
    const masked = redactor ? maskOutput(redactor, output) : output
    const tool = state.slots.items[index]?.call.tool ?? ''
    const origin = {
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
      masked.type === 'log'
        ? { type: 'tool.log', ...origin, text: masked.text }
        : { type: `tool.${masked.type}`, ...origin, event: masked.event }
    if (this.#last.length === 0 || this.#last.length >= 2 * remembered) this.#last = this.#last.slice(-remembered)
    this.#last.push(event)
    this.#owner.speak(() => event)
  }

  /** For a watcher that comes late. */
  soFar(): readonly DeltaEvent[] {
    return this.#last
  }
}

export interface CallJobStart {
  readonly services: Services
  readonly owner: EffectOwner
  readonly effect: CallEffect
  readonly slot: Slot
  readonly cancel: Cancel
  readonly output: CallOutput
  readonly meter: CallMeter
}

/** What one call takes, over all its tries. */
export class CallMeter {
  readonly #clock: Clock
  readonly #startedAt: number
  waitedMs = 0
  tries = 0

  constructor(clock: Clock) {
    this.#clock = clock
    this.#startedAt = clock.now()
  }

  /** What it does meanwhile is waiting. */
  async waitFor(over: Promise<void>): Promise<void> {
    const since = this.#clock.now()
    await over
    this.waitedMs += this.#clock.now() - since
  }

  get took(): Took | undefined {
    return tookOf(this.#clock.now() - this.#startedAt, this.waitedMs, this.tries)
  }
}

/** A class, so that what most bodies never use (snapshot, key, env) is made only when it is asked for. */
export class CallJob implements ToolJob {
  readonly tool: string
  readonly args: ToolJob['args']
  readonly threadId: string
  readonly cancel: Cancel
  readonly run: BodyPart
  /** Its body runs or has run, and has a side effect: its outcome must not be lost. */
  acting = false
  readonly #start: CallJobStart
  readonly #definition: ToolDefinition | undefined
  #snapshot: SnapshotAccess | undefined
  #opened: CallEnv | undefined

  constructor(start: CallJobStart, run?: BodyPart) {
    const { slot, owner, cancel, services } = start
    this.#start = start
    this.tool = slot.call.tool
    this.args = slot.call.args
    this.threadId = owner.state.id
    this.cancel = cancel
    this.run = run ?? partOf(slot)
    this.#definition = services.app.tools.get(this.tool)
  }

  /** One try of the call, with a cancel of its own: a try that took too long may be followed by another. */
  trying(cancel: Cancel): CallJob {
    return new CallJob({ ...this.#start, cancel }, this.run)
  }

  get meter(): CallMeter {
    return this.#start.meter
  }

  waited(ms: number): void {
    this.#start.meter.waitedMs += ms
  }

  /** Undefined where nobody traces. */
  get trace(): string | undefined {
    const { services, owner, effect } = this.#start
    return services.observing?.traceOf(owner.state, effect.key)
  }

  /** The tool's probe: asks the world whether the call happened. */
  probing(): ToolJob {
    return new CallJob(this.#start, { part: 'probe' })
  }

  /** Its place in the journal, and its name outside. */
  get identity(): { readonly thread: string; readonly step: number; readonly index: number; readonly key: string } {
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
    return this.#start.owner.state
  }

  get hasParent(): boolean {
    return this.state.child !== undefined
  }

  get shares(): readonly string[] {
    const tree = this.state.path[0] ?? this.threadId
    const tag = this.#start.services.quotas?.tagOf(tree)
    return tag === undefined ? [tree] : [tree, tag]
  }

  get idempotencyKey(): string {
    const { effect, slot } = this.#start
    const { revert } = slot.call
    // What undoes a call has its key: by that the world knows what is meant.
    return idempotencyKeyOf(this.threadId, typeof revert === 'object' ? revert : effect, this)
  }

  /** Unsealed once; throws if a value cannot be (VQ2: that stops the thread, not its turn). */
  get #values(): CallEnv {
    const { services, owner } = this.#start
    return (this.#opened ??= services.envs.ofCall(owner.state, this.tool))
  }

  get env(): ToolJob['env'] {
    return this.#values.env
  }

  get secrets(): ToolJob['secrets'] {
    return this.#values.secrets
  }

  get snapshot(): SnapshotAccess {
    return (this.#snapshot ??= createSnapshotAccess(this.#start, this.#contexts))
  }

  /** Keys of the contexts that the body reads without waiting. */
  get #contexts(): readonly string[] {
    const { contextSchema, sharedSchema } = this.#definition ?? {}
    return [...(contextSchema ? [`context/${this.tool}`] : []), ...(sharedSchema ? ['shared'] : [])]
  }

  emit(output: ToolOutput): void {
    this.#start.output.said(output)
  }
}

function partOf({ answer, call }: Slot): BodyPart {
  if (answer) return { part: 'respond', answer: answer.output }
  return { part: typeof call.revert === 'object' ? 'revert' : 'execute' }
}

const unset: ValueAt = { version: 0 }

function createSnapshotAccess(
  { services, owner, effect: { index }, slot, cancel, meter }: CallJobStart,
  contexts: readonly string[],
): SnapshotAccess {
  const { state } = owner
  const { quota, clock } = services
  const blobs = patientBlobs(services.blobs, clock, cancel)
  const value = (key: string): ValueAt => (Object.hasOwn(state.values, key) ? (state.values[key] ?? unset) : unset)
  const snapshot = (): Snapshot => ({
    files: createTreeSource({ tree: state.files, at: state.stepAt, blobs, ...quota }),
    value: async (key) => (await archivedValue(services, owner, key)) ?? value(key),
    entries: async (prefix) => ({ version: value(kvKey).version, entries: entriesOf(state.values, prefix) }),
  })
  return {
    async open() {
      if (!slot.call.ahead || slot.again) await meter.waitFor(owner.whenItsTurn(index))
      return snapshot()
    },
    ...(contexts.length > 0 && { contexts: Object.fromEntries(contexts.map((key) => [key, value(key)])) }),
  }
}
