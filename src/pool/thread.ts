/**
 * A worker thread as the host knows it: its port, the calls it was handed, and what it can be asked without its help.
 *
 * WT1 A call has begun if and only if `begun` says so, also when the thread is busy or has died: the thread notes it before
 *     it looks whether the call was ended, so a call that had not begun when it was ended never begins.
 */
import type { MessagePort } from 'node:worker_threads'
import { createSeat } from './places.js'
import type { Seat } from './places.js'
import { control } from './wire.js'
import type { FromThread, Hello, ToThread } from './wire.js'

export interface Listener {
  hear(message: FromThread): void
  /** Nothing more will be heard. */
  shut(): void
}

export class WorkerThread {
  readonly id: number
  readonly seat: Seat = createSeat()
  readonly calls = new Map<number, Listener>()
  /** Why the host ended it. */
  doom: string | undefined
  /** It may be innocent: another thread was as suspect. */
  shared = false
  #port: MessagePort | undefined
  #numbers: Int32Array = new Int32Array(control.length)
  /** For a thread that has not said hello yet. */
  #waiting: ToThread[] = []
  #handed = 0
  #atDeath: number | undefined

  constructor(id: number) {
    this.id = id
  }

  get started(): boolean {
    return this.#port !== undefined
  }

  greet({ port, control: shared }: Hello): void {
    this.#port = port
    this.#numbers = new Int32Array(shared)
    port.on('message', (message: FromThread) => this.calls.get(message.call)?.hear(message))
    port.on('close', () => {
      for (const call of this.calls.values()) call.shut()
    })
    // Calls keep the process alive, a thread does not.
    port.unref()
    for (const message of this.#waiting.splice(0)) this.post(message)
  }

  /** Number of the next call that is handed to the thread (WI1). */
  number(): number {
    return ++this.#handed
  }

  post(message: ToThread, move: readonly ArrayBuffer[] = []): void {
    if (this.#port) this.#port.postMessage(message, [...move])
    else this.#waiting.push(message)
  }

  begun(call: number): boolean {
    return Atomics.load(this.#numbers, control.begun) >= call
  }

  /** Once it has died: any of several may have been the cause. The same for all who ask. */
  get company(): boolean {
    this.#atDeath ??= [...this.calls.keys()].filter((call) => this.begun(call)).length
    return this.shared || this.#atDeath > 1
  }

  /** Grows while the event loop turns. */
  get beat(): number {
    return Atomics.load(this.#numbers, control.beat)
  }

  get usedBytes(): number {
    return Atomics.load(this.#numbers, control.usedKb) * 1024
  }
}
