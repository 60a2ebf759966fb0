/**
 * The owner's end of the folder's socket: it takes mail and signals from clients and forwards signals to those that
 * listen. Owns the listening socket and its connections; storing mail is a service that it is given.
 *
 * - A client's mail is answered when it is durable.
 * - Signals to a client that does not keep up are dropped, not queued without limit (J7); when it has caught up it is
 *   told so, by the frame that also confirms a subscription.
 * - Neither the socket nor its connections keep the process alive.
 */
import { chmodSync, lstatSync, unlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { isMainThread } from 'node:worker_threads'
import { systemClock } from '../../../core/clock.js'
import { toFailure } from '../../../core/failure.js'
import type { Json } from '../../../core/json.js'
import type { HostInfo } from '../../host-info.js'
import type { Send } from '../../port.js'
import type { Topics } from '../../topics.js'
import { encodeFrame, frameDecoder, parseFromClient } from './frames.js'
import type { FromClient, RefusalCode } from './frames.js'

const mostQueuedBytes = 16 * 1024 * 1024
/** For answers that are on their way when the server closes. */
const closingMs = 500

interface ServerServices {
  readonly put: (send: Send) => Promise<void>
  readonly topics: Topics
  readonly hosts: () => readonly HostInfo[]
}

export class OwnerServer {
  private readonly listeners = new Map<string, Set<Socket>>()
  private readonly sockets = new Set<Socket>()
  private readonly server = createServer((socket) => this.accept(socket))
  private readonly services: ServerServices

  private constructor(services: ServerServices) {
    this.services = services
  }

  /** The caller owns the folder, so a socket file that is there is a dead owner's. */
  static async listen(path: string, services: ServerServices): Promise<OwnerServer> {
    const made = new OwnerServer(services)
    if (lstatSync(path, { throwIfNoEntry: false })) unlinkSync(path)
    await listening(made.server, path)
    chmodSync(path, 0o600) // where the umask could not be set
    made.server.unref()
    return made
  }

  /** To the clients that listen, except the one it came from. */
  forward(topic: string, value: Json, from?: Socket): void {
    const listeners = this.listeners.get(topic)
    if (!listeners) return
    const frame = encodeFrame({ kind: 'signal', topic, value: JSON.stringify(value) })
    for (const socket of listeners) {
      if (socket === from) continue
      if (socket.writableLength < mostQueuedBytes) socket.write(frame)
      else socket.once('drain', () => confirm(socket, topic))
    }
  }

  heard(topic: string): boolean {
    return this.listeners.has(topic)
  }

  close(): Promise<void> {
    return new Promise((resolve) => {
      // A client that does not read must not delay the close.
      const cancel = systemClock.wakeAt(systemClock.now() + closingMs, () => {
        for (const socket of this.sockets) socket.destroy()
      })
      this.server.close(() => {
        cancel()
        resolve()
      })
      for (const socket of this.sockets) socket.destroySoon()
    })
  }

  private accept(socket: Socket): void {
    this.sockets.add(socket)
    socket.unref()
    const decode = frameDecoder((frame) => this.receive(socket, parseFromClient(frame)))
    socket.on('data', (bytes) => {
      try {
        decode(bytes)
      } catch (error) {
        // FR2: a malformed frame ends the connection; the other side is no Skein client.
        socket.destroy(error instanceof Error ? error : undefined)
      }
    })
    // Every error is followed by a close, which is handled.
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.sockets.delete(socket)
      for (const topic of [...this.listeners.keys()]) this.unsubscribe(socket, topic)
    })
  }

  private receive(socket: Socket, frame: FromClient): void {
    switch (frame.kind) {
      case 'put':
        return void this.answerPut(socket, frame)
      case 'ask_hosts': {
        const value = JSON.stringify(this.services.hosts())
        return void socket.write(encodeFrame({ kind: 'hosts', call: frame.call, value }))
      }
      case 'subscribe':
        this.listeners.set(frame.topic, (this.listeners.get(frame.topic) ?? new Set()).add(socket))
        return confirm(socket, frame.topic)
      case 'unsubscribe':
        return this.unsubscribe(socket, frame.topic)
      case 'publish':
        this.services.topics.publish(frame.topic, frame.value)
        return this.forward(frame.topic, frame.value, socket)
    }
  }

  private unsubscribe(socket: Socket, topic: string): void {
    const listeners = this.listeners.get(topic)
    if (listeners?.delete(socket) && listeners.size === 0) this.listeners.delete(topic)
  }

  private async answerPut(socket: Socket, frame: FromClient & { kind: 'put' }): Promise<void> {
    try {
      await this.services.put({ to: frame.to, id: frame.id, body: frame.body })
      socket.write(encodeFrame({ kind: 'stored', call: frame.call }))
    } catch (error) {
      const { code, message, retry } = toFailure(error, 'INVARIANT')
      const why: RefusalCode =
        code === 'STORE_CLOSED' || code === 'STORE_FAILED' || code === 'JOURNAL_CORRUPT' ? code : 'INVARIANT'
      socket.write(encodeFrame({ kind: 'refused', call: frame.call, code: why, message, retry }))
    }
  }
}

/** The client hears the topic from now on; it may have missed earlier signals. */
function confirm(socket: Socket, topic: string): void {
  socket.write(encodeFrame({ kind: 'subscribed', topic }))
}

function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // The socket is made in this call; if its mode were set later, anyone could connect for a moment.
    const mask = isMainThread ? process.umask(0o177) : undefined
    server.listen(path, () => {
      server.off('error', reject)
      resolve()
    })
    if (mask !== undefined) process.umask(mask)
  })
}
