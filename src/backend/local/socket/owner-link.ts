/**
 * A client's end of the folder's socket. It connects on demand and, while there are listeners, reconnects when the
 * owner has gone. Owns the connection, the calls that wait for an answer and the topics that the owner must forward.
 *
 * - A call ends with the owner's answer or, when the connection ends first, with `undefined`: the outcome is unknown.
 * - After a reconnection every topic with a listener is subscribed again; signals in between are lost (J7), and the
 *   listener's `missed` is called.
 * - The link keeps the process alive only while a call waits or someone listens.
 */
import { createConnection } from 'node:net'
import type { Socket } from 'node:net'
import { systemClock } from '../../../core/clock.js'
import { SkeinError } from '../../../core/failure.js'
import type { Json } from '../../../core/json.js'
import { toHostInfos } from '../../host-info.js'
import type { HostInfo } from '../../host-info.js'
import type { Send } from '../../port.js'
import { createTopics, tell } from '../../topics.js'
import { encodeFrame, frameDecoder, parseFromOwner } from './frames.js'
import type { FromOwner, ToOwner } from './frames.js'

const shortestPauseMs = 50
const longestPauseMs = 2000

type Answer = { readonly ok: true; readonly value?: Json } | { readonly ok: false; readonly error: SkeinError }

export class OwnerLink {
  private socket: Socket | undefined
  private connecting: Promise<boolean> | undefined
  private cancelRetry: (() => void) | undefined
  private pauseMs = shortestPauseMs
  private closed = false
  private calls = 0
  private readonly waiting = new Map<number, (answer: Answer | undefined) => void>()
  private readonly listeners = new Map<string, Set<() => void>>()
  private readonly topics = createTopics()
  private readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** Whether there is an owner now. */
  connect(): Promise<boolean> {
    if (this.closed) return Promise.resolve(false)
    if (this.socket) return Promise.resolve(true)
    this.connecting ??= this.attempt().finally(() => {
      this.connecting = undefined
    })
    return this.connecting
  }

  /** Undefined when there is no owner, or it has gone before it answered. */
  async put(send: Send, body: string): Promise<Answer | undefined> {
    return this.call((call) => ({ kind: 'put', call, to: send.to, id: send.id, body }))
  }

  /** None when there is no owner. */
  async hosts(): Promise<readonly HostInfo[]> {
    const answer = await this.call((call) => ({ kind: 'ask_hosts', call }))
    return answer?.ok && answer.value !== undefined ? toHostInfos(answer.value) : []
  }

  private async call(frame: (call: number) => ToOwner): Promise<Answer | undefined> {
    if (!(await this.connect())) return undefined
    this.calls += 1
    const call = this.calls
    return new Promise((resolve) => {
      this.waiting.set(call, (answer) => {
        this.waiting.delete(call)
        this.holdProcess()
        resolve(answer)
      })
      this.send(frame(call))
      this.holdProcess()
    })
  }

  publish(topic: string, value: Json): void {
    this.topics.publish(topic, value)
    const frame: ToOwner = { kind: 'publish', topic, value: JSON.stringify(value) }
    if (this.socket) this.send(frame)
    else void this.connect().then((connected) => connected && this.send(frame))
  }

  subscribe(topic: string, listener: (value: Json) => void, missed: () => void = () => undefined): () => void {
    const stop = this.topics.subscribe(topic, listener)
    // A wrapper of its own, so that the same function may be given twice.
    const onMissed = (): void => missed()
    const listeners = this.listeners.get(topic) ?? new Set()
    if (listeners.size === 0) this.send({ kind: 'subscribe', topic })
    this.listeners.set(topic, listeners.add(onMissed))
    if (!this.socket) this.retry()
    this.holdProcess()
    let stopped = false
    return () => {
      if (stopped) return
      stopped = true
      stop()
      listeners.delete(onMissed)
      if (listeners.size === 0 && this.listeners.get(topic) === listeners) {
        this.listeners.delete(topic)
        this.send({ kind: 'unsubscribe', topic })
      }
      this.holdProcess()
    }
  }

  /** Where there is an owner, only it knows who listens. */
  heard(topic: string): boolean {
    return this.socket !== undefined || this.connecting !== undefined || this.topics.heard(topic)
  }

  async close(): Promise<void> {
    this.closed = true
    this.cancelRetry?.()
    this.listeners.clear()
    const socket = this.socket
    if (!socket) return
    await new Promise<void>((resolve) => {
      socket.once('close', () => resolve())
      socket.ref()
      socket.destroySoon()
    })
  }

  private attempt(): Promise<boolean> {
    return new Promise((resolve) => {
      const socket = createConnection(this.path)
      // An error is always followed by a close, which is handled.
      socket.on('error', () => undefined)
      socket.once('connect', () => {
        this.socket = socket
        this.pauseMs = shortestPauseMs
        this.cancelRetry?.()
        this.cancelRetry = undefined
        for (const topic of this.listeners.keys()) this.send({ kind: 'subscribe', topic })
        this.holdProcess()
        resolve(true)
      })
      const decode = frameDecoder((frame) => this.receive(parseFromOwner(frame)))
      socket.on('data', (bytes) => {
        try {
          decode(bytes)
        } catch (error) {
          socket.destroy(error instanceof Error ? error : undefined)
        }
      })
      socket.once('close', () => {
        resolve(false)
        this.lost(socket)
      })
    })
  }

  private receive(frame: FromOwner): void {
    switch (frame.kind) {
      case 'signal':
        return this.topics.publish(frame.topic, frame.value)
      case 'subscribed':
        return [...(this.listeners.get(frame.topic) ?? [])].forEach(tell)
      case 'hosts':
        return this.waiting.get(frame.call)?.({ ok: true, value: frame.value })
      case 'stored':
        return this.waiting.get(frame.call)?.({ ok: true })
      case 'refused': {
        const error = new SkeinError(frame.code, frame.message, { retry: frame.retry })
        return this.waiting.get(frame.call)?.({ ok: false, error })
      }
    }
  }

  private lost(socket: Socket): void {
    if (this.socket === socket) {
      this.socket = undefined
      for (const answer of [...this.waiting.values()]) answer(undefined)
    }
    this.retry()
  }

  /** Only listeners need to reconnect; a call connects by itself. */
  private retry(): void {
    if (this.closed || this.cancelRetry || this.listeners.size === 0) return
    const pauseMs = this.pauseMs
    this.pauseMs = Math.min(pauseMs * 2, longestPauseMs)
    this.cancelRetry = systemClock.wakeAt(systemClock.now() + pauseMs, () => {
      this.cancelRetry = undefined
      void this.connect()
    })
  }

  private send(frame: ToOwner): void {
    this.socket?.write(encodeFrame(frame))
  }

  private holdProcess(): void {
    if (this.waiting.size > 0 || this.listeners.size > 0) this.socket?.ref()
    else this.socket?.unref()
  }
}
