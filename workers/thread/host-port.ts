/**
 * A worker's connection to its host, shared by all calls in the process: tasks, questions and answers, output of
 * bodies, and the order to end a call.
 *
 * - A call that was ended or withdrawn before it began does not begin, however late the worker gets to it (WT1).
 * - A call that is ended waits for nothing any more: its pending questions are rejected with the reason.
 * - After a call is over nothing more of it is sent, and its pending questions stay unanswered.
 * - Messages are written synchronously, and an answer before the next body begins or the event loop turns: the host
 *   gets them even if the process dies of what comes next.
 */
import { Buffer } from 'node:buffer'
import { writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { createCancel } from '../../src/core/async/cancel.js'
import type { Cancel } from '../../src/core/async/cancel.js'
import { fromFailure } from '../../src/core/failure.js'
import type { Failure } from '../../src/core/failure.js'
import { createFrameDecoder, encodeBinaryFrame } from '../../src/pool/processes/frames.js'
import type { NewContent, Returned, ToolOutput } from '../../src/pool/port.js'
import { channel } from '../../src/pool/processes/wire.js'
import type { FromWorker, WorkerQuestions, ToWorker, Topic, WorkerTask } from '../../src/pool/processes/wire.js'
import { tryBegin } from './control.js'

type Post = (message: FromWorker, bytes?: Uint8Array) => void

interface PendingQuestion {
  resolve(answer: unknown): void
  reject(error: Error): void
}

/** One call's end of the connection, from the arrival of its task until it is over. */
export class CallPort {
  readonly cancel: Cancel = createCancel()
  /** Its number on this worker. */
  readonly call: number
  /** Why the host ended it. */
  ended: Failure | undefined
  /** The call is over. */
  closed = false
  readonly #post: Post
  readonly #pending = new Map<number, PendingQuestion>()
  #questions = 0

  constructor(call: number, post: Post) {
    this.call = call
    this.#post = post
  }

  emit(output: ToolOutput): void {
    if (!this.closed) this.#post({ call: this.call, output })
  }

  sendContent({ hash, bytes }: NewContent): void {
    this.#post({ call: this.call, content: { hash } }, bytes)
  }

  /** Returns the number of the question besides its answer: streams and stores are known by it. */
  ask<Each extends Topic>(
    topic: Each,
    asks: WorkerQuestions[Each]['asks'],
    bytes?: Uint8Array,
  ): { readonly id: number; readonly answer: Promise<WorkerQuestions[Each]['gets']> } {
    const id = ++this.#questions
    const answer = new Promise<WorkerQuestions[Each]['gets']>((resolve, reject) => {
      if (this.ended) return reject(fromFailure(this.ended))
      if (this.closed) return
      this.#pending.set(id, { resolve: (value) => resolve(value as WorkerQuestions[Each]['gets']), reject })
      this.#post(
        {
          call: this.call,
          id,
          question: { topic, ...asks } as Extract<FromWorker, { question: unknown }>['question'],
        },
        bytes,
      )
    })
    return { id, answer }
  }

  receive(message: Exclude<ToWorker, { readonly task: WorkerTask }>, bytes: Uint8Array | undefined): void {
    if ('ended' in message) return this.end(message.ended)
    const question = this.#pending.get(message.id)
    this.#pending.delete(message.id)
    if ('failure' in message) question?.reject(toError(message))
    else question?.resolve(bytes ?? message.answer)
  }

  end(reason: Failure): void {
    if (this.ended) return
    this.ended = reason
    const error = fromFailure(reason)
    this.cancel.abort(error)
    for (const question of this.#pending.values()) question.reject(error)
    this.#pending.clear()
  }

  close(): void {
    this.closed = true
    this.#pending.clear()
  }
}

function toError({ failure, errno }: Extract<ToWorker, { readonly failure: Failure }>): Error {
  return errno === undefined ? fromFailure(failure) : Object.assign(new Error(failure.message), { code: errno })
}

export interface HostPort {
  /** Whether the body may begin: nobody has ended the call or withdrawn it. Reports it to the host if required. */
  begin(task: WorkerTask, port: CallPort): boolean
  end(port: CallPort): void
  post: Post
  /** Written together with the results of other calls that end in this turn of the event loop. */
  postResult(call: number, returned: Returned): void
}

/** Sends the hello. `onTask` is called for each call that arrives. */
export function createHostPort(numbers: Int32Array, onTask: (task: WorkerTask, port: CallPort) => void): HostPort {
  const ports = new Map<number, CallPort>()
  let results: Buffer[] = []
  const flush = (): void => {
    if (results.length === 0) return
    write(results.length === 1 && results[0] ? results[0] : Buffer.concat(results))
    results = []
  }
  const post: Post = (message, bytes) => {
    flush()
    write(encodeBinaryFrame(message, bytes))
    if (bytes) write(bytes)
  }
  const down = new Socket({ fd: channel.down, readable: true, writable: false })
  down.on(
    'data',
    createFrameDecoder((decoded, bytes) => {
      const message = decoded as ToWorker
      if (!('task' in message)) return ports.get(message.call)?.receive(message, bytes)
      const port = new CallPort(message.call, post)
      ports.set(message.call, port)
      onTask(message.task, port)
    }),
  )
  post({ call: 0, hello: true })
  return {
    post,
    postResult(call, returned) {
      results.push(encodeBinaryFrame({ call, returned } satisfies FromWorker))
      if (results.length === 1) process.nextTick(flush)
    },
    begin({ call, reportsBegin }, port) {
      flush()
      if (port.ended || !tryBegin(numbers, call)) return false
      if (reportsBegin) post({ call, begins: true })
      return true
    },
    end(port) {
      port.close()
      ports.delete(port.call)
    },
  }
}

/** Blocks while the pipe is full: a host that does not read yet is waited for. */
function write(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength;) at += writeSync(channel.up, bytes, at)
}
