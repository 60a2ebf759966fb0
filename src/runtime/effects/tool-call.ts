/**
 * A tool call: runs the body of a call (again after a failure, as its tool says), and lands its outcome.
 *
 * EX3 An effect on the world whose outcome is not known is never silently repeated (T10).
 * - Bytes are stored before the landing that names them.
 * - Output of a body is told while it runs, and all of it before its result.
 * - An intent of another host is resolved only when no receipt for it can be expected any more.
 * - The outcome of an effect on the world is stored however often the store fails: it cannot be had again.
 */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import type { Slot } from '../../../actors/thread/calls/slots.js'
import { createCancel } from '../../core/async/cancel.js'
import type { Cancel } from '../../core/async/cancel.js'
import { defined } from '../../core/defined.js'
import type { CallEffect, Outcome } from '../../core/effect.js'
import type { DeltaEvent } from '../../core/records/event.js'
import { SkeinError, failure, toFailure } from '../../core/failure.js'
import type { Failure, FailureCode } from '../../core/failure.js'
import type { Media } from '../../core/media.js'
import { callId } from '../../core/records/message.js'
import type { Landed, RecordedCall } from '../../core/records/record.js'
import type { Took } from '../../core/records/took.js'
import type { Returned } from '../../pool/port.js'
import { archiveResult, isLong } from './long-results.js'
import { CallJob, CallMeter, CallOutput } from './tool-job.js'
import { recordOutsideCall } from '../resolve/hooked-calls.js'
import { maskReturned } from '../secrets/mask.js'
import type { EffectOwner, RunningEffect, Services } from '../services.js'
import type { OrphanedCall } from './orphaned-calls.js'
import { pauseBeforeRetry, withToolRetries } from './tool-retry.js'

export interface CallStart extends CallEffect {
  /** Its intent was not recorded by this residence: the body may have run already. */
  readonly recovered: boolean
}

/** A class: a swarm makes thousands of calls a second. */
export class RunningCall implements RunningEffect {
  readonly #services: Services
  readonly #cancel: Cancel
  readonly #output: CallOutput
  readonly #job: CallJob | undefined
  readonly #work: Promise<Landing> | undefined
  /** Its body began before the thread left this host and came back. */
  readonly #adopted: OrphanedCall | undefined

  constructor(services: Services, owner: EffectOwner, effect: CallStart) {
    const slot = owner.state.slots.items[effect.index]
    this.#services = services
    this.#adopted = effect.recovered && slot?.began ? services.orphans.adopt(owner.state.id, effect.key) : undefined
    this.#cancel = this.#adopted?.cancel ?? createCancel()
    this.#output = this.#adopted?.output?.follow(owner) ?? new CallOutput(services, owner, effect)
    if (!slot) return
    const meter = new CallMeter(services.clock)
    this.#job = new CallJob({ services, owner, effect, slot, cancel: this.#cancel, output: this.#output, meter })
    this.#work = this.#adopted?.work ?? carryOut(services, this.#job, { effect, slot })
    // Only the store can fail here: a value could not be read, or the outcome of the body not be stored.
    this.#work.then(
      (landing) => owner.land(landing),
      (thrown: unknown) => owner.storeFailed(thrown),
    )
  }

  /** OR1: a body with a side effect is not ended because its thread leaves. */
  leave(): boolean {
    const orphan = this.#adopted ?? this.#toOrphan()
    if (orphan) this.#services.orphans.leave(orphan)
    return orphan !== undefined
  }

  #toOrphan(): OrphanedCall | undefined {
    if (!this.#job?.acting || !this.#work) return undefined
    return { ...this.#job.identity, work: this.#work, cancel: this.#cancel, output: this.#output }
  }

  abort(reason: string): void {
    this.#cancel.abort(new SkeinError('CANCELLED', reason))
  }

  soFar(): readonly DeltaEvent[] {
    return this.#output.soFar()
  }
}

interface CallToCarryOut {
  readonly effect: CallStart
  readonly slot: Slot
}

/** No async function: a step of most threads is a call that returns at once. */
function carryOut(services: Services, job: CallJob, call: CallToCarryOut): Promise<Landing> {
  const { effect, slot } = call
  if (slot.join) return merged(services, job, slot).then((landed) => returnedBy(effect, landed))
  try {
    // Unsealed before the body begins: a value that cannot be read is no failure of the call (VQ2: the thread stops).
    const { env: _ } = job
    const effectful = slot.call.sideEffect && !slot.answer
    const running = effectful ? runSideEffect(services, job, effect.recovered) : withToolRetries(services, job)
    return running.then((returned) => toLanding(services, job, { effect, slot, returned }))
  } catch (thrown) {
    return Promise.reject(thrown)
  }
}

/** Of a child that had a copy of the thread's files: few have one, and what merges them is loaded for them. */
async function merged({ blobs }: Services, { state }: CallJob, slot: Slot): Promise<Landed> {
  const { mergeChildFiles } = await import('./merge-child-files.js')
  return mergeChildFiles(blobs, state, slot)
}

function toLanding(
  services: Services,
  job: CallJob,
  { effect, slot, returned }: CallToCarryOut & { readonly returned: SideEffectResult },
): Landing | Promise<Landing> {
  const { step, index } = effect
  if ('ask' in returned) return { kind: 'held', step, index, why: 'approval', prompt: returned.ask }
  if (returned.held) return { kind: 'held', step, index, why: 'person' }
  const store = (): Landed | Promise<Landed> => toLanded(services, job, { returned, slot, index })
  const landed = job.acting ? storedAtLast(services, job, store) : store()
  return landed instanceof Promise ? landed.then((late) => returnedBy(effect, late)) : returnedBy(effect, landed)
}

function returnedBy({ step, index }: CallStart, landed: Landed): Landing {
  return { kind: 'returned', step, index, landed }
}

const storeAgainMs = 1_000
const crashed: ReadonlySet<FailureCode> = new Set(['WORKER_CRASHED'])

/** The outcome of a body, or what a person is asked because it is not known. */
type SideEffectResult = Returned | { readonly ask: string }

/** EX3: a body that may have run is not run again, unless the tool says how that is safe. */
async function runSideEffect(services: Services, job: CallJob, recovered: boolean): Promise<SideEffectResult> {
  if (recovered) {
    if (!job.definition?.idempotent) await receiptTime(services, job)
    return resolveUnknown(services, job)
  }
  job.acting = true
  // A worker that died is no failure that may be retried: the body may have acted.
  const first = await withToolRetries(services, job, crashed)
  return hasCrashed(first.outcome) ? resolveUnknown(services, job) : first
}

function hasCrashed(outcome: Outcome): boolean {
  return !outcome.ok && outcome.failure.code === 'WORKER_CRASHED'
}

/** The body may have run: the tool's own rules decide, in this order: `idempotent`, `probe`, `onUnknown`. */
async function resolveUnknown(services: Services, job: CallJob): Promise<SideEffectResult> {
  const { idempotent, probe, onUnknown } = job.definition ?? {}
  const message = `${job.tool} had begun when its process or thread ended, so it may already have happened`
  // The thread has left, or its turn was cancelled, while a receipt or the probe was waited for: nothing is begun then.
  const again = (): SideEffectResult | Promise<Returned> =>
    job.cancel.reason
      ? { outcome: unknown(message, toFailure(job.cancel.reason, 'CANCELLED')) }
      : runAgain(services, job)
  if (idempotent || (!probe && onUnknown === 'retry')) return again()
  const found = probe && !job.cancel.reason ? await services.pool.run(job.probing()) : undefined
  if (found?.outcome.ok) return isMissing(job, found.outcome) ? again() : foundOut(job, found)
  if (onUnknown === 'ask') return { ask: `${message}. Approve to run it again; reject if it must not be repeated.` }
  const probeFailure = found && !found.outcome.ok ? found.outcome.failure : undefined
  return { outcome: unknown(`${message}; find out before you ask for it again`, probeFailure) }
}

/** The probe asks for what the call has done; a call that undoes it is to be made again as long as that is there. */
function isMissing({ run }: CallJob, { value }: Extract<Outcome, { readonly ok: true }>): boolean {
  return run.part === 'revert' ? value !== null : value === null
}

function foundOut({ run }: CallJob, found: Returned): Returned {
  return run.part === 'revert' ? { outcome: { ok: true, value: null } } : found
}

/**
 * Until the call's deadline and one lease longer, the host where it began may still run it, or send its receipt.
 * Measured with our own clock: if that is wrong, we wait at least a lease, and at most the whole limit and a lease.
 */
async function receiptTime({ clock, leaseMs }: Services, job: CallJob): Promise<void> {
  if (leaseMs === 0) return
  const { limitMs = 0, beganAt = clock.now() } = job.begun
  const remainingMs = Math.min(Math.max(beganAt + limitMs - clock.now(), 0), limitMs)
  await job.meter.waitFor(pauseBeforeRetry(clock, remainingMs + leaseMs, job.cancel))
}

/**
 * Once more: a call that kills its worker twice is given up. What its body throws is retried as in any run (T6).
 */
async function runAgain(services: Services, job: CallJob): Promise<Returned> {
  job.acting = true
  const returned = await withToolRetries(services, job, crashed)
  const { outcome } = returned
  if (outcome.ok || !hasCrashed(outcome)) return returned
  return {
    outcome: unknown(
      `${job.tool} was run again and its thread died again, so it may have happened; find out before you ask for ` +
        `it again`,
      outcome.failure,
    ),
  }
}

function unknown(message: string, cause?: Failure): Outcome {
  return { ok: false, failure: { ...failure('EFFECT_UNKNOWN', message), ...defined({ cause }) } }
}

/** Retries the store until the outcome is stored or the call is cancelled. */
async function storedAtLast(
  { clock }: Services,
  { cancel }: CallJob,
  store: () => Landed | Promise<Landed>,
): Promise<Landed> {
  for (;;) {
    try {
      return await store()
    } catch (thrown) {
      if (cancel.reason) throw thrown
      await pauseBeforeRetry(clock, storeAgainMs, cancel)
    }
  }
}

interface ReturnedCall {
  readonly returned: Returned
  readonly slot: Slot
  readonly index: number
}

/** A promise only if something is to be stored or asked: most calls give nothing besides their outcome. */
function toLanded(services: Services, job: CallJob, call: ReturnedCall): Landed | Promise<Landed> {
  const { slot } = call
  const redactor = services.envs.redactor(job.state)
  const returned = redactor ? maskReturned(redactor, call.returned) : call.returned
  const { contents, queued, media, outcome } = returned
  const { took } = job.meter
  const whole = job.definition?.retention === 'keep' || slot.call.session?.message !== undefined
  if (!contents && !queued && !media && !isLong(outcome, whole)) return landedOf(services, slot, { returned, took })
  return storeAll(services, job, { ...call, returned, whole, took })
}

/** `whole`: the outcome is recorded whole, however long it is. */
async function storeAll(
  services: Services,
  job: CallJob,
  { returned, slot, index, whole, took }: ReturnedCall & Pick<StoredOutcome, 'took'> & { readonly whole: boolean },
): Promise<Landed> {
  const { blobs } = services
  const { outcome, contents, queued } = returned
  if (contents) await Promise.all(contents.map(({ bytes }) => blobs.put(bytes)))
  const media =
    returned.media &&
    (await Promise.all(
      returned.media.map(async ({ mediaType, bytes }) => ({ mediaType, ...(await blobs.put(bytes)) })),
    ))
  const { state } = job
  const allowed = new Set(job.definition?.uses)
  const key = `step/${state.step}/call/${index}/queued`
  const calls =
    queued &&
    (await Promise.all(
      queued.map((request, number) =>
        recordOutsideCall(services, { state, key: `${key}/${number}`, by: 'tool', allowed }, request),
      ),
    ))
  const shortened = isLong(outcome, whole)
    ? await archiveResult(blobs, outcome, callId(job.state.step, index))
    : undefined
  return landedOf(services, slot, { returned, took, ...defined({ shortened, calls, media }) })
}

interface StoredOutcome {
  readonly returned: Returned
  /** The beginning of a long outcome; the whole is a blob. */
  readonly shortened?: { readonly outcome: Outcome; readonly text: string }
  readonly calls?: readonly RecordedCall[]
  readonly media?: readonly Media[]
  readonly took: Took | undefined
}

function landedOf({ quota }: Services, slot: Slot, { returned, shortened, calls, media, took }: StoredOutcome): Landed {
  const { outcome, reads, changes, messages, attached, told, preliminaries } = returned
  const text = returned.text ?? shortened?.text
  return {
    outcome: shortened?.outcome ?? outcome,
    ...(slot.again && { again: true }),
    ...defined({ text, media }),
    // Only a call that ran before its turn can have read what has changed since.
    ...(reads && slot.call.ahead && !slot.again && { reads }),
    ...(changes && { changes, ...(changes.files && quota) }),
    ...defined({ queued: calls, messages, attached, told, preliminaries, took }),
  }
}
