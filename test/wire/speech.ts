/** One reply, in the words of each provider: what a real package hears from a server on the loopback. */
import type { AnswerRequest, Exchange } from '../helpers/model-server.js'

export type Piece =
  /** `mark`: a signature, encrypted content, or nothing where the provider gives none. */
  | { readonly think: string; readonly mark?: string }
  | { readonly redacted: string }
  | { readonly say: string; readonly mark?: string }
  /** A text is sent as it is, so that it may be cut off. */
  | { readonly call: string; readonly args: object | string; readonly id: string; readonly mark?: string }
  /** A block as it is; Anthropic's. */
  | { readonly block: object }

export type Finish = 'stop' | 'length' | 'filter' | 'pause'

export type Encode = (pieces: readonly Piece[], finish?: Finish, usage?: object) => AnswerRequest

const argsText = (args: object | string): string => (typeof args === 'string' ? args : JSON.stringify(args))
const acts = (pieces: readonly Piece[]): boolean => pieces.some((piece) => 'call' in piece)

export const asAnthropic: Encode =
  (pieces, finish = 'stop', usage = {}) =>
  (exchange) => {
    const stop = {
      stop: acts(pieces) ? 'tool_use' : 'end_turn',
      length: 'max_tokens',
      filter: 'refusal',
      pause: 'pause_turn',
    }[finish]
    const message = {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 11, output_tokens: 1, ...usage },
    }
    const send = (type: string, fields: object): void => exchange.event({ type, ...fields }, type)
    send('message_start', { message })
    pieces.forEach((piece, index) => {
      const [block, deltas] = anthropicBlock(piece)
      send('content_block_start', { index, content_block: block })
      for (const delta of deltas) send('content_block_delta', { index, delta })
      send('content_block_stop', { index })
    })
    send('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 7 } })
    send('message_stop', {})
    exchange.end()
  }

function anthropicBlock(piece: Piece): readonly [block: object, deltas: readonly object[]] {
  if ('think' in piece) {
    const signed = piece.mark === undefined ? [] : [{ type: 'signature_delta', signature: piece.mark }]
    return [
      { type: 'thinking', thinking: '', signature: '' },
      [{ type: 'thinking_delta', thinking: piece.think }, ...signed],
    ]
  }
  if ('redacted' in piece) return [{ type: 'redacted_thinking', data: piece.redacted }, []]
  if ('block' in piece) return [piece.block, []]
  if ('say' in piece) return [{ type: 'text', text: '' }, [{ type: 'text_delta', text: piece.say }]]
  return [
    { type: 'tool_use', id: piece.id, name: piece.call, input: {} },
    [{ type: 'input_json_delta', partial_json: argsText(piece.args) }],
  ]
}

/** DeepSeek and all that speak as it does. */
export const asChat: Encode =
  (pieces, finish = 'stop', usage = {}) =>
  (exchange) => {
    const chunk = (delta: object, reason: string | null = null): void =>
      exchange.event({
        id: 'c1',
        object: 'chat.completion.chunk',
        created: 1,
        model: 'm',
        choices: [{ index: 0, delta, finish_reason: reason }],
      })
    let index = -1
    for (const piece of pieces) {
      if ('think' in piece) chunk({ reasoning_content: piece.think })
      else if ('say' in piece) chunk({ content: piece.say })
      else if ('call' in piece)
        chunk({
          tool_calls: [
            {
              index: ++index,
              id: piece.id,
              type: 'function',
              function: { name: piece.call, arguments: argsText(piece.args) },
            },
          ],
        })
    }
    chunk(
      {},
      { stop: acts(pieces) ? 'tool_calls' : 'stop', length: 'length', filter: 'content_filter', pause: 'stop' }[finish],
    )
    const counted = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18, ...usage }
    exchange.event({ id: 'c1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: counted })
    exchange.raw('data: [DONE]\n\n')
    exchange.end()
  }

/** Items of the Responses API; `mark` is the encrypted content, and the items are numbered by it. */
export const asResponses: Encode =
  (pieces, finish = 'stop', usage = {}) =>
  (exchange) => {
    let sequence = 0
    const send = (type: string, fields: object): void =>
      exchange.event({ type, sequence_number: sequence++, ...fields }, type)
    send('response.created', { response: { id: 'resp_1', created_at: 1, model: 'gpt-5', service_tier: null } })
    pieces.forEach((piece, index) => responseItem(send, piece, index))
    const counted = { input_tokens: 11, output_tokens: 7, total_tokens: 18, ...usage }
    const cut = { length: 'max_output_tokens', filter: 'content_filter', stop: undefined, pause: undefined }[finish]
    const response = {
      id: 'resp_1',
      created_at: 1,
      model: 'gpt-5',
      usage: counted,
      ...(cut && { incomplete_details: { reason: cut } }),
    }
    send(cut ? 'response.incomplete' : 'response.completed', { response })
    exchange.end()
  }

function responseItem(send: (type: string, fields: object) => void, piece: Piece, index: number): void {
  const at = { output_index: index }
  if ('think' in piece) {
    const item = { type: 'reasoning', id: `rs_${piece.mark}`, summary: [] }
    send('response.output_item.added', { ...at, item: { ...item, encrypted_content: null } })
    if (piece.think !== '') {
      send('response.reasoning_summary_part.added', { ...at, item_id: item.id, summary_index: 0 })
      send('response.reasoning_summary_text.delta', { ...at, item_id: item.id, summary_index: 0, delta: piece.think })
      send('response.reasoning_summary_part.done', { ...at, item_id: item.id, summary_index: 0 })
    }
    send('response.output_item.done', { ...at, item: { ...item, encrypted_content: piece.mark } })
  } else if ('say' in piece) {
    const item = { type: 'message', id: `msg_${index}`, role: 'assistant', status: 'completed', content: [] }
    send('response.output_item.added', { ...at, item })
    send('response.output_text.delta', { ...at, item_id: item.id, content_index: 0, delta: piece.say, logprobs: [] })
    send('response.output_item.done', { ...at, item })
  } else if ('call' in piece) {
    const item = { type: 'function_call', id: `fc_${index}`, call_id: piece.id, name: piece.call, arguments: '' }
    send('response.output_item.added', { ...at, item })
    send('response.function_call_arguments.delta', { ...at, item_id: item.id, delta: argsText(piece.args) })
    send('response.output_item.done', {
      ...at,
      item: { ...item, arguments: argsText(piece.args), status: 'completed' },
    })
  }
}

export const asGoogle: Encode =
  (pieces, finish = 'stop', usage = {}) =>
  (exchange: Exchange) => {
    const reason = { stop: 'STOP', length: 'MAX_TOKENS', filter: 'SAFETY', pause: 'OTHER' }[finish]
    for (const piece of pieces)
      exchange.event({ candidates: [{ content: { role: 'model', parts: [googlePart(piece)] } }] })
    exchange.event({
      candidates: [{ content: { role: 'model', parts: [] }, finishReason: reason }],
      usageMetadata: { promptTokenCount: 11, candidatesTokenCount: 7, totalTokenCount: 18, ...usage },
    })
    exchange.end()
  }

function googlePart(piece: Piece): object {
  const signed = 'mark' in piece && piece.mark !== undefined ? { thoughtSignature: piece.mark } : {}
  if ('think' in piece) return { text: piece.think, thought: true, ...signed }
  if ('redacted' in piece) return { text: piece.redacted, thought: true }
  if ('block' in piece) return piece.block
  return 'say' in piece
    ? { text: piece.say, ...signed }
    : { functionCall: { id: piece.id, name: piece.call, args: piece.args }, ...signed }
}
