/**
 * A worker thread as the host knows it: a Piscina of one thread, so that the lane and nobody else says which call goes where;
 * the calls it was handed, and what it can be asked without its help.
 *
 * WT1 A body has begun if and only if `begun` says so, also when the thread is busy or has died: the thread notes it before
 *     it looks whether the call was ended or taken back, so one that had not begun by then never begins.
 * WT2 A thread whose app is loaded and whose event loop has not turned for a while is stuck, until it turns again.
 * WT3 What it says last, and what it prints for nobody, is told without the secrets of any call that it ever had.
 */
import type { MessagePort } from 'node:worker_threads'
import { Piscina } from 'piscina'
import { toFailure } from '../core/failure.js'
import { isObject } from '../core/json.js'
import { workerFile } from '../tools/worker-url.js'
import { createSeat } from './places.js'
import type { Seat } from './places.js'
import { ToldSecrets } from './secrets.js'
import { threadEnv } from './thread-env.js'
import { begunAt, control, controlLength } from './wire.js'
import type { Answer, FromThread, Hello, ThreadData, ToThread, WorkerTask } from './wire.js'

export interface Listener {
  hear(message: FromThread): void
  /** Nothing more will be heard. */
  shut(): void
  /** Its thread is gone, or will never come. */
  die(why: string): void
  /** To run elsewhere, if it has not begun. */
  takeBack(): void
}

export interface ThreadOptions {
  readonly app: string
  readonly memoryMb: number
  readonly idleMs: number
  /** How many looks in a row may find that its event loop has not turned (WT2). */
  readonly stillLooks: number
}

/** Of what it says last. */
const longestCause = 2_000

export class WorkerThread {
  readonly seat: Seat = createSeat()
  readonly calls = new Map<number, Listener>()
  readonly secrets = new ToldSecrets()
  /** Why the host ended it. */
  doom: string | undefined
  /** It may be innocent: another thread was as suspect. */
  shared = false
  readonly #piscina: Piscina
  readonly #stillLooks: number
  #port: MessagePort | undefined
  #numbers: Int32Array = new Int32Array(controlLength)
  /** For a thread that has not said hello yet. */
  #waiting: ToThread[] = []
  #handed = 0
  #atDeath: number | undefined
  #still = 0
  #lastBeat = -1

  /** It starts at once. `gone` is called when no call can be given to it any more. */
  constructor(options: ThreadOptions, gone: (thread: WorkerThread) => void) {
    this.#stillLooks = options.stillLooks
    this.#piscina = createPiscina(options)
    this.#piscina.on('message', (said: unknown) => isHello(said) && this.#greet(said))
    // One that died between calls harms nobody; one that died before its first call did not start.
    this.#piscina.on('error', (thrown: unknown) => this.#fall(this.causeOf(thrown)))
    this.#piscina.on('workerDestroy', () => {
      gone(this)
      // Most have heard by then what it was.
      setImmediate(() => this.#fall('it ended before it had started'))
    })
    // What goes wrong is told to the calls.
    this.#piscina.run(undefined, { name: 'load' }).catch(() => undefined)
  }

  get started(): boolean {
    return this.#port !== undefined
  }

  #greet({ port, control: shared }: Hello): void {
    this.#port = port
    this.#numbers = new Int32Array(shared)
    port.on('message', (message: FromThread) => this.#hear(message))
    port.on('close', () => {
      for (const call of this.calls.values()) call.shut()
    })
    // Calls keep the process alive, a thread does not.
    port.unref()
    for (const message of this.#waiting.splice(0)) this.post(message)
  }

  #hear(message: FromThread): void {
    if ('printed' in message) process.stderr.write(this.secrets.masked(message.printed).replaceAll(/^/gm, '[worker] ') + '\n')
    else this.calls.get(message.call)?.hear(message)
  }

  /** Number of the next call that is handed to the thread (WI1). */
  number(): number {
    return ++this.#handed
  }

  run(task: WorkerTask): Promise<Answer> {
    return this.#piscina.run(task)
  }

  post(message: ToThread, move: readonly ArrayBuffer[] = []): void {
    if (this.#port) this.#port.postMessage(message, [...move])
    else this.#waiting.push(message)
  }

  begun(call: number): boolean {
    return Atomics.load(this.#numbers, begunAt(call)) >= call
  }

  kill(): void {
    for (const worker of this.#piscina.threads) void worker.terminate()
  }

  close(): Promise<void> {
    return this.#piscina.destroy()
  }

  #fall(why: string): void {
    for (const call of [...this.calls.values()]) call.die(why)
  }

  /** WT3. The class of an error of Skein's says nothing to anybody. */
  causeOf(thrown: unknown): string {
    const cause = this.secrets.masked(toFailure(thrown, 'WORKER_CRASHED').message.replace(/^SkeinError: /, ''))
    return cause.length > longestCause ? `${cause.slice(0, longestCause)}…` : cause
  }

  /** Once it has died: any of several may have been the cause. The same for all who ask. */
  get company(): boolean {
    this.#atDeath ??= [...this.calls.keys()].filter((call) => this.begun(call)).length
    return this.shared || this.#atDeath > 1
  }

  /** To be called at even intervals while there are calls. */
  look(): void {
    const { beat } = this
    this.#still = this.loaded && beat === this.#lastBeat ? this.#still + 1 : 0
    this.#lastBeat = beat
  }

  /** WT2. */
  get stuck(): boolean {
    return this.#still >= this.#stillLooks && this.beat === this.#lastBeat
  }

  /** Until then it may stand still for as long as it takes. */
  get loaded(): boolean {
    return Atomics.load(this.#numbers, control.loaded) === 1
  }

  /** Grows while the event loop turns. */
  get beat(): number {
    return Atomics.load(this.#numbers, control.beat)
  }

  get usedBytes(): number {
    return Atomics.load(this.#numbers, control.usedKb) * 1024
  }
}

function createPiscina({ app, memoryMb, idleMs }: ThreadOptions): Piscina {
  const workerData: ThreadData = { app, memoryMb }
  return new Piscina({
    filename: workerFile('entry').href,
    name: 'run',
    minThreads: 0,
    maxThreads: 1,
    // Places are counted by the lane: calls that wait have none, and may be many.
    concurrentTasksPerWorker: 1_000_000,
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    workerData,
    env: threadEnv(process.env),
    idleTimeout: idleMs,
    // Synchronous waiting freezes a thread's event loop between tasks: its ports would never close.
    atomics: 'disabled',
  })
}

function isHello(said: unknown): said is Hello {
  return isObject(said) && said['hello'] === 'skein'
}
