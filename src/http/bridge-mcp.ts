/**
 * MCP over standard streams for a server elsewhere: messages are carried to `/mcp` of a server of Skein and back, so a
 * client that can only start processes reaches it. What speaks the protocol is loaded when it is called.
 *
 * - A request that the server does not answer gets an error; no request is left without an answer.
 */
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { SkeinError } from '../index.js'
import type { McpConnection, ServeMcpOptions } from './serve-mcp.js'

export interface McpAddress {
  readonly url: string
  readonly key?: string
}

const internalError = -32_603
const request = z.object({ id: z.union([z.string(), z.number()]), method: z.string() })
const initialized = z.object({ result: z.object({ protocolVersion: z.string() }) })
const cancelled = z.object({
  method: z.literal('notifications/cancelled'),
  params: z.object({ requestId: z.union([z.string(), z.number()]) }),
})

export async function bridgeMcp(
  { url, key }: McpAddress,
  { stdin = process.stdin, stdout = process.stdout, warn = () => undefined }: ServeMcpOptions = {},
): Promise<McpConnection> {
  const [{ StdioServerTransport }, { StreamableHTTPClientTransport }] = await Promise.all([
    import('@modelcontextprotocol/server/stdio'),
    import('@modelcontextprotocol/client'),
  ])
  const near = new StdioServerTransport(stdin, stdout)
  const far = new StreamableHTTPClientTransport(endpointOf(url), {
    ...(key !== undefined && { requestInit: { headers: { authorization: `Bearer ${key}` } } }),
  })
  const open = new Map<RequestId, AbortController>()
  // The client may have gone: then nobody waits for it.
  const tell = (message: JSONRPCMessage): Promise<void> => near.send(message).catch(() => undefined)
  const answer = async (message: JSONRPCMessage): Promise<void> => {
    const version = initialized.safeParse(message).data?.result.protocolVersion
    if (version !== undefined) far.setProtocolVersion(version)
    if ('id' in message && message.id !== undefined && !('method' in message)) open.delete(message.id)
    await tell(message)
  }
  const refuse = async (id: RequestId, why: string): Promise<void> => {
    if (!open.delete(id)) return
    await tell({ jsonrpc: '2.0', id, error: { code: internalError, message: `${url}: ${why}` } })
  }
  const carry = async (message: JSONRPCMessage): Promise<void> => {
    const id = request.safeParse(message).data?.id
    const left = new AbortController()
    if (id !== undefined) open.set(id, left)
    open.get(cancelled.safeParse(message).data?.params.requestId ?? '')?.abort()
    try {
      const ended = (): void => void (id !== undefined && setImmediate(() => refuse(id, 'the answer broke off')))
      await far.send(message, { requestSignal: left.signal, onRequestStreamEnd: ended })
    } catch (thrown) {
      const why = reasonOf(thrown)
      if (id === undefined) warn(`a message could not be carried to ${url}`, why)
      else await refuse(id, why)
    }
  }
  const closed = new Promise<void>((resolve) => {
    Object.assign(near, { onmessage: (message: JSONRPCMessage) => void carry(message), onclose: resolve })
  })
  Object.assign(far, { onmessage: (message: JSONRPCMessage) => void answer(message) })
  await far.start()
  await near.start()
  void closed.then(() => far.close())
  return {
    closed,
    close: async () => {
      await near.close()
      await far.close()
    },
  }
}

function endpointOf(url: string): URL {
  if (z.url({ protocol: /^https?$/ }).safeParse(url).success) return new URL(`${url.replace(/\/+$/, '')}/mcp`)
  throw new SkeinError(
    'BAD_OPTION',
    `${JSON.stringify(url)} is no address of a server; one looks like http://127.0.0.1:4100`,
  )
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  return thrown.cause instanceof Error ? `${thrown.message}: ${thrown.cause.message}` : thrown.message
}
