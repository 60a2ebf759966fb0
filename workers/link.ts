/**
 * A worker thread's line to the host, shared by all calls on the thread: questions and answers, what bodies say, and the word
 * that a call must end.
 *
 * LI1 A call that was ended or taken back before it began does not begin, however late the thread gets to it: what waits on
 *     the line is read first (WT1).
 * LI2 A call that is ended waits for nothing any more: what it asked is refused with the reason.
 * LI3 After a call is over nothing of it is said, and what it still waits for stays unanswered.
 */
import { MessageChannel, parentPort, receiveMessageOnPort, threadId } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import { createCancel } from '../src/core/cancel.js'
import type { Cancel } from '../src/core/cancel.js'
import { fromFailure } from '../src/core/failure.js'
import type { Failure } from '../src/core/failure.js'
import type { NewContent, Said } from '../src/pool/port.js'
import { begunAt, controlLength } from '../src/pool/wire.js'
import type { FromThread, Hello, Questions, ToThread, Topic } from '../src/pool/wire.js'

interface Asked {
  answered(gets: unknown): void
  refused(error: Error): void
}

/** One call's end of the line. It arrives, and begins when its tool is there. */
export class Line {
  readonly cancel: Cancel = createCancel()
  ended: Failure | undefined
  /** Not to begin here. */
  taken = false
  begun = false
  /** One-way messages so far (PP2). */
  posted = 0
  readonly #call: number
  readonly #post: (message: FromThread, move?: readonly ArrayBuffer[]) => void
  readonly #asked = new Map<number, Asked>()
  #questions = 0
  over = false

  constructor(call: number, post: (message: FromThread, move?: readonly ArrayBuffer[]) => void) {
    this.#call = call
    this.#post = post
  }

  say(said: Said): void {
    if (this.over) return
    this.posted++
    this.#post({ call: this.#call, said })
  }

  begins(): void {
    this.#post({ call: this.#call, begins: true })
  }

  give(content: NewContent, move: readonly ArrayBuffer[]): void {
    this.posted++
    this.#post({ call: this.#call, content }, move)
  }

  /** Gives the number of the question besides its answer: streams and stores are known by it. */
  ask<Each extends Topic>(topic: Each, asks: Questions[Each]['asks'], move?: readonly ArrayBuffer[]): { readonly id: number; readonly answer: Promise<Questions[Each]['gets']> } {
    const id = ++this.#questions
    const answer = new Promise<Questions[Each]['gets']>((resolve, reject) => {
      if (this.ended) return reject(fromFailure(this.ended))
      if (this.over) return
      this.#asked.set(id, { answered: (gets) => resolve(gets as Questions[Each]['gets']), refused: reject })
      this.#post({ call: this.#call, id, question: { topic, ...asks } as Extract<FromThread, { question: unknown }>['question'] }, move)
    })
    return { id, answer }
  }

  hear(message: ToThread): void {
    if ('ended' in message) return this.end(message.ended)
    if ('taken' in message) return void (this.taken ||= !this.begun)
    const asked = this.#asked.get(message.id)
    this.#asked.delete(message.id)
    if (!('failure' in message)) asked?.answered(message.gets)
    else asked?.refused(message.errno === undefined ? fromFailure(message.failure) : Object.assign(new Error(message.failure.message), { code: message.errno }))
  }

  /** LI2. */
  end(why: Failure): void {
    if (this.ended) return
    this.ended = why
    const reason = fromFailure(why)
    this.cancel.abort(reason)
    for (const { refused } of this.#asked.values()) refused(reason)
    this.#asked.clear()
  }

  close(): void {
    this.over = true
    this.#asked.clear()
  }
}

export interface Link {
  arrive(call: number): Line
  /** Whether the body may begin: nobody has ended the call or taken it back. */
  begin(call: number, line: Line): boolean
  end(call: number, line: Line): void
  /** For the host itself. */
  print(text: string): void
  /** To be written by the thread's pulse. */
  readonly numbers: Int32Array
}

/** Says hello: to be made once in a thread, before it takes calls. */
export function createLink(): Link {
  const { port1: port, port2 } = new MessageChannel()
  const shared = new SharedArrayBuffer(controlLength * Int32Array.BYTES_PER_ELEMENT)
  const numbers = new Int32Array(shared)
  const lines = new Map<number, Line>()
  /** For calls that have not arrived. */
  const early = new Map<number, ToThread[]>()
  let latest = 0
  const post = (message: FromThread, move: readonly ArrayBuffer[] = []): void => port.postMessage(message, [...move])
  const hear = (message: ToThread): void => {
    const line = lines.get(message.call)
    if (line) line.hear(message)
    else if (message.call > latest) early.set(message.call, [...(early.get(message.call) ?? []), message])
  }
  port.on('message', hear)
  const hello: Hello = { hello: 'skein', thread: threadId, port: port2, control: shared }
  parentPort?.postMessage(hello, [port2])
  return {
    numbers,
    arrive(call) {
      latest = call
      const line = new Line(call, post)
      lines.set(call, line)
      for (const message of early.get(call) ?? []) line.hear(message)
      early.delete(call)
      return line
    },
    begin(call, line) {
      Atomics.store(numbers, begunAt(call), call)
      drain(port, hear) // LI1
      line.begun = !line.ended && !line.taken
      return line.begun
    },
    end(call, line) {
      line.close()
      lines.delete(call)
    },
    print: (printed) => post({ call: 0, printed }),
  }
}

function drain(port: MessagePort, hear: (message: ToThread) => void): void {
  for (let waiting = receiveMessageOnPort(port); waiting; waiting = receiveMessageOnPort(port)) hear(waiting.message)
}
