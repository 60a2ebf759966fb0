/**
 * One attempt to run a call on a worker, from the queue for a place until nothing of it is left there.
 *
 * - It is settled once, by whatever comes first: a result, the death of its worker, or an abort before it began.
 * - An abort or a time-out is sent to the body; a body that has begun and does not end within the grace costs its
 *   worker.
 * - A call that waits for its snapshot longer than one turn of the event loop gives its place back meanwhile, and its
 *   time limit is paused.
 * - A withdrawn call has not begun and never begins on that worker (WT1): the attempt is over, the call is not.
 */
import type { Clock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import { isSkeinError, toFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import type { CallLimit } from '../call-limit.js'
import { createSnapshotServer } from './snapshot-server.js'
import type { SnapshotServer } from './snapshot-server.js'
import type { Places } from './places.js'
import type { ToolJob, NewContent, Returned, Snapshot } from '../port.js'
import { createTimeLimit } from '../time-limit.js'
import type { TimeLimit } from '../time-limit.js'
import type { FromWorker, ToWorker, WorkerTask } from './wire.js'
import type { WorkerListener, Worker } from './worker.js'

/** The worker died before the call was over. */
export interface AttemptDeath {
  readonly died: string
  /** False: the body has done nothing. */
  readonly begun: boolean
  /** Others had begun on the same worker, so that each of them may have been the cause. */
  readonly shared: boolean
  /** Whether code of this call ended the worker; undefined if nobody knows. */
  readonly guilty: boolean | undefined
}

/** The call was taken back from its worker, to run on another. */
export interface WithdrawnAttempt {
  readonly withdrawn: true
}

export type AttemptResult = Returned | AttemptDeath | WithdrawnAttempt

type FromCall = Exclude<FromWorker, { readonly call: 0 }>

export interface AttemptServices {
  readonly clock: Clock
  readonly graceMs: number
  readonly places: Places<Worker>
}

/** A call for a worker. */
export interface WorkerCall {
  readonly job: ToolJob
  /** Whether it acts on the world outside its thread. */
  readonly acts: boolean
  readonly limit: CallLimit | undefined
}

/** Of a shorter time limit, the way to the worker would be a large part: it runs from the begin of the body. */
const shortMs = 5_000

function toTask(job: ToolJob, reportsBegin: boolean): WorkerTask {
  const { tool, args, threadId, idempotencyKey, hasParent, run, env, secrets, trace } = job
  const { contexts } = job.snapshot
  return {
    call: 0,
    tool,
    args,
    threadId,
    idempotencyKey,
    ...(run.part !== 'execute' && { run }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(secrets.length > 0 && { secrets }),
    ...defined({ contexts, trace, hasParent: hasParent || undefined, reportsBegin: reportsBegin || undefined }),
  }
}

export class CallAttempt implements WorkerListener {
  readonly #task: WorkerTask
  readonly #result: Promise<AttemptResult>
  readonly #job: ToolJob
  readonly #callLimit: CallLimit | undefined
  readonly #services: AttemptServices
  readonly #contents: NewContent[] = []
  /** Called when the attempt is settled. */
  readonly #cleanups: (() => void)[] = []
  #resolve: (result: AttemptResult) => void = () => undefined
  #settled = false
  #worker: Worker | undefined
  #hasPlace = false
  #withdrawing = false
  /** Why the call must end, once it must. */
  #endedBy: Failure | undefined
  #timeLimit: TimeLimit | undefined
  #snapshots: SnapshotServer | undefined
  /** Since when it waits for a place. */
  #waitsSince: number

  constructor({ job, limit, acts }: WorkerCall, services: AttemptServices) {
    this.#job = job
    this.#callLimit = limit
    this.#services = services
    this.#waitsSince = services.clock.now()
    this.#task = toTask(job, acts || this.#isShort)
    this.#result = new Promise((resolve) => (this.#resolve = resolve))
  }

  /** `again`: the call had a worker before. */
  begin(again: boolean): Promise<AttemptResult> {
    const { cancel, shares } = this.#job
    this.#cleanups.push(cancel.onAbort((reason) => this.#end(toFailure(reason, 'CANCELLED'))))
    if (!cancel.reason) this.#cleanups.push(this.#services.places.enter((worker) => this.#start(worker), again, shares))
    return this.#result
  }

  #start(worker: Worker | undefined): void {
    if (!worker) return this.die('the pool was closed')
    this.#worker = worker
    this.#hasPlace = true
    if (worker.loaded) this.#tellWait()
    else void worker.loading.then(() => this.#tellWait())
    this.#task.call = worker.nextCallNumber()
    worker.addCall(this.#task.call, this)
    if (this.#task.secrets) worker.secrets.add(this.#task.secrets)
    worker.post({ call: this.#task.call, task: this.#task })
    if (this.#isShort) return
    if (worker.loaded) this.#startTimeLimit()
    else if (this.#callLimit) void worker.loading.then(() => this.#startTimeLimit())
  }

  /** The wait for a place and for a worker that has loaded the app is over. */
  #tellWait(): void {
    this.#job.waited?.(this.#services.clock.now() - this.#waitsSince)
  }

  get #isShort(): boolean {
    return this.#callLimit !== undefined && this.#callLimit.ms < shortMs
  }

  /** From when the body can begin. A call that is withdrawn starts anew elsewhere. */
  #startTimeLimit(): void {
    const limit = this.#callLimit
    if (!limit || this.#timeLimit || this.#settled) return
    this.#timeLimit = createTimeLimit(this.#services.clock, limit.ms, () => void this.#timeOut(limit.late))
    this.#cleanups.push(this.#timeLimit.stop)
  }

  async #timeOut(late: Failure): Promise<void> {
    if (await this.#worker?.withdraw(this.#task.call)) this.#settleWithdrawn()
    else this.#end(late)
  }

  receive(message: FromCall, bytes: Uint8Array<ArrayBuffer> | undefined): void {
    if ('begins' in message) return this.#startTimeLimit()
    if ('question' in message) void this.#answer(message, bytes)
    else if ('output' in message) this.#job.emit(message.output)
    else if ('content' in message) this.#contents.push({ ...message.content, bytes: bytes ?? new Uint8Array() })
    else this.#settleReturned(message.returned)
  }

  die(cause: string): void {
    const worker = this.#worker
    const failure = this.#endedBy ?? worker?.loadFailure
    if (failure) return this.#settleFailed(failure)
    const { call } = this.#task
    this.#settle({
      died: worker?.killedBecause ?? cause,
      begun: worker?.begun(call) ?? false,
      shared: worker?.wasShared ?? false,
      guilty: worker?.wasEndedBy(call),
    })
  }

  takeBack(): void {
    const worker = this.#worker
    if (!worker || this.#endedBy || this.#withdrawing) return
    this.#withdrawing = true
    void worker.withdraw(this.#task.call).then((withdrawn) => withdrawn && this.#settleWithdrawn())
  }

  #settleWithdrawn(): void {
    if (this.#endedBy) this.#settleFailed(this.#endedBy)
    else this.#settle({ withdrawn: true })
  }

  #settleReturned(returned: Returned): void {
    if (this.#endedBy) this.#settleFailed(this.#endedBy)
    else this.#settle(this.#contents.length > 0 ? { ...returned, contents: this.#contents } : returned)
  }

  #settleFailed(failure: Failure): void {
    this.#settle({ outcome: { ok: false, failure } })
  }

  #end(reason: Failure): void {
    if (this.#endedBy || this.#settled) return
    this.#endedBy = reason
    const worker = this.#worker
    if (!worker) return this.#settleFailed(reason)
    worker.post({ call: this.#task.call, ended: reason })
    const { clock, graceMs } = this.#services
    this.#cleanups.push(clock.wakeAt(clock.now() + graceMs, () => void this.#endWorker(worker)))
  }

  async #endWorker(worker: Worker): Promise<void> {
    const { call, tool } = this.#task
    // WT1: a withdrawn call never begins, so its worker may live on.
    if (await worker.withdraw(call)) this.die('it was ended before it began')
    else if (!this.#settled) worker.kill(`${tool}, which ran on it, did not end when it was told to`, call)
  }

  async #answer(
    { call, id, question }: Extract<FromWorker, { question: unknown }>,
    bytes: Uint8Array | undefined,
  ): Promise<void> {
    this.#snapshots ??= createSnapshotServer(this.#job.snapshot, (opening) => this.#stepAside(opening))
    let reply: ToWorker
    let replyBytes: Uint8Array | undefined
    try {
      const answer = await this.#snapshots.answer(id, question, bytes)
      replyBytes = answer.bytes
      reply = { call, id, ...defined({ answer: answer.value }) }
    } catch (thrown) {
      const errno =
        !isSkeinError(thrown) && isObject(thrown) && typeof thrown['code'] === 'string' ? thrown['code'] : undefined
      reply = { call, id, failure: toFailure(thrown, 'TOOL_FAILED'), ...defined({ errno }) }
    }
    if (!this.#settled) this.#worker?.post(reply, replyBytes)
  }

  async #stepAside(opening: Promise<Snapshot>): Promise<Snapshot> {
    this.#timeLimit?.pause()
    const leaving = setImmediate(() => this.#leavePlace())
    try {
      return await opening
    } finally {
      clearImmediate(leaving)
      if (!this.#hasPlace) await this.#returnToPlace()
      this.#timeLimit?.resume()
    }
  }

  #returnToPlace(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#settled || !this.#worker) return resolve()
      this.#waitsSince = this.#services.clock.now()
      const proceed = (): void => {
        this.#hasPlace = true
        this.#tellWait()
        resolve()
      }
      this.#cleanups.push(this.#services.places.comeBack(this.#worker, proceed, this.#job.shares))
    })
  }

  #leavePlace(): void {
    if (!this.#hasPlace || !this.#worker) return
    this.#hasPlace = false
    this.#services.places.leave(this.#worker, this.#job.shares)
  }

  #settle(result: AttemptResult): void {
    if (this.#settled) return
    this.#settled = true
    for (const cleanup of this.#cleanups) cleanup()
    this.#snapshots?.close()
    this.#worker?.removeCall(this.#task.call)
    this.#resolve(result)
    this.#leavePlace()
  }
}
