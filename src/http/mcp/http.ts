/**
 * MCP over HTTP: one request is one exchange, answered by a server that is made for it, so any process of a service may
 * answer any request. Clients of the protocol of 2026 have all of it. Clients of 2025 have no connection here: they
 * cannot be asked, and what waits for a person is told in the result.
 */
import { createMcpHandler } from '@modelcontextprotocol/server'
import { createSkeinMcp } from './server.js'
import type { McpScene } from './route-tools.js'

export async function answerMcp(scene: McpScene, request: Request, parsedBody: unknown): Promise<Response> {
  const handler = createMcpHandler(() => createSkeinMcp(scene), {
    keepAliveMs: scene.streams.heartbeatMs,
    onerror: () => undefined,
  })
  const close = (): void => void handler.close().catch(() => undefined)
  if (scene.signal.aborted) close()
  else scene.signal.addEventListener('abort', close, { once: true })
  return handler.fetch(request, { parsedBody })
}
