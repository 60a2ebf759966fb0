/**
 * The threads on which the guests of this thread run. Owns how many there are, which runs share one and when one ends.
 *
 * - A run has a thread to itself while fewer than `mostThreads` are busy; further runs share. So runs that wait for
 *   each other never wait for a thread.
 * - A thread with a run that could not be stopped gets no further runs, and is ended when its other runs are over.
 * - An idle thread does not keep the process alive, and is ended after a while, which frees its memory.
 */
import { MessageChannel, Worker, receiveMessageOnPort } from 'node:worker_threads'
import { idleClock } from '../../src/core/clock.js'
import { textOf } from '../../src/core/json.js'
import { workerFile } from '../../src/tools/worker-url.js'
import { runEnded } from './reply.js'
import { trackGuestMemory } from './guest-memory.js'
import { compileWasm } from './wasm.js'
import { counter, counterCount } from './wire.js'
import type { HostCall, ToGuest, GuestReply, GuestThreadData, FromGuest } from './wire.js'

const mostThreads = 4
const idleMs = 10_000
/** How long the thread of the body blocks for the next of many calls. */
const nextCallMs = 0.1

export interface GuestListener {
  onMessage(message: Extract<FromGuest, { run: number }>): void
  onCall(call: HostCall): void
  /** The thread has ended. */
  onThreadEnd(why: string): void
}

/** How a run leaves its thread: `stuck` if it could not be stopped. */
export type Leaving = 'gone' | 'stuck'

/** A run's place on a thread. */
export interface GuestPlace {
  readonly run: number
  /** Whether the thread receives messages: it may just have been started. */
  isReady(): boolean
  send(message: ToGuest): void
  reply(reply: GuestReply): void
  /** Another call of this run, if it comes at once. */
  nextCall(): HostCall | undefined
  leave(how: Leaving): void
}

let threads: GuestThread[] = []
let runs = 0

/** The listener is called until the place is left. */
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
  readonly #counters = new Int32Array(new SharedArrayBuffer(counterCount * Int32Array.BYTES_PER_ELEMENT))
  readonly #stopTracking = trackGuestMemory(this.#counters)
  #stopIdleTimer: () => void = () => undefined

  constructor() {
    const { port1, port2: calls } = this.#channel
    const workerData: GuestThreadData = { calls, counters: this.#counters }
    // It gets nothing of the process: neither its variables nor its options.
    this.#worker = new Worker(workerFile('sandbox/thread'), {
      workerData,
      transferList: [calls],
      env: {},
      execArgv: [],
      name: 'skein guests',
    })
    port1.on('message', (call: HostCall) => this.#handleCall(call)).unref()
    this.#worker.on('message', (message: FromGuest) => this.#receive(message))
    this.#worker.on('error', (thrown) => this.#end(textOf(thrown)))
    this.#worker.on('exit', (code) => this.#end(`its thread exited with ${code}`))
    compileWasm().then(
      (module) => this.#worker.postMessage({ type: 'engine', module } satisfies ToGuest),
      (thrown: unknown) => this.#end(textOf(thrown)),
    )
  }

  get load(): number {
    return this.#listeners.size
  }

  take(run: number, listener: GuestListener): GuestPlace {
    this.#stopIdleTimer()
    this.#listeners.set(run, listener)
    this.#worker.ref()
    return {
      run,
      isReady: () => this.#ready,
      send: (message) => this.#worker.postMessage(message),
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
    this.#stopIdleTimer = idleClock.wakeAt(idleClock.now() + idleMs, () => this.#end('it was idle'))
  }

  #receive(message: FromGuest): void {
    if (message.type === 'ready') this.#ready = true
    else this.#listeners.get(message.run)?.onMessage(message)
  }

  #handleCall(call: HostCall): void {
    const listener = this.#listeners.get(call.run)
    if (listener) listener.onCall(call)
    else this.#reply({ run: call.run, id: call.id, text: runEnded })
  }

  #nextCall(run: number): HostCall | undefined {
    const seen = Atomics.load(this.#counters, counter.calls)
    const found =
      this.#receiveCall() ??
      (Atomics.wait(this.#counters, counter.calls, seen, nextCallMs) === 'timed-out' ? undefined : this.#receiveCall())
    if (!found || found.run === run) return found
    setImmediate(() => this.#handleCall(found))
    return undefined
  }

  #receiveCall(): HostCall | undefined {
    const received = receiveMessageOnPort(this.#channel.port1) as { readonly message: HostCall } | undefined
    return received?.message
  }

  #reply(reply: GuestReply): void {
    this.#channel.port1.postMessage(reply)
    Atomics.add(this.#counters, counter.replies, 1)
    Atomics.notify(this.#counters, counter.replies)
  }

  #end(why: string): void {
    this.#stopIdleTimer()
    this.#stopTracking()
    this.stuck = true
    threads = threads.filter((thread) => thread !== this)
    this.#channel.port1.close()
    void this.#worker.terminate()
    const listeners = [...this.#listeners.values()]
    this.#listeners.clear()
    for (const listener of listeners) listener.onThreadEnd(why)
  }
}
