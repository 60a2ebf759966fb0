/**
 * One attempt to run a call on a worker thread, from the queue for a place until nothing of it is left.
 *
 * AO1 It is settled once, by whatever comes first: an answer, the death of its thread, or an end that came before it began.
 * AO2 An end is told to the body; a body that has begun and goes on past the grace costs its thread.
 * AO3 An answer counts when everything that the body said before it has been heard (PP2).
 * AO4 A call that waits at its desk longer than one turn of the event loop has no place meanwhile, and its time stands still.
 * AO5 A call that is taken back has not begun and never begins on that thread (WT1); the attempt is over, the call is not.
 */
import type { ToolDefinition } from '../agent/define.js'
import type { Clock } from '../core/clock.js'
import { failure, isSkeinError, toFailure } from '../core/failure.js'
import type { Failure } from '../core/failure.js'
import { isObject } from '../core/json.js'
import { createClerk } from './clerk.js'
import type { Clerk } from './clerk.js'
import type { Places } from './places.js'
import type { Job, NewContent, Returned, Snapshot } from './port.js'
import type { Listener, WorkerThread } from './thread.js'
import { createTimeLimit } from './time-limit.js'
import type { TimeLimit } from './time-limit.js'
import type { Answer, FromThread, ToThread, WorkerTask } from './wire.js'

/** What became of a thread before the call was over. */
export interface Death {
  readonly died: string
  /** False: the body has done nothing. */
  readonly begun: boolean
  /** Others had begun on the same thread, so that any of them may have been the cause. */
  readonly company: boolean
}

/** It was taken back from its thread. */
export interface Taken {
  readonly taken: true
}

export type Attempted = Returned | Death | Taken

export interface AttemptMeans {
  readonly clock: Clock
  readonly graceMs: number
  readonly places: Places<WorkerThread>
}

function toTask(job: Job, timed: boolean): WorkerTask {
  const { tool, args, threadId, idempotencyKey, hasParent, run, env, secrets } = job
  const { given } = job.desk
  return {
    call: 0,
    tool,
    args,
    threadId,
    idempotencyKey,
    ...(hasParent && { hasParent }),
    ...(run.part !== 'execute' && { run }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(secrets.length > 0 && { secrets }),
    ...(given && { given }),
    ...(timed && { timed }),
  }
}

export class Attempt implements Listener {
  readonly #task: WorkerTask
  readonly #result: Promise<Attempted>
  readonly #job: Job
  readonly #tool: ToolDefinition | undefined
  readonly #means: AttemptMeans
  readonly #contents: NewContent[] = []
  readonly #stops: (() => void)[] = []
  #settle: (result: Attempted) => void = () => undefined
  #settled = false
  #thread: WorkerThread | undefined
  #placed = false
  #wanted = false
  #ended: Failure | undefined
  #limit: TimeLimit | undefined
  #clerk: Clerk | undefined
  #answer: Answer | undefined
  #heard = 0

  constructor(job: Job, tool: ToolDefinition | undefined, means: AttemptMeans) {
    this.#job = job
    this.#tool = tool
    this.#means = means
    this.#task = toTask(job, tool?.timeoutMs !== undefined)
    this.#result = new Promise((resolve) => (this.#settle = resolve))
  }

  /** `again`: it had a thread before. */
  begin(again: boolean): Promise<Attempted> {
    const { cancel } = this.#job
    this.#stops.push(cancel.onAbort((reason) => this.#end(toFailure(reason, 'CANCELLED'))))
    if (!cancel.reason) this.#stops.push(this.#means.places.enter((thread) => this.#start(thread), again))
    return this.#result
  }

  #start(thread: WorkerThread | undefined): void {
    if (!thread) return this.die('the pool was closed')
    this.#thread = thread
    this.#placed = true
    this.#task.call = thread.number()
    thread.calls.set(this.#task.call, this)
    if (this.#task.secrets) thread.secrets.add(this.#task.secrets)
    thread.run(this.#task).then(
      (answer) => this.#answered(answer),
      (thrown: unknown) => this.die(thread.causeOf(thrown)),
    )
  }

  /** The time of a body runs from its beginning. */
  #startTime(): void {
    const timeoutMs = this.#tool?.timeoutMs
    if (timeoutMs === undefined || this.#limit || this.#settled) return
    const limit = createTimeLimit(this.#means.clock, timeoutMs, () => this.#end(failure('TOOL_TIMED_OUT', `${this.#task.tool} did not finish within ${timeoutMs} ms`)))
    this.#limit = limit
    this.#stops.push(limit.stop)
  }

  hear(message: FromThread): void {
    if ('question' in message) return void this.#reply(message)
    if ('begins' in message) return this.#startTime()
    if ('said' in message) this.#job.said(message.said)
    else if ('content' in message) this.#contents.push(message.content)
    this.#heard++
    if (this.#answer) this.#answered(this.#answer)
  }

  shut(): void {
    if (this.#answer) this.#answered({ ...this.#answer, posted: 0 })
  }

  die(why: string): void {
    // What is missing of it is on the line, which is closed after the last word.
    if (this.#answer) return
    const thread = this.#thread
    const begun = thread?.begun(this.#task.call) ?? false
    if (this.#ended) this.#over({ outcome: { ok: false, failure: this.#ended } })
    else this.#over({ died: thread?.doom ?? why, begun, company: thread?.company ?? false })
  }

  /** AO5. Where it turns out that it may have begun, its answer says whether it has. */
  takeBack(): void {
    const thread = this.#thread
    if (!thread || this.#ended || this.#wanted) return
    if (thread.begun(this.#task.call)) return
    this.#wanted = true
    thread.post({ call: this.#task.call, taken: true })
    if (!thread.begun(this.#task.call)) this.#over({ taken: true })
  }

  #answered(answer: Answer): void {
    this.#answer = answer
    if (this.#ended) this.#over({ outcome: { ok: false, failure: this.#ended } })
    else if (answer.taken) this.#over({ taken: true })
    else if (this.#heard >= answer.posted) this.#over(this.#contents.length > 0 ? { ...answer.returned, contents: this.#contents } : answer.returned)
  }

  #end(why: Failure): void {
    if (this.#ended || this.#settled) return
    this.#ended = why
    const thread = this.#thread
    if (!thread) return this.#over({ outcome: { ok: false, failure: why } })
    thread.post({ call: this.#task.call, ended: why })
    const { clock, graceMs } = this.#means
    this.#stops.push(clock.wakeAt(clock.now() + graceMs, () => this.#lose(thread)))
  }

  /** AO2. */
  #lose(thread: WorkerThread): void {
    // WT1: it never will begin.
    if (!thread.begun(this.#task.call)) return this.die('it was ended before it began')
    thread.doom ??= `${this.#task.tool}, which ran on it, did not end when it was told to`
    thread.kill()
  }

  async #reply({ call, id, question }: Extract<FromThread, { question: unknown }>): Promise<void> {
    const clerk = (this.#clerk ??= createClerk(this.#job.desk, (opening) => this.#stepAside(opening)))
    let reply: ToThread
    let move: readonly ArrayBuffer[] | undefined
    try {
      const answer = await clerk.answer(id, question)
      reply = { call, id, gets: answer.gets }
      move = answer.move
    } catch (thrown) {
      const errno = !isSkeinError(thrown) && isObject(thrown) && typeof thrown['code'] === 'string' ? thrown['code'] : undefined
      reply = { call, id, failure: toFailure(thrown, 'TOOL_FAILED'), ...(errno !== undefined && { errno }) }
    }
    if (!this.#settled) this.#thread?.post(reply, move)
  }

  /** AO4. */
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
      if (this.#settled || !this.#thread) return resolve()
      const withdraw = this.#means.places.comeBack(this.#thread, () => {
        this.#placed = true
        resolve()
      })
      this.#stops.push(withdraw)
    })
  }

  #leave(): void {
    if (!this.#placed || !this.#thread) return
    this.#placed = false
    this.#means.places.leave(this.#thread)
  }

  /** AO1. */
  #over(result: Attempted): void {
    if (this.#settled) return
    this.#settled = true
    for (const stop of this.#stops) stop()
    this.#clerk?.close()
    this.#thread?.calls.delete(this.#task.call)
    this.#settle(result)
    this.#leave()
  }
}
