/**
 * A call's effect: its body is run (again, after a failure, as its tool says), and what came of it becomes a landing.
 *
 * EX3 An effect on the world whose outcome is not known is never silently repeated (T10).
 * - Bytes are stored before the landing that names them.
 * - What a body said is told while it runs, and all of it before its result.
 * - An intent of another host is resolved only when no receipt for it can be expected any more.
 * - What came of an effect on the world is stored at last, however often the store fails: it cannot be had again.
 */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import type { Slot } from '../../../actors/thread/calls/slots.js'
import { createCancel } from '../../core/async/cancel.js'
import type { Cancel } from '../../core/async/cancel.js'
import { defined } from '../../core/defined.js'
import type { CallEffect, Outcome } from '../../core/effect.js'
import type { DeltaEvent } from '../../core/records/event.js'
import { SkeinError, failure } from '../../core/failure.js'
import type { Failure, FailureCode } from '../../core/failure.js'
import type { Media } from '../../core/media.js'
import { callId } from '../../core/records/message.js'
import type { Landed, RecordedCall } from '../../core/records/record.js'
import type { Returned } from '../../pool/port.js'
import { archived, isLong } from './long-results.js'
import { CallJob, CallOutput } from './tool-job.js'
import { recordCall } from '../resolve/tool-calls.js'
import type { Services, EffectOwner } from './model-call.js'
import { mergeChildFiles } from './merge-child-files.js'
import { maskReturned } from '../secrets/mask.js'
import type { RunningEffect } from '../resident/reconcile.js'
import type { OrphanedCall } from './orphaned-calls.js'
import { pauseBeforeRetry, withToolRetries } from './tool-retry.js'

export interface CallStart extends CallEffect {
  /** Its intent was recorded before this host had the thread: the body may have run. */
  readonly recovered: boolean
}

/** A class: a swarm makes thousands of calls a second. */
export class RunningCall implements RunningEffect {
  readonly #means: Services
  readonly #cancel: Cancel
  readonly #voice: CallOutput
  readonly #job: CallJob | undefined
  readonly #work: Promise<Landing> | undefined
  /** Its body began before the thread left this host and came back. */
  readonly #adopted: OrphanedCall | undefined

  constructor(means: Services, wanting: EffectOwner, effect: CallStart) {
    const slot = wanting.state.slots.items[effect.index]
    this.#means = means
    this.#adopted = effect.recovered && slot?.began ? means.orphans.adopt(wanting.state.id, effect.key) : undefined
    this.#cancel = this.#adopted?.cancel ?? createCancel()
    this.#voice = this.#adopted?.voice?.follow(wanting) ?? new CallOutput(means, wanting, effect)
    if (!slot) return
    this.#job = new CallJob({ means, wanting, effect, slot, cancel: this.#cancel, voice: this.#voice })
    this.#work = this.#adopted?.work ?? carryOut(means, this.#job, { effect, slot })
    // Only the store can fail here: a value could not be read, or what came of the body not be kept. The thread
    // starts over from its journal.
    this.#work.then(
      (landing) => wanting.land(landing),
      (thrown: unknown) => wanting.storeFailed(thrown),
    )
  }

  /** OR1 */
  leave(): boolean {
    const orphan =
      this.#adopted ??
      (this.#job?.acting && this.#work
        ? { ...this.#job.place, work: this.#work, cancel: this.#cancel, voice: this.#voice }
        : undefined)
    if (orphan) this.#means.orphans.leave(orphan)
    return orphan !== undefined
  }

  abort(reason: string): void {
    this.#cancel.abort(new SkeinError('CANCELLED', reason))
  }

  soFar(): readonly DeltaEvent[] {
    return this.#voice.soFar()
  }
}

interface Asked {
  readonly effect: CallStart
  readonly slot: Slot
}

async function carryOut(means: Services, job: CallJob, { effect, slot }: Asked): Promise<Landing> {
  const { step, index, recovered } = effect
  if (slot.join) return { kind: 'returned', step, index, landed: await mergeChildFiles(means.blobs, job.state, slot) }
  // Before the body begins: what cannot be read is no failure of the call (VQ2).
  const { env: _ } = job
  const effectful = slot.call.sideEffect && !slot.answer
  const returned = await (effectful ? runEffect(means, job, recovered) : withToolRetries(means, job))
  if ('ask' in returned) return { kind: 'held', step, index, why: 'approval', prompt: returned.ask }
  if (returned.held) return { kind: 'held', step, index, why: 'person' }
  const keep = (): Landed | Promise<Landed> => toLanded(means, job, { returned, slot, index })
  const landed = job.acting ? keptAtLast(means, job, keep) : keep()
  return { kind: 'returned', step, index, landed: landed instanceof Promise ? await landed : landed }
}

const againMs = 1_000
const lostThread: ReadonlySet<FailureCode> = new Set(['WORKER_CRASHED'])

type Effected = Returned | { readonly ask: string }

/** EX3: a body that may have run is not run again, unless the tool says how that is safe. */
async function runEffect(means: Services, job: CallJob, recovered: boolean): Promise<Effected> {
  const tool = job.definition
  job.acting = !recovered
  if (recovered && !tool?.idempotent) await receiptTime(means, job)
  // A thread that died is no failure that may be tried again: the body may have acted.
  const first = recovered ? undefined : await withToolRetries(means, job, lostThread)
  if (first && (first.outcome.ok || first.outcome.failure.code !== 'WORKER_CRASHED')) return first
  if (tool?.idempotent || (!tool?.probe && tool?.onUnknown === 'retry')) return onceMore(means, job)
  const found = tool?.probe && (await means.pool.run(job.probing()))
  if (found?.outcome.ok) return found.outcome.value === null ? onceMore(means, job) : found
  const message = `${job.tool} had begun when its process or thread ended, so it may already have happened`
  if (tool?.onUnknown === 'ask')
    return { ask: `${message}. Approve to run it again; reject if it must not be repeated.` }
  return {
    outcome: unknown(
      `${message}; find out before you ask for it again`,
      found && !found.outcome.ok ? found.outcome.failure : undefined,
    ),
  }
}

/**
 * Until its deadline and for a lease after it, the host where it began may be at work on it, or on its way to
 * tell. By our own clock: one that is wrong makes the wait a lease at least, and the whole limit and a lease at most.
 */
async function receiptTime({ clock, leaseMs }: Services, job: CallJob): Promise<void> {
  if (leaseMs === 0) return
  const { limitMs = 0, beganAt = clock.now() } = job.begun
  const leftMs = Math.min(Math.max(beganAt + limitMs - clock.now(), 0), limitMs)
  await pauseBeforeRetry(clock, leftMs + leaseMs, job.cancel)
}

/** What dies twice is not tried for ever. */
async function onceMore({ pool }: Services, job: CallJob): Promise<Returned> {
  job.acting = true
  const returned = await pool.run(job)
  const { outcome } = returned
  if (outcome.ok || outcome.failure.code !== 'WORKER_CRASHED') return returned
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

async function keptAtLast(
  { clock }: Services,
  { cancel }: CallJob,
  keep: () => Landed | Promise<Landed>,
): Promise<Landed> {
  for (;;) {
    try {
      return await keep()
    } catch (thrown) {
      if (cancel.reason) throw thrown
      await pauseBeforeRetry(clock, againMs, cancel)
    }
  }
}

/** A promise only where something is to be stored or asked: most calls say nothing besides their outcome. */
function toLanded(
  means: Services,
  job: CallJob,
  { returned: given, slot, index }: { returned: Returned; slot: Slot; index: number },
): Landed | Promise<Landed> {
  const redactor = means.envs.redactor(job.state)
  const returned = redactor ? maskReturned(redactor, given) : given
  const { contents, queued, media, outcome } = returned
  const keep = job.definition?.retention === 'keep' || slot.call.session?.message !== undefined
  if (!contents && !queued && !media && !isLong(outcome, keep)) return landedOf(means, slot, { returned })
  return keepAll(means, job, { returned, slot, index, keep })
}

async function keepAll(
  means: Services,
  job: CallJob,
  { returned, slot, index, keep }: { returned: Returned; slot: Slot; index: number; keep: boolean },
): Promise<Landed> {
  const { outcome, contents, queued, media: given } = returned
  if (contents) await Promise.all(contents.map(({ bytes }) => means.blobs.put(bytes)))
  const media =
    given &&
    (await Promise.all(given.map(async ({ mediaType, bytes }) => ({ mediaType, ...(await means.blobs.put(bytes)) }))))
  const calls =
    queued &&
    (await Promise.all(
      queued.map((asked) =>
        recordCall(means, { threadId: job.threadId, allowed: new Set(job.definition?.uses) }, asked),
      ),
    ))
  const kept = isLong(outcome, keep) ? await archived(means.blobs, outcome, callId(job.state.step, index)) : undefined
  return landedOf(means, slot, { returned, ...defined({ kept, calls, media }) })
}

interface Kept {
  readonly returned: Returned
  /** Of a long outcome. */
  readonly kept?: { readonly outcome: Outcome; readonly text: string }
  readonly calls?: readonly RecordedCall[]
  readonly media?: readonly Media[]
}

function landedOf(means: Services, slot: Slot, { returned, kept, calls, media }: Kept): Landed {
  const { outcome, reads, changes, messages, attached, told, preliminaries } = returned
  const text = returned.text ?? kept?.text
  return {
    outcome: kept?.outcome ?? outcome,
    ...(slot.again && { again: true }),
    ...defined({ text }),
    ...defined({ media }),
    // Only a call that ran before its turn can have seen what is not so any more.
    ...(reads && slot.call.ahead && !slot.again && { reads }),
    ...(changes && { changes, ...(changes.files && means.quota) }),
    ...defined({ queued: calls }),
    ...defined({ messages }),
    ...defined({ attached }),
    ...defined({ told }),
    ...defined({ preliminaries }),
  }
}
