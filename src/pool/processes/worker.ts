/**
 * A worker as the host knows it: a process with a Piscina thread that has loaded the app and runs bodies, and with a
 * monitor, its main thread, which answers also while a body computes. A process, because nothing less can be ended
 * whatever it does, and because V8 ends the whole process of a body that takes too much memory (docs/decisions/0012).
 *
 * WT1 While it lives its monitor knows which calls have begun: one that was withdrawn never begins. When it is dead
 *     `begun` says which may have: every call that it was handed, but of those with a side effect the ones that have.
 *     Such a call says so before it begins, and what was said is heard to the end.
 * - A worker whose app is loaded and whose event loop has not turned for a while is stuck, until it turns again.
 * WT3 What it says last, and what it prints for nobody, is told without the secrets of any call that it ever had.
 * WT4 It does not outlive its host, whatever its body does: the monitor ends the process when the host is gone.
 */
import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { idleClock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import { toFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { createFrameDecoder, encodeFrame, encodeStructured } from './frames.js'
import { createMonitorLine } from './monitor-line.js'
import type { MonitorLine } from './monitor-line.js'
import { createSeats } from './places.js'
import type { Seats } from './places.js'
import { WorkerSecrets } from './worker-secrets.js'
import { causeOfDeath, causeOfEnd, spawnWorker } from './spawn.js'
import type { SpawnOptions } from './spawn.js'
import { channel } from './wire.js'
import type { FromWorker, ToWorker } from './wire.js'

type FromCall = Exclude<FromWorker, { readonly call: 0 }>

export interface WorkerListener {
  receive(message: FromCall, bytes: Uint8Array<ArrayBuffer> | undefined): void
  /** Its worker is gone, or will never come. Nothing more will be heard. */
  die(why: string): void
  /** To run elsewhere, if it has not begun. */
  takeBack(): void
}

export interface WorkerOptions extends SpawnOptions {
  /** How long it stays without calls. */
  readonly idleMs: number
  /** How many looks in a row may find that its event loop has not turned. */
  readonly stillLooks: number
}

/** Of what it says last. */
const longestCause = 2_000
const mb = 1024 * 1024

export class Worker {
  readonly seats: Seats = createSeats()
  readonly calls = new Map<number, WorkerListener>()
  readonly secrets = new WorkerSecrets()
  /** Resolves when its app is there, with what went wrong, if anything did. */
  readonly loading: Promise<Failure | undefined>
  /** Why the host ended it. */
  killedBecause: string | undefined
  readonly #options: WorkerOptions
  readonly #child: ChildProcess
  readonly #gone: (worker: Worker) => void
  readonly #begun = new Set<number>()
  #monitor: MonitorLine
  #hello = false
  #loaded = false
  #tellLoaded: (failure: Failure | undefined) => void = () => undefined
  /** For one that has not said hello yet. */
  #waiting: { readonly message: ToWorker; readonly bytes?: Uint8Array }[] = []
  #dying: string | undefined
  /** What it wrote to its standard error by itself. */
  #lastErrors = ''
  #dead = false
  #handed = 0
  #atDeath: number | undefined
  #still = 0
  #lastBeat = -1
  #loadedRss = 0
  #stopIdling: (() => void) | undefined
  #idleSince = 0

  /** It starts at once. `gone` is called when no call can be given to it any more. */
  constructor(options: WorkerOptions, gone: (worker: Worker) => void) {
    this.#options = options
    this.#gone = gone
    this.loading = new Promise((resolve) => (this.#tellLoaded = resolve))
    this.#child = spawnWorker(options)
    this.#monitor = createMonitorLine(this.#pipe(channel.monitor), {
      seen: (told) => this.#seen(told),
      ended: (why) => (this.#dying ??= this.causeOf(causeOfEnd(why, options.memoryMb))),
      broken: () => this.kill('it wrote to the line of its monitor what the host does not understand'),
    })
    const unframe = createFrameDecoder((message, bytes) => this.#hear(message as FromWorker, bytes))
    this.#pipe(channel.up)?.on('data', (part: Buffer) => {
      try {
        unframe(part)
      } catch (thrown) {
        this.kill(`it spoke what the host does not understand: ${toFailure(thrown, 'WORKER_CRASHED').message}`)
      }
    })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => this.#wrote(text))
    // One that was ended while it was written to.
    for (const stream of this.#child.stdio) stream?.on('error', () => undefined)
    this.#child.on('error', (thrown) => this.#die(`it could not be started: ${thrown.message}`))
    this.#child.on('exit', () => this.#gone(this))
    this.#child.on('close', (code, signal) =>
      this.#die(causeOfDeath({ code, signal, said: this.#lastErrors, memoryMb: options.memoryMb })),
    )
    // Calls keep the host alive, and whoever waits for the app to load; a worker does not.
    // But until its app is there, or is known not to come, whoever opens the skein waits for it.
    this.loading.finally(() => this.#child.unref())
    for (const stream of this.#child.stdio) (stream as Socket | null)?.unref()
    this.#pipe(channel.up)?.ref()
  }

  #pipe(fd: number): Socket | undefined {
    return (this.#child.stdio[fd] ?? undefined) as Socket | undefined
  }

  /** Its app is there: what it is handed now begins at once, unless a body computes. */
  get loaded(): boolean {
    return this.#loaded
  }

  get started(): boolean {
    return this.#hello
  }

  #hear(message: FromWorker, bytes: Uint8Array<ArrayBuffer> | undefined): void {
    if (message.call !== 0) {
      if ('begins' in message) this.#begun.add(message.call)
      this.calls.get(message.call)?.receive(message as FromCall, bytes)
    } else if ('printed' in message) this.#print(message.printed)
    else if ('dying' in message) this.#dying ??= this.causeOf(message.dying)
    else if ('hello' in message) {
      this.#hello = true
      for (const { message: waited, bytes: more } of this.#waiting.splice(0)) this.post(waited, more)
    } else if ('loaded' in message) {
      this.#loaded = true
      if (this.calls.size === 0) this.#pipe(channel.up)?.unref()
      this.#tellLoaded(message.failure)
    }
  }

  #print(text: string): void {
    process.stderr.write(this.secrets.mask(text).replaceAll(/^/gm, '[worker] ') + '\n')
  }

  /** By a file descriptor, or by V8 when it gives up: that is a cause, and not for anybody's terminal. */
  #wrote(text: string): void {
    const dump = /<--- Last few GCs|FATAL ERROR|# Fatal error in/
    const before = this.#lastErrors
    this.#lastErrors = (before + text).slice(-8_192)
    if (!dump.test(this.#lastErrors)) this.#print(text.replace(/\n$/, ''))
  }

  /** Number of the next call that is handed to it. */
  nextCallNumber(): number {
    return ++this.#handed
  }

  addCall(call: number, listener: WorkerListener): void {
    this.calls.set(call, listener)
    if (this.calls.size === 1) this.#pipe(channel.up)?.ref()
  }

  removeCall(call: number): void {
    this.calls.delete(call)
    this.#begun.delete(call)
    if (this.calls.size > 0) return
    if (this.#loaded) this.#pipe(channel.up)?.unref()
    this.#idleSince = idleClock.now()
    if (this.#options.idleMs === 0) this.#idle()
    else this.#stopIdling ??= idleClock.wakeAt(this.#idleSince + this.#options.idleMs, () => this.#idle())
  }

  /** One timer for many calls: most come long before it. */
  #idle(): void {
    this.#stopIdling = undefined
    if (this.calls.size > 0) return
    const at = this.#idleSince + this.#options.idleMs
    if (at <= idleClock.now()) this.kill('it is not needed')
    else this.#stopIdling = idleClock.wakeAt(at, () => this.#idle())
  }

  post(message: ToWorker, bytes?: Uint8Array): void {
    const down = this.#pipe(channel.down)
    if (!this.#hello || !down) return void this.#waiting.push({ message, ...defined({ bytes }) })
    if ('task' in message && !message.task.reportsBegin) this.#begun.add(message.call)
    // One write for all that is said in this turn.
    if (down.writableCorked === 0) {
      down.cork()
      process.nextTick(() => down.uncork())
    }
    down.write('gets' in message && holdsMaps(message.gets) ? encodeStructured(message) : encodeFrame(message, bytes))
    if (bytes && bytes.byteLength > 0) down.write(bytes)
  }

  /** Whether it may have begun. */
  begun(call: number): boolean {
    return this.#begun.has(call)
  }

  /** Whether the call has not begun, and never will. */
  async withdraw(call: number): Promise<boolean> {
    const before = this.#waiting.length
    this.#waiting = this.#waiting.filter(({ message }) => message.call !== call)
    if (this.#waiting.length < before) return true
    return this.#monitor.withdraw(call)
  }

  /** Whatever it does. The first reason counts. */
  kill(why: string): void {
    this.killedBecause ??= why
    this.#child.kill('SIGKILL')
  }

  async close(): Promise<void> {
    this.kill('the pool was closed')
    // Whoever closes waits until it is gone.
    this.#child.ref()
    for (const stream of this.#child.stdio) (stream as Socket | null)?.ref()
    await new Promise<void>((resolve) => (this.#dead ? resolve() : this.#child.once('close', resolve)))
  }

  #die(why: string): void {
    if (this.#dead) return
    this.#dead = true
    this.#stopIdling?.()
    this.#gone(this)
    this.#monitor.close()
    const cause = this.#dying ?? this.causeOf(why)
    this.#tellLoaded(toFailure(cause, 'WORKER_CRASHED'))
    // How many may have been the cause, the same for all who ask.
    this.#atDeath = this.#begun.size
    for (const call of [...this.calls.values()]) call.die(cause)
  }

  /** WT3. The class of an error of Skein's says nothing to anybody. */
  causeOf(said: string): string {
    const cause = this.secrets.mask(said.replace(/^SkeinError: /, ''))
    return cause.length > longestCause ? `${cause.slice(0, longestCause)}…` : cause
  }

  /** Once it has died: any of several may have been the cause. */
  get company(): boolean {
    return (this.#atDeath ?? 0) > 1
  }

  /** To be called at even intervals while there are calls. */
  look(): void {
    if (this.#hello) this.#monitor.look()
  }

  #seen({ beat, rssKb }: { readonly beat: number; readonly rssKb: number }): void {
    const turned = beat !== this.#lastBeat
    this.#lastBeat = beat
    this.#still = !this.#loaded || turned ? 0 : this.#still + 1
    if (!this.#loaded) return
    this.#loadedRss ||= rssKb
    // Heap and buffers, each up to the limit. One that turns looks after itself (workers/thread/heartbeat.ts).
    const { memoryMb } = this.#options
    if (!turned && (rssKb - this.#loadedRss) * 1024 > 2 * memoryMb * mb) {
      this.kill(
        `it ran out of memory: a worker may have ${memoryMb} MB, and it took more memory than that without ever ` +
          `waiting; work in smaller pieces, or raise workers.memoryMb`,
      )
    }
  }

  get stuck(): boolean {
    return this.#still >= this.#options.stillLooks
  }
}

/** Directories are maps of their entries. */
function holdsMaps(gets: unknown): boolean {
  return typeof gets === 'object' && gets !== null && 'entries' in gets
}
