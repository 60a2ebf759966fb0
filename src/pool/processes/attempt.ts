/**
 * One attempt to run a call on a worker, from the queue for a place until nothing of it is left.
 *
 * - It is settled once, by whatever comes first: an answer, the death of its worker, or an end that came before it
 *   began.
 * - An end is told to the body; a body that has begun and goes on past the grace costs its worker.
 * - A call that waits at its desk longer than one turn of the event loop has no place meanwhile, and its time
 *   stands still.
 * - A call that is taken back has not begun and never begins on that worker (WT1); the attempt is over, the call is
 *   not.
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

/** What became of a worker before the call was over. */
export interface AttemptDeath {
  readonly died: string
  /** False: the body has done nothing. */
  readonly begun: boolean
  /** Others had begun on the same worker, so that any of them may have been the cause. */
  readonly company: boolean
}

/** It was taken back from its worker. */
export interface TakenWorker {
  readonly taken: true
}

export type AttemptResult = Returned | AttemptDeath | TakenWorker

type FromCall = Exclude<FromWorker, { readonly call: 0 }>

export interface AttemptServices {
  readonly clock: Clock
  readonly graceMs: number
  readonly places: Places<Worker>
}

function toTask(job: ToolJob, tells: boolean): WorkerTask {
  const { tool, args, threadId, idempotencyKey, hasParent, run, env, secrets } = job
  const { contexts: given } = job.snapshot
  return {
    call: 0,
    tool,
    args,
    threadId,
    idempotencyKey,
    ...defined({ hasParent: hasParent || undefined }),
    ...(run.part !== 'execute' && { run }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(secrets.length > 0 && { secrets }),
    ...defined({ given }),
    ...defined({ tells: tells || undefined }),
  }
}

/** A call for a worker. */
export interface WorkerCall {
  readonly job: ToolJob
  /** Whether it acts on the world outside its thread. */
  readonly acts: boolean
  readonly limit: CallLimit | undefined
}

/** Below that the beginning of a body is told, and its time runs from there. */
const shortMs = 5_000

export class CallAttempt implements WorkerListener {
  readonly #task: WorkerTask
  readonly #result: Promise<AttemptResult>
  readonly #job: ToolJob
  readonly #allowed: CallLimit | undefined
  readonly #means: AttemptServices
  readonly #contents: NewContent[] = []
  readonly #stops: (() => void)[] = []
  #settle: (result: AttemptResult) => void = () => undefined
  #settled = false
  #worker: Worker | undefined
  #placed = false
  #wanted = false
  #ended: Failure | undefined
  #limit: TimeLimit | undefined
  #clerk: SnapshotServer | undefined

  constructor({ job, limit, acts }: WorkerCall, means: AttemptServices) {
    this.#job = job
    this.#allowed = limit
    this.#means = means
    this.#task = toTask(job, acts || this.#isShort)
    this.#result = new Promise((resolve) => (this.#settle = resolve))
  }

  /** `again`: it had a worker before. */
  begin(again: boolean): Promise<AttemptResult> {
    const { cancel } = this.#job
    this.#stops.push(cancel.onAbort((reason) => this.#end(toFailure(reason, 'CANCELLED'))))
    if (!cancel.reason)
      this.#stops.push(this.#means.places.enter((worker) => this.#start(worker), again, this.#job.shares))
    return this.#result
  }

  #start(worker: Worker | undefined): void {
    if (!worker) return this.die('the pool was closed')
    this.#worker = worker
    this.#placed = true
    this.#task.call = worker.nextCallNumber()
    worker.addCall(this.#task.call, this)
    if (this.#task.secrets) worker.secrets.add(this.#task.secrets)
    worker.post({ call: this.#task.call, task: this.#task })
    // Of a short time it would be much that the worker takes to get to it.
    if (this.#isShort) return
    if (worker.loaded) this.#startTime()
    else if (this.#allowed) void worker.loading.then(() => this.#startTime())
  }

  get #isShort(): boolean {
    return this.#allowed !== undefined && this.#allowed.ms < shortMs
  }

  /** From when it can begin. Where it has waited behind a body that computes, its time begins anew elsewhere. */
  #startTime(): void {
    const allowed = this.#allowed
    if (!allowed || this.#limit || this.#settled) return
    const limit = createTimeLimit(this.#means.clock, allowed.ms, () => void this.#late(allowed.late))
    this.#limit = limit
    this.#stops.push(limit.stop)
  }

  async #late(why: Failure): Promise<void> {
    if (await this.#worker?.withdraw(this.#task.call)) this.#withdrawn()
    else this.#end(why)
  }

  receive(message: FromCall, bytes: Uint8Array<ArrayBuffer> | undefined): void {
    if ('begins' in message) return this.#startTime()
    if ('question' in message) void this.#reply(message, bytes)
    else if ('said' in message) this.#job.emit(message.said)
    else if ('content' in message) this.#contents.push({ ...message.content, bytes: bytes ?? new Uint8Array() })
    else this.#answered(message.returned)
  }

  die(why: string): void {
    const worker = this.#worker
    if (this.#ended) this.#over({ outcome: { ok: false, failure: this.#ended } })
    else
      this.#over({
        died: worker?.killedBecause ?? why,
        begun: worker?.begun(this.#task.call) ?? false,
        company: worker?.company ?? false,
      })
  }

  takeBack(): void {
    const worker = this.#worker
    if (!worker || this.#ended || this.#wanted) return
    this.#wanted = true
    void worker.withdraw(this.#task.call).then((withdrawn) => withdrawn && this.#withdrawn())
  }

  #withdrawn(): void {
    if (this.#ended) this.#over({ outcome: { ok: false, failure: this.#ended } })
    else this.#over({ taken: true })
  }

  #answered(returned: Returned): void {
    if (this.#ended) this.#over({ outcome: { ok: false, failure: this.#ended } })
    else this.#over(this.#contents.length > 0 ? { ...returned, contents: this.#contents } : returned)
  }

  #end(why: Failure): void {
    if (this.#ended || this.#settled) return
    this.#ended = why
    const worker = this.#worker
    if (!worker) return this.#over({ outcome: { ok: false, failure: why } })
    worker.post({ call: this.#task.call, ended: why })
    const { clock, graceMs } = this.#means
    this.#stops.push(clock.wakeAt(clock.now() + graceMs, () => void this.#lose(worker)))
  }

  async #lose(worker: Worker): Promise<void> {
    // WT1: it never will begin.
    if (await worker.withdraw(this.#task.call)) this.die('it was ended before it began')
    else if (!this.#settled) worker.kill(`${this.#task.tool}, which ran on it, did not end when it was told to`)
  }

  async #reply(
    { call, id, question }: Extract<FromWorker, { question: unknown }>,
    bytes: Uint8Array | undefined,
  ): Promise<void> {
    const clerk = (this.#clerk ??= createSnapshotServer(this.#job.snapshot, (opening) => this.#stepAside(opening)))
    let reply: ToWorker
    let given: Uint8Array | undefined
    try {
      const answer = await clerk.answer(id, question, bytes)
      given = answer.bytes
      reply = { call, id, ...(answer.value !== undefined && { gets: answer.value }) }
    } catch (thrown) {
      const errno =
        !isSkeinError(thrown) && isObject(thrown) && typeof thrown['code'] === 'string' ? thrown['code'] : undefined
      reply = { call, id, failure: toFailure(thrown, 'TOOL_FAILED'), ...defined({ errno }) }
    }
    if (!this.#settled) this.#worker?.post(reply, given)
  }

  async #stepAside(opening: Promise<Snapshot>): Promise<Snapshot> {
    this.#limit?.pause()
    const leaving = setImmediate(() => this.#leave())
    try {
      return await opening
    } finally {
      clearImmediate(leaving)
      if (!this.#placed) await this.#comeBack()
      this.#limit?.resume()
    }
  }

  #comeBack(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#settled || !this.#worker) return resolve()
      const goOn = (): void => {
        this.#placed = true
        resolve()
      }
      const withdraw = this.#means.places.comeBack(this.#worker, goOn, this.#job.shares)
      this.#stops.push(withdraw)
    })
  }

  #leave(): void {
    if (!this.#placed || !this.#worker) return
    this.#placed = false
    this.#means.places.leave(this.#worker, this.#job.shares)
  }

  #over(result: AttemptResult): void {
    if (this.#settled) return
    this.#settled = true
    for (const stop of this.#stops) stop()
    this.#clerk?.close()
    this.#worker?.removeCall(this.#task.call)
    this.#settle(result)
    this.#leave()
  }
}
