/**
 * A worker's line to its host, shared by all calls in the process: questions and answers, what bodies say, and the
 * word that a call must end.
 *
 * - A call that was ended or withdrawn before it began does not begin, however late the worker gets to it (WT1).
 * - A call that is ended waits for nothing any more: what it asked is refused with the reason.
 * - After a call is over nothing of it is said, and what it still waits for stays unanswered.
 * - What is said is written before anything else happens, an answer before the next body begins or the event loop
 *   turns: the host hears it also when the process dies of what comes next.
 */
import { Buffer } from 'node:buffer'
import { writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { createCancel } from '../../src/core/async/cancel.js'
import type { Cancel } from '../../src/core/async/cancel.js'
import { fromFailure } from '../../src/core/failure.js'
import type { Failure } from '../../src/core/failure.js'
import { createFrameDecoder, encodeFrame } from '../../src/pool/processes/frames.js'
import type { NewContent, Returned, ToolOutput } from '../../src/pool/port.js'
import { channel } from '../../src/pool/processes/wire.js'
import type { FromWorker, WorkerQuestions, ToWorker, Topic, WorkerTask } from '../../src/pool/processes/wire.js'
import { beginsIn } from './control.js'

type Post = (message: FromWorker, bytes?: Uint8Array) => void

interface Asked {
  answered(gets: unknown): void
  refused(error: Error): void
}

/** One call's end of the line. It arrives, and begins when its tool is there. */
export class CallPort {
  readonly cancel: Cancel = createCancel()
  ended: Failure | undefined
  readonly #call: number
  readonly #post: Post
  readonly #asked = new Map<number, Asked>()
  #questions = 0
  closed = false

  constructor(call: number, post: Post) {
    this.#call = call
    this.#post = post
  }

  emit(said: ToolOutput): void {
    if (!this.closed) this.#post({ call: this.#call, said })
  }

  sendContent({ hash, bytes }: NewContent): void {
    this.#post({ call: this.#call, content: { hash } }, bytes)
  }

  /** Gives the number of the question besides its answer: streams and stores are known by it. */
  ask<Each extends Topic>(
    topic: Each,
    asks: WorkerQuestions[Each]['asks'],
    bytes?: Uint8Array,
  ): { readonly id: number; readonly answer: Promise<WorkerQuestions[Each]['gets']> } {
    const id = ++this.#questions
    const answer = new Promise<WorkerQuestions[Each]['gets']>((resolve, reject) => {
      if (this.ended) return reject(fromFailure(this.ended))
      if (this.closed) return
      this.#asked.set(id, { answered: (gets) => resolve(gets as WorkerQuestions[Each]['gets']), refused: reject })
      this.#post(
        {
          call: this.#call,
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
    const asked = this.#asked.get(message.id)
    this.#asked.delete(message.id)
    if (!('failure' in message)) asked?.answered(bytes ?? message.gets)
    else
      asked?.refused(
        message.errno === undefined
          ? fromFailure(message.failure)
          : Object.assign(new Error(message.failure.message), { code: message.errno }),
      )
  }

  end(why: Failure): void {
    if (this.ended) return
    this.ended = why
    const reason = fromFailure(why)
    this.cancel.abort(reason)
    for (const { refused } of this.#asked.values()) refused(reason)
    this.#asked.clear()
  }

  close(): void {
    this.closed = true
    this.#asked.clear()
  }
}

export interface HostPort {
  /** Whether the body may begin: nobody has ended the call or withdrawn it. The host is told, if it wants to be. */
  begin(task: WorkerTask, line: CallPort): boolean
  end(call: number, line: CallPort): void
  post: Post
  /** Written with those of other calls that end in this turn. */
  answer(call: number, returned: Returned): void
}

/** Says hello. `arrived` is given each call. */
export function createHostPort(numbers: Int32Array, arrived: (task: WorkerTask, line: CallPort) => void): HostPort {
  const lines = new Map<number, CallPort>()
  let answers: Buffer[] = []
  const flush = (): void => {
    if (answers.length === 0) return
    write(answers.length === 1 && answers[0] ? answers[0] : Buffer.concat(answers))
    answers = []
  }
  const post: Post = (message, bytes) => {
    flush()
    write(encodeFrame(message, bytes))
    if (bytes) write(bytes)
  }
  const down = new Socket({ fd: channel.down, readable: true, writable: false })
  down.on(
    'data',
    createFrameDecoder((said, bytes) => {
      const message = said as ToWorker
      if (!('task' in message)) return lines.get(message.call)?.receive(message, bytes)
      const line = new CallPort(message.call, post)
      lines.set(message.call, line)
      arrived(message.task, line)
    }),
  )
  post({ call: 0, hello: true })
  return {
    post: post,
    answer(call, returned) {
      answers.push(encodeFrame({ call, returned } satisfies FromWorker))
      if (answers.length === 1) process.nextTick(flush)
    },
    begin({ call, reportsBegin: tells }, line) {
      flush()
      if (line.ended || !beginsIn(numbers, call)) return false
      if (tells) post({ call, begins: true })
      return true
    },
    end(call, line) {
      line.close()
      lines.delete(call)
    },
  }
}

/** The pipe takes what it can; a host that does not read is waited for. */
function write(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength;) at += writeSync(channel.up, bytes, at)
}
