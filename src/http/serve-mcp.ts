/**
 * MCP over standard streams: one connection, of a client that has started the process. Whoever can start it may do
 * everything, as with the command line. What speaks the protocol is loaded when it is called.
 */
import type { Readable, Writable } from 'node:stream'
import { systemClock } from '../core/clock.js'
import { SkeinError } from '../index.js'
import { everyone } from './auth/principal.js'
import type { ServedSkein } from './route.js'
import { routes } from './table.js'
import { TreeFeeds } from './stream/tree-feeds.js'
import { Views } from './view/views.js'

export interface ServeMcpOptions {
  /** Default: those of the process. Nothing else may write to `stdout`. */
  readonly stdin?: Readable
  readonly stdout?: Writable
  /** Called with what the server could not do; clients are told only that it could not. Default: a process warning. */
  readonly warn?: (what: string, thrown: unknown) => void
}

export interface McpConnection {
  /** Resolves when the client has gone, or after `close`. */
  readonly closed: Promise<void>
  /** Turns go on. The skein stays open. */
  close(): Promise<void>
}

const known: ReadonlySet<string> = new Set(['stdin', 'stdout', 'warn'])

export async function serveMcp(skein: ServedSkein, options: ServeMcpOptions = {}): Promise<McpConnection> {
  const strange = Object.keys(options).find((name) => !known.has(name))
  if (strange !== undefined) throw new SkeinError('BAD_OPTION', `serveMcp has no option ${JSON.stringify(strange)}`)
  const [{ StdioServerTransport, serveStdio }, { createSkeinMcp }] = await Promise.all([
    import('@modelcontextprotocol/server/stdio'),
    import('./mcp/server.js'),
  ])
  const { stdin = process.stdin, stdout = process.stdout } = options
  const warn = options.warn ?? ((what, thrown) => process.emitWarning(`${what}: ${String(thrown)}`))
  const ended = new AbortController()
  const scene = {
    skein,
    principal: everyone,
    signal: ended.signal,
    clock: systemClock,
    views: new Views(skein, systemClock),
    streams: {
      heartbeatMs: 5_000,
      maxBuffered: 1_000,
      enter: () => () => undefined,
      feeds: new TreeFeeds(skein, { maxBuffered: 1_000 }),
    },
    routes,
    warn,
    mayTag: () => true,
  }
  const transport = new StdioServerTransport(stdin, stdout)
  const handle = serveStdio(() => createSkeinMcp(scene), {
    transport,
    onerror: (thrown) => warn('a message of the MCP client could not be read', thrown),
  })
  const closed = new Promise<void>((resolve) => {
    const before = transport.onclose
    const onclose = (): void => {
      before?.()
      resolve()
    }
    Object.assign(transport, { onclose })
  })
  return {
    closed,
    async close() {
      ended.abort()
      await handle.close()
    },
  }
}
