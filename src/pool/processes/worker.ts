/**
 * A worker as the host sees it: a process with one thread that has loaded the app and runs bodies, and a monitor, its
 * main thread, which answers also while a body computes. It is a process because only a process can be ended whatever
 * it does, and because V8 ends the whole process of a body that takes too much memory (docs/decisions/0012).
 *
 * WT1 While the worker lives its monitor knows which calls have begun: a withdrawn call never begins. Once it is dead
 *     `begun` tells which calls may have: every call that was sent, but of those with a side effect only the ones
 *     that reported their begin. The report is sent before the body runs, and all of it is read before `die`.
 * - A worker whose app is loaded and whose event loop has not turned for a while is stuck, until it turns again.
 * WT3 Its last words, and what it prints for no known call, are told without the secrets of any call it ever had.
 * WT4 It does not outlive its host, whatever its body does: the monitor ends the process when the host is gone.
 */
import type { ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { idleClock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import { failure, toFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { createFrameDecoder, encodeBinaryFrame, encodeStructured } from './frames.js'
import { createMonitorPort } from './monitor-port.js'
import type { MonitorPort } from './monitor-port.js'
import { createSeats } from './places.js'
import type { Seats } from './places.js'
import { WorkerSecrets } from './worker-secrets.js'
import { causeOfDeath, causeOfThreadEnd, spawnWorker } from './spawn.js'
import type { SpawnOptions } from './spawn.js'
import { channel } from './wire.js'
import type { FromWorker, ToWorker } from './wire.js'

type FromCall = Exclude<FromWorker, { readonly call: 0 }>

export interface WorkerListener {
  receive(message: FromCall, bytes: Uint8Array<ArrayBuffer> | undefined): void
  /** The worker is dead, or could not be started. It is the last call of the listener. */
  die(cause: string): void
  /** Gives the call to another worker, if it has not begun. */
  takeBack(): void
}

export interface WorkerOptions extends SpawnOptions {
  /** How long the worker stays without calls. */
  readonly idleMs: number
  /** How long the app may take to load. */
  readonly loadMs: number
  /** After how many checks without a heartbeat in between it is stuck. */
  readonly stuckChecks: number
}

const longestCause = 2_000
/** A process or thread that ends closes its descriptors before its end is known: a line that is closed is looked at. */
const lookMs = 100
/** Then a worker that gives no other sign is ended. */
const mostLooks = 100
const mb = 1024 * 1024

export class Worker {
  readonly seats: Seats = createSeats()
  readonly calls = new Map<number, WorkerListener>()
  readonly secrets = new WorkerSecrets()
  /** Resolves when the app is loaded, with the failure if it could not be. */
  readonly loading: Promise<Failure | undefined>
  /** Why the host has killed it. */
  killedBecause: string | undefined
  /** Its app did not load in time. */
  loadFailure: Failure | undefined
  readonly #options: WorkerOptions
  readonly #child: ChildProcess
  readonly #onGone: (worker: Worker) => void
  readonly #begun = new Set<number>()
  readonly #monitor: MonitorPort
  #started = false
  #loaded = false
  #resolveLoading: (failure: Failure | undefined) => void = () => undefined
  /** Messages for a worker that has not said hello yet. */
  #waiting: { readonly message: ToWorker; readonly bytes?: Uint8Array }[] = []
  #lastWords: string | undefined
  #culprit: number | undefined
  /** The end of what it wrote to its standard error. */
  #lastErrors = ''
  #exited = false
  #dead = false
  #lastCall = 0
  #begunAtDeath: number | undefined
  #checksWithoutBeat = 0
  #lastBeat = -1
  /** How often a status had another beat than the one before. */
  #beats = 0
  readonly #closedLines = new Set<number>()
  #rssKbWhenLoaded = 0
  readonly #stopLoadTimer: () => void
  #stopIdleTimer: (() => void) | undefined
  #idleSince = 0

  /** Starts the process at once. `onGone` is called when it cannot take calls any more. */
  constructor(options: WorkerOptions, onGone: (worker: Worker) => void) {
    this.#options = options
    this.#onGone = onGone
    this.loading = new Promise((resolve) => (this.#resolveLoading = resolve))
    this.#child = spawnWorker(options)
    this.#stopLoadTimer = idleClock.wakeAt(idleClock.now() + options.loadMs, () => this.#failLoading())
    this.#monitor = createMonitorPort(this.#pipe(channel.monitor), {
      onStatus: (status) => this.#checkStatus(status),
      onThreadEnd: (cause) => (this.#lastWords ??= this.causeOf(causeOfThreadEnd(cause, options.memoryMb))),
      onGarbage: () => this.kill('it wrote to the line of its monitor what the host does not understand'),
    })
    this.#connect()
    this.#child.on('error', (thrown) => this.#die(`it could not be started: ${thrown.message}`))
    this.#child.on('exit', () => {
      this.#exited = true
      this.#onGone(this)
    })
    this.#child.on('close', (code, signal) =>
      this.#die(causeOfDeath({ code, signal, errors: this.#lastErrors, memoryMb: options.memoryMb })),
    )
    // Calls keep the host alive, a worker does not. But until the app is loaded, whoever opens the skein waits for it.
    this.loading.finally(() => this.#child.unref())
    for (const stream of this.#child.stdio) (stream as Socket | null)?.unref()
    this.#pipe(channel.up)?.ref()
  }

  #pipe(fd: number): Socket | undefined {
    return (this.#child.stdio[fd] ?? undefined) as Socket | undefined
  }

  #connect(): void {
    const decode = createFrameDecoder((message, bytes) => this.#receive(message as FromWorker, bytes))
    this.#pipe(channel.up)?.on('data', (part: Buffer) => {
      try {
        decode(part)
      } catch (thrown) {
        this.kill(`it spoke what the host does not understand: ${toFailure(thrown, 'WORKER_CRASHED').message}`)
      }
    })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => this.#receiveErrors(text))
    // Writing to a process that has just been ended.
    for (const stream of this.#child.stdio) stream?.on('error', () => undefined)
    for (const fd of Object.values(channel)) this.#pipe(fd)?.on('close', () => this.#lineClosed(fd))
    // A stream that nobody reads does not learn that it was closed.
    this.#pipe(channel.down)?.resume()
  }

  /** A body may close any descriptor of its process. A worker that cannot be talked to is of no use. */
  #lineClosed(fd: number): void {
    this.#closedLines.add(fd)
    this.#lookAtLine(fd, { looks: mostLooks, beats: this.#beats })
  }

  /** In an immediate: an exit that happened while the host was busy has been seen by then. */
  #lookAtLine(fd: number, { looks, beats }: { readonly looks: number; readonly beats: number }): void {
    if (this.#exited || this.killedBecause !== undefined || this.#lastWords !== undefined) return
    if (looks === 0 || (looks < mostLooks && this.#wasClosedByBody(beats)))
      return this.kill(
        `code on it closed the file descriptor ${fd}, its line to the host; close only descriptors that were opened ` +
          `by the same code`,
      )
    this.#monitor.requestStatus()
    idleClock.wakeAt(idleClock.now() + lookMs, () =>
      setImmediate(() => this.#lookAtLine(fd, { looks: looks - 1, beats })),
    )
  }

  /**
   * A process that ends closes all lines, a thread of bodies those of its own; then the end is reported, however late.
   * One that lives closes a single line, or beats after it: twice, because the first beat may be older than that.
   */
  #wasClosedByBody(beats: number): boolean {
    if (this.#closedLines.has(channel.monitor)) return this.#closedLines.size === 1
    return this.#beats > beats + 1
  }

  #failLoading(): void {
    const { app, loadMs } = this.#options
    const message =
      `${app} did not finish loading in a worker within ${loadMs} ms; look for a top-level await that never ends ` +
      `there (a server, a connection, a lock) and move it into the tool that needs it`
    this.loadFailure = failure('APP_NOT_LOADED', message)
    this.#resolveLoading(this.loadFailure)
    this.kill(message)
  }

  /** The app is loaded: what the worker is sent begins at once, unless a body computes. */
  get loaded(): boolean {
    return this.#loaded
  }

  get started(): boolean {
    return this.#started
  }

  #receive(message: FromWorker, bytes: Uint8Array<ArrayBuffer> | undefined): void {
    if (message.call !== 0) {
      if ('begins' in message) this.#begun.add(message.call)
      this.calls.get(message.call)?.receive(message as FromCall, bytes)
    } else if ('printed' in message) this.#print(message.printed)
    else if ('dying' in message) {
      this.#lastWords ??= this.causeOf(message.dying)
      this.#culprit ??= message.culprit
    } else if ('hello' in message) {
      this.#started = true
      for (const { message: waiting, bytes: more } of this.#waiting.splice(0)) this.post(waiting, more)
    } else if ('loaded' in message) {
      this.#loaded = true
      this.#stopLoadTimer()
      if (this.calls.size === 0) this.#pipe(channel.up)?.unref()
      this.#resolveLoading(message.failure)
    }
  }

  #print(text: string): void {
    process.stderr.write(this.secrets.mask(text).replaceAll(/^/gm, '[worker] ') + '\n')
  }

  /** Written to a file descriptor, or by V8 when it gives up: its dump is a cause, and not for anybody's terminal. */
  #receiveErrors(text: string): void {
    const dump = /<--- Last few GCs|FATAL ERROR|# Fatal error in/
    this.#lastErrors = (this.#lastErrors + text).slice(-8_192)
    if (!dump.test(this.#lastErrors)) this.#print(text.replace(/\n$/, ''))
  }

  /** The number of the next call that is sent to it. */
  nextCallNumber(): number {
    return ++this.#lastCall
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
    this.#stopIdleTimer ??= idleClock.wakeAt(this.#idleSince + this.#options.idleMs, () => this.#endIfIdle())
  }

  /** One timer serves many calls: most of them come long before it fires. */
  #endIfIdle(): void {
    this.#stopIdleTimer = undefined
    if (this.calls.size > 0) return
    const idleUntil = this.#idleSince + this.#options.idleMs
    if (idleUntil <= idleClock.now()) this.kill('it is not needed')
    else this.#stopIdleTimer = idleClock.wakeAt(idleUntil, () => this.#endIfIdle())
  }

  post(message: ToWorker, bytes?: Uint8Array): void {
    const down = this.#pipe(channel.down)
    if (!this.#started || !down) return void this.#waiting.push({ message, ...defined({ bytes }) })
    if ('task' in message && !message.task.reportsBegin) this.#begun.add(message.call)
    // One write for all messages of this turn of the event loop.
    if (down.writableCorked === 0) {
      down.cork()
      process.nextTick(() => down.uncork())
    }
    down.write(
      'answer' in message && holdsMaps(message.answer) ? encodeStructured(message) : encodeBinaryFrame(message, bytes),
    )
    if (bytes && bytes.byteLength > 0) down.write(bytes)
  }

  /** Whether the call may have begun. */
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

  /** Ends the process, whatever it does. The first reason counts. `culprit`: the call that made it necessary. */
  kill(reason: string, culprit?: number): void {
    this.killedBecause ??= reason
    this.#culprit ??= culprit
    this.#child.kill('SIGKILL')
  }

  async close(): Promise<void> {
    this.kill('the pool was closed')
    // Whoever closes the pool waits until the process is gone.
    this.#child.ref()
    for (const stream of this.#child.stdio) (stream as Socket | null)?.ref()
    await new Promise<void>((resolve) => (this.#dead ? resolve() : this.#child.once('close', resolve)))
  }

  #die(reason: string): void {
    if (this.#dead) return
    this.#dead = true
    this.#stopLoadTimer()
    this.#stopIdleTimer?.()
    this.#onGone(this)
    this.#monitor.close()
    const cause = this.#lastWords ?? this.causeOf(reason)
    this.#resolveLoading(toFailure(cause, 'WORKER_CRASHED'))
    // Fixed now, so that all listeners are told the same.
    this.#begunAtDeath = this.#begun.size
    for (const call of [...this.calls.values()]) call.die(cause)
  }

  /** WT3: without secrets. The name of Skein's own error class tells nobody anything. */
  causeOf(text: string): string {
    const cause = this.secrets.mask(text.replace(/^SkeinError: /, ''))
    return cause.length > longestCause ? `${cause.slice(0, longestCause)}…` : cause
  }

  /** Once it is dead: several calls had begun, and each of them may have been the cause. */
  get wasShared(): boolean {
    return (this.#begunAtDeath ?? 0) > 1
  }

  /** Once it is dead: whether code of this call ended it; undefined if nobody knows. */
  wasEndedBy(call: number): boolean | undefined {
    return this.#culprit === undefined ? undefined : this.#culprit === call
  }

  /** To be called at regular intervals while there are calls. */
  check(): void {
    if (this.#started) this.#monitor.requestStatus()
  }

  #checkStatus({ beat, rssKb }: { readonly beat: number; readonly rssKb: number }): void {
    const turned = beat !== this.#lastBeat
    this.#lastBeat = beat
    if (turned) this.#beats++
    this.#checksWithoutBeat = !this.#loaded || turned ? 0 : this.#checksWithoutBeat + 1
    if (!this.#loaded) return
    this.#rssKbWhenLoaded ||= rssKb
    // Heap and buffers, each up to the limit. A worker whose event loop turns checks itself (heartbeat.ts).
    const { memoryMb } = this.#options
    if (!turned && (rssKb - this.#rssKbWhenLoaded) * 1024 > 2 * memoryMb * mb) {
      this.kill(
        `it ran out of memory: a worker may have ${memoryMb} MB, and it took more than that at once; work in smaller ` +
          `pieces, or raise workers.memoryMb`,
      )
    }
  }

  get stuck(): boolean {
    return this.#checksWithoutBeat >= this.#options.stuckChecks
  }
}

/** Directories are maps of their entries, which JSON does not know. */
function holdsMaps(answer: unknown): boolean {
  return typeof answer === 'object' && answer !== null && 'entries' in answer
}
