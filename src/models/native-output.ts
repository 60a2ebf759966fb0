/**
 * A model that gives structured output by its provider's own mode (`structuredOutput` of its definition). The rest of
 * Skein knows one way to give an output, the tool `response`: here its spec becomes the form of the reply's text, and
 * that text becomes its call. So an output is checked, corrected and recorded in one way, and a fallback may have none.
 *
 * - A text that is no JSON stays a text: the turn asks for the output again.
 * - What the thread keeps of earlier outputs is read as the model said it: a text; a refusal of one as a message.
 * - A text is told (`emit`) when it is known what it is; where no other tool is offered it is the output.
 */
import { defined } from '../core/defined.js'
import { isObject } from '../core/json.js'
import type { Message } from '../core/records/message.js'
import { onAbort } from './retry/abort.js'
import type { Model, ModelCallOptions, ModelReply, ModelRequest, ToolSpec } from './port.js'

/** `native`: where `response` is the only tool. `native_with_tools`: also beside others. */
export type StructuredOutput = 'tool' | 'native' | 'native_with_tools'

const output = 'response'

export function withNativeOutput(model: Model, mode: StructuredOutput | undefined): Model {
  if (mode === undefined || mode === 'tool') return model
  return {
    name: model.name,
    call(request, options) {
      const spec = request.tools.find(({ name }) => name === output)
      const others = request.tools.filter(({ name }) => name !== output)
      if (!spec || (others.length > 0 && mode === 'native')) return model.call(request, options)
      const native = nativeRequest(request, spec, others)
      return request.summary ? model.call(asText(native), options) : ask(model, native, options)
    },
  }
}

function nativeRequest(request: ModelRequest, spec: ToolSpec, tools: readonly ToolSpec[]): ModelRequest {
  const { toolChoice, ...rest } = request
  const isForced = typeof toolChoice === 'object' && toolChoice.tool === output
  const choice = isForced ? 'none' : toolChoice
  return {
    ...rest,
    tools,
    messages: request.messages.flatMap(asSaid),
    output: { name: output, description: spec.description, schema: spec.parameters },
    ...(tools.length > 0 && defined({ toolChoice: choice })),
  }
}

/** A summary is a text, in no form. */
function asText({ output: _, ...request }: ModelRequest): ModelRequest {
  return request
}

async function ask(model: Model, request: ModelRequest, options: ModelCallOptions): Promise<ModelReply> {
  const isOnly = request.tools.length === 0
  let held = ''
  const { emit } = options
  const reply = await model.call(request, {
    // A getter: reading the signal creates it.
    get signal() {
      return options.signal
    },
    onAbort: (listener) => onAbort(options, listener),
    emit(delta) {
      if (delta.type !== 'text') return emit(delta)
      if (isOnly) emit({ type: 'call', index: 0, tool: output, text: delta.text })
      else held += delta.text
    },
    restarted() {
      held = ''
      options.restarted?.()
    },
    waiting: (wait) => options.waiting?.(wait),
    heard: () => options.heard?.(),
  })
  if (reply.calls.length > 0 || !isJson(reply.text)) {
    if (held !== '') emit({ type: 'text', text: held })
    return reply
  }
  if (held !== '') emit({ type: 'call', index: 0, tool: output, text: held })
  // Provider data belongs to a text that the message will not have.
  const { kept: _, ...rest } = reply
  return { ...rest, text: '', calls: [{ tool: output, args: reply.text }], finish: finishOf(reply) }
}

/** A cut text is no whole output, whatever its JSON says. */
function finishOf({ finish }: ModelReply): ModelReply['finish'] {
  return finish === 'stop' ? 'tool_calls' : finish
}

/** An object: the form of an output always is one. */
function isJson(text: string): boolean {
  try {
    return isObject(JSON.parse(text))
  } catch {
    // A sentence, or the half of an object.
    return false
  }
}

/** Converted once: adapters know messages by identity. */
const converted = new WeakMap<Message, readonly Message[]>()

function asSaid(message: Message): readonly Message[] {
  let known = converted.get(message)
  if (!known) {
    known = convert(message)
    converted.set(message, known)
  }
  return known
}

const askedAgain = 'Give your final answer now, in the form that was asked for, and nothing else.'

function convert(message: Message): readonly Message[] {
  if (message.role === 'system' && message.id.startsWith('asked_')) return [{ ...message, text: askedAgain }]
  if (message.role === 'tool' && message.tool === output) {
    if (!message.failed) return []
    return [{ id: message.id, role: 'system', text: message.text, at: message.at, silent: true }]
  }
  const given = message.calls?.filter(({ tool }) => tool === output) ?? []
  if (given.length === 0) return [message]
  const { calls = [], kept: _, ...rest } = message
  const left = calls.filter(({ tool }) => tool !== output)
  const text = [message.text, ...given.map(({ args }) => JSON.stringify(args))].filter((each) => each !== '').join('\n')
  return [{ ...rest, text, ...(left.length > 0 && { calls: left }) }]
}
