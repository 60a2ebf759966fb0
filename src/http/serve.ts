/**
 * A server of its own: the handler on `node:http`, for those who mount it nowhere. It listens on loopback unless told
 * otherwise, and nowhere else without authentication.
 */
import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { SkeinError } from '../index.js'
import { systemClock } from '../core/clock.js'
import { createHandler } from './handler.js'
import type { HandlerOptions, SkeinHandler } from './handler.js'
import type { ServedSkein } from './route.js'

export interface ServeOptions extends HandlerOptions {
  /** Default 4100; 0: any that is free. */
  readonly port?: number
  /** Default `127.0.0.1`. */
  readonly host?: string
}

export interface SkeinServer {
  readonly url: string
  /** Ends open streams and waits for requests that are under way. The skein stays open. */
  close(): Promise<void>
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/

export async function serve(skein: ServedSkein, options: ServeOptions): Promise<SkeinServer> {
  const { port = 4100, host = '127.0.0.1', ...handlerOptions } = options
  if (options.auth === 'none' && !loopback.test(host))
    throw new SkeinError(
      'BAD_OPTION',
      `serve: ${host} can be reached from other machines, so it needs auth: { keys: […] }; createKey() of ` +
        `skein/server makes one`,
    )
  const handler = createHandler(skein, handlerOptions)
  const server = createServer({ maxHeaderSize: 16_384 }, (request, response) => {
    // A page of another site whose name leads here is not asked for a key either.
    if (options.auth === 'none' && !loopback.test(hostNameOf(request.headers.host))) return refuseName(response)
    return void handler.node(request, response)
  })
  const connections = watchConnections(server)
  await listening(server, { port, host })
  const address = server.address() as AddressInfo
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address
  return {
    url: `http://${name}:${address.port}${options.basePath ?? ''}`,
    close: () => closed(server, handler, connections),
  }
}

function hostNameOf(host = ''): string {
  return host.replace(/:\d+$/, '')
}

function refuseName(response: ServerResponse): void {
  const detail = 'a server that asks nobody for a key answers to the names of loopback alone, such as 127.0.0.1'
  const body = { type: 'urn:skein:problem:FORBIDDEN', title: 'Forbidden', status: 403, code: 'FORBIDDEN', detail }
  response.writeHead(403, { 'content-type': 'application/problem+json' }).end(JSON.stringify(body))
}

const longestCloseMs = 5_000

/** Answers that are under way are finished; a client that does not take its own in time is cut off. */
async function closed(server: Server, handler: SkeinHandler, connections: Connections): Promise<void> {
  handler.close()
  await new Promise<void>((resolve) => {
    const stop = systemClock.wakeAt(systemClock.now() + longestCloseMs, () => server.closeAllConnections())
    server.close(() => {
      stop()
      resolve()
    })
    connections.end()
  })
}

interface Connections {
  /** Ends those without a request now, and the others with their answers. */
  end(): void
}

/** Node knows as idle only a connection that had a request before: browsers open others in advance. */
function watchConnections(server: Server): Connections {
  const idle = new Set<Socket>()
  let isEnding = false
  const rest = (socket: Socket): void => {
    if (isEnding) socket.end()
    else if (!socket.destroyed) idle.add(socket)
  }
  server.on('connection', (socket) => {
    rest(socket)
    socket.once('close', () => idle.delete(socket))
  })
  server.on('request', ({ socket }, response) => {
    idle.delete(socket)
    if (isEnding) response.setHeader('connection', 'close')
    response.once('close', () => rest(socket))
  })
  return {
    end() {
      isEnding = true
      for (const socket of idle) socket.end()
    },
  }
}

function listening(server: Server, where: { readonly port: number; readonly host: string }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (thrown: NodeJS.ErrnoException) => {
      const message =
        thrown.code === 'EADDRINUSE'
          ? `port ${where.port} of ${where.host} is in use; choose another one`
          : `cannot listen on ${where.host}:${where.port}: ${thrown.message}`
      reject(new SkeinError('BAD_OPTION', `serve: ${message}`, { cause: thrown }))
    })
    server.listen(where, () => resolve())
  })
}
