/**
 * A provider on the loopback: speaks the streaming wire formats of OpenAI-compatible servers and of
 * Anthropic, and misbehaves on demand. It owns no clock: a test says when the next thing happens.
 *
 * - The n-th request is answered by the n-th answer; a request too many gets a 418, which nothing retries.
 * - Every request's decoded body is kept, in order.
 */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { once } from 'node:events'

export interface Exchange {
  readonly body: Record<string, unknown>
  readonly headers: IncomingHttpHeaders
  /** Sends one server-sent event; opens the stream with the first. */
  event(data: unknown, name?: string): void
  /** Sends text as it is, for broken events. */
  raw(text: string): void
  end(): void
  /** Breaks the connection off. */
  cut(): void
  fail(status: number, body: unknown, headers?: Record<string, string>): void
  /** Resolves when the connection of this response is closed, by whichever side. */
  readonly closed: Promise<void>
}

export type AnswerRequest = (exchange: Exchange) => void | Promise<void>

export interface ModelServer {
  readonly url: string
  readonly bodies: readonly Record<string, unknown>[]
  readonly headers: readonly IncomingHttpHeaders[]
  close(): Promise<void>
}

export async function startModelServer(answers: readonly AnswerRequest[]): Promise<ModelServer> {
  const bodies: Record<string, unknown>[] = []
  const headers: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8')
    request.on('data', (piece: string) => (text += piece))
    request.on('end', () => {
      const exchange = exchangeOf(JSON.parse(text), request.headers, response)
      const answer = answers[bodies.length]
      bodies.push(exchange.body)
      headers.push(request.headers)
      if (!answer)
        return exchange.fail(418, { error: { message: `no answer for request ${bodies.length}`, type: 'none' } })
      void answer(exchange)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('no address')
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    bodies,
    headers,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function exchangeOf(body: Record<string, unknown>, headers: IncomingHttpHeaders, response: ServerResponse): Exchange {
  const raw = (text: string): void => {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(text)
  }
  return {
    body,
    headers,
    raw,
    event: (data, name) => raw(`${name ? `event: ${name}\n` : ''}data: ${JSON.stringify(data)}\n\n`),
    end: () => void response.end(),
    cut: () => void response.socket?.destroy(),
    fail(status, failed, extra = {}) {
      response.writeHead(status, { 'content-type': 'application/json', ...extra })
      response.end(JSON.stringify(failed))
    },
    closed: new Promise((resolve) => response.on('close', () => resolve())),
  }
}

// --- OpenAI-compatible ---------------------------------------------------------------------------

export interface ChatDelta {
  readonly content?: string
  readonly reasoning_content?: string
  readonly tool_calls?: readonly { index: number; id?: string; function: { name?: string; arguments?: string } }[]
}

export function chatChunk(delta: ChatDelta, finish: string | null = null): object {
  return {
    id: 'c1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finish }],
  }
}

/** A whole answer: the deltas, the finish reason, the usage, [DONE]. */
export function chatAnswer(deltas: readonly ChatDelta[], finish = 'stop'): AnswerRequest {
  return (exchange) => {
    for (const delta of deltas) exchange.event(chatChunk(delta))
    exchange.event(chatChunk({}, finish))
    exchange.event({
      id: 'c1',
      object: 'chat.completion.chunk',
      created: 1,
      model: 'm',
      choices: [],
      usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
    })
    exchange.raw('data: [DONE]\n\n')
    exchange.end()
  }
}

export function failing(status: number, message: string, headers?: Record<string, string>): AnswerRequest {
  return (exchange) => exchange.fail(status, { error: { message, type: 'some_error' }, type: 'error' }, headers)
}

// --- Anthropic -----------------------------------------------------------------------------------

export type Block =
  | { readonly type: 'text'; readonly pieces: readonly string[] }
  | { readonly type: 'thinking'; readonly pieces: readonly string[] }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; readonly pieces: readonly string[] }

export function messageStart(exchange: Exchange): void {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 11, output_tokens: 1 },
  }
  exchange.event({ type: 'message_start', message }, 'message_start')
}

export function blockEvents(exchange: Exchange, block: Block, index: number): void {
  exchange.event({ type: 'content_block_start', index, content_block: opening(block) }, 'content_block_start')
  for (const piece of block.pieces)
    exchange.event({ type: 'content_block_delta', index, delta: deltaOf(block, piece) }, 'content_block_delta')
  exchange.event({ type: 'content_block_stop', index }, 'content_block_stop')
}

export function anthropicAnswer(blocks: readonly Block[], stop = 'end_turn'): AnswerRequest {
  return (exchange) => {
    messageStart(exchange)
    exchange.event({ type: 'ping' }, 'ping')
    blocks.forEach((block, index) => blockEvents(exchange, block, index))
    exchange.event(
      { type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 7 } },
      'message_delta',
    )
    exchange.event({ type: 'message_stop' }, 'message_stop')
    exchange.end()
  }
}

function opening(block: Block): object {
  if (block.type === 'text') return { type: 'text', text: '' }
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' }
  return { type: 'tool_use', id: block.id, name: block.name, input: {} }
}

function deltaOf(block: Block, piece: string): object {
  if (block.type === 'text') return { type: 'text_delta', text: piece }
  if (block.type === 'thinking') return { type: 'thinking_delta', thinking: piece }
  return { type: 'input_json_delta', partial_json: piece }
}
