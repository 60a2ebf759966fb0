/**
 * The threads on which guests of this thread run. Owns how many there are, who shares one and when one is ended.
 *
 * - A run has a thread to itself while there are fewer than `mostThreads` at work; further ones share. So runs that
 *   wait for each other never wait for a thread.
 * - A thread that a run would not leave gets no further runs, and is ended when nobody waits for anything on it.
 * - An idle thread does not keep the process alive, and is ended after a while: its memory comes back.
 */
import { MessageChannel, Worker, receiveMessageOnPort } from 'node:worker_threads'
import { idleClock } from '../../src/core/clock.js'
import { textOf } from '../../src/core/json.js'
import { workerFile } from '../../src/tools/worker-url.js'
import { runEnded } from './reply.js'
import { trackGuestMemory } from './guest-memory.js'
import { compile } from './wasm.js'
import { counter, counterCount } from './wire.js'
import type { HostCall, ToGuest, GuestReply, GuestThreadData, FromGuest } from './wire.js'

const mostThreads = 4
const idleMs = 10_000
/** How long the next of many calls is waited for; the thread of the body does nothing else meanwhile. */
const nextCallMs = 0.1

export interface GuestListener {
  onMessage(word: Extract<FromGuest, { run: number }>): void
  onCall(call: HostCall): void
  /** The thread is gone. */
  onThreadEnd(why: string): void
}

/** How a run leaves its thread: `stuck` if it could not be made to. */
export type Leaving = 'gone' | 'stuck'

/** A run's place on a thread. */
export interface GuestPlace {
  readonly run: number
  /** Whether the thread hears at all: it may have just been started. */
  isReady(): boolean
  send(order: ToGuest): void
  reply(reply: GuestReply): void
  /** Another call of this run, if it comes at once. */
  nextCall(): HostCall | undefined
  leave(how: Leaving): void
}

let threads: GuestThread[] = []
let runs = 0

/** GH1. Listened to until it is left. */
export function takeGuestPlace(listener: GuestListener): GuestPlace {
  const open = threads.filter((thread) => !thread.stuck)
  const idle = open.find((thread) => thread.load === 0)
  if (idle) return idle.take(++runs, listener)
  if (open.length < mostThreads) {
    const thread = new GuestThread()
    threads.push(thread)
    return thread.take(++runs, listener)
  }
  return open.reduce((least, thread) => (thread.load < least.load ? thread : least)).take(++runs, listener)
}

class GuestThread {
  stuck = false
  #ready = false
  readonly #listeners = new Map<number, GuestListener>()
  readonly #worker: Worker
  readonly #channel = new MessageChannel()
  readonly #cells = new Int32Array(new SharedArrayBuffer(counterCount * Int32Array.BYTES_PER_ELEMENT))
  readonly #uncount = trackGuestMemory(this.#cells)
  #wake: () => void = () => undefined

  constructor() {
    const { port1, port2: calls } = this.#channel
    const workerData: GuestThreadData = { calls, counters: this.#cells }
    // Nothing of the process is its business: neither its variables nor what it was started with.
    this.#worker = new Worker(workerFile('sandbox/thread'), {
      workerData,
      transferList: [calls],
      env: {},
      execArgv: [],
      name: 'skein guests',
    })
    port1.on('message', (call: HostCall) => this.#called(call)).unref()
    this.#worker.on('message', (word: FromGuest) => this.#hear(word))
    this.#worker.on('error', (thrown) => this.#end(textOf(thrown)))
    this.#worker.on('exit', (code) => this.#end(`its thread exited with ${code}`))
    compile().then(
      (module) => this.#worker.postMessage({ type: 'engine', module } satisfies ToGuest),
      (thrown: unknown) => this.#end(textOf(thrown)),
    )
  }

  get load(): number {
    return this.#listeners.size
  }

  take(run: number, listener: GuestListener): GuestPlace {
    this.#wake()
    this.#listeners.set(run, listener)
    this.#worker.ref()
    return {
      run,
      isReady: () => this.#ready,
      send: (order) => this.#worker.postMessage(order),
      reply: (reply) => this.#reply(reply),
      nextCall: () => this.#nextCall(run),
      leave: (how) => this.#leave(run, how),
    }
  }

  #leave(run: number, how: Leaving): void {
    if (!this.#listeners.delete(run)) return
    if (how === 'stuck') this.stuck = true
    if (this.load > 0) return
    if (this.stuck) return this.#end('it was ended')
    this.#worker.unref()
    this.#wake = idleClock.wakeAt(idleClock.now() + idleMs, () => this.#end('it was idle'))
  }

  #hear(word: FromGuest): void {
    if (word.type === 'ready') this.#ready = true
    else this.#listeners.get(word.run)?.onMessage(word)
  }

  #called(call: HostCall): void {
    const listener = this.#listeners.get(call.run)
    if (listener) listener.onCall(call)
    else this.#reply({ run: call.run, id: call.id, text: runEnded })
  }

  #nextCall(run: number): HostCall | undefined {
    const seen = Atomics.load(this.#cells, counter.calls)
    const found =
      this.#receive() ??
      (Atomics.wait(this.#cells, counter.calls, seen, nextCallMs) === 'timed-out' ? undefined : this.#receive())
    if (!found || found.run === run) return found
    setImmediate(() => this.#called(found))
    return undefined
  }

  #receive(): HostCall | undefined {
    const received = receiveMessageOnPort(this.#channel.port1) as { readonly message: HostCall } | undefined
    return received?.message
  }

  #reply(reply: GuestReply): void {
    this.#channel.port1.postMessage(reply)
    Atomics.add(this.#cells, counter.replies, 1)
    Atomics.notify(this.#cells, counter.replies)
  }

  #end(why: string): void {
    this.#wake()
    this.#uncount()
    this.stuck = true
    threads = threads.filter((thread) => thread !== this)
    this.#channel.port1.close()
    void this.#worker.terminate()
    const left = [...this.#listeners.values()]
    this.#listeners.clear()
    for (const listener of left) listener.onThreadEnd(why)
  }
}
