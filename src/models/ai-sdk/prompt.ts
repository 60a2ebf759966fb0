/**
 * Skein's messages as the prompt of an AI SDK model (v2, v3 and v4 differ only in the form of files, pictures.ts).
 *
 * - A message is converted once: messages never change, so a step converts only new ones.
 * - Consecutive tool messages become one 'tool' message; ids are Skein's (M1: `call_<step>_<index>`).
 * - Nothing is sent that a provider would refuse from then on: no blank text, no assistant message without content, no
 *   args that are not an object, no reasoning at the end, no name or surrogate that is not accepted (sendable.ts).
 * - A system message inside the transcript is sent as a marked user message: several providers refuse or hoist a
 *   system message that is not the first.
 * - Provider data of a reply is sent back in its place to the model that gave it (KP1: to no other).
 */
import { defined } from '../../core/defined.js'
import { isObject } from '../../core/json.js'
import { piecesOfParts } from '../../core/records/provider-parts.js'
import type { ProviderPart } from '../../core/records/provider-parts.js'
import { type Call, failureText, type Message } from '../../core/records/message.js'
import { sendableJson, sendableName, sendableText } from '../sendable.js'
import { fileParts, illustrated } from './pictures.js'
import type { FilePart, Pictures } from './pictures.js'

/** Provider data, unchanged. */
type Meta = { readonly [key: string]: unknown }

export interface TextPart {
  readonly type: 'text' | 'reasoning'
  readonly text: string
  readonly providerOptions?: Meta
}

interface CallPart {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
  readonly providerOptions?: Meta
}

interface ResultPart {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly output:
    | { readonly type: 'text' | 'error-text'; readonly value: string }
    | { readonly type: 'content'; readonly value: readonly object[] }
}

/** A call that the provider ran, and its result: both are part of the assistant's message. */
interface ProviderCallPart extends CallPart {
  readonly providerExecuted: true
}

interface ProviderResultPart {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly output: { readonly type: 'json' | 'error-json'; readonly value: unknown }
  readonly providerOptions?: Meta
}

type AssistantPart = TextPart | CallPart | ProviderCallPart | ProviderResultPart

export type PromptMessage = { readonly providerOptions?: Meta } & (
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: readonly (TextPart | FilePart)[] }
  | { readonly role: 'assistant'; readonly content: readonly AssistantPart[] }
  | { readonly role: 'tool'; readonly content: readonly ResultPart[] }
)

export type Converted = Exclude<PromptMessage, { readonly role: 'tool' }> | ResultPart | 'nothing'

/**
 * Which reasoning of earlier replies is sent: `kept`, that of the model itself with its provider data; `bare`, none;
 * `told`, the readable reasoning of every reply with calls, of whichever model.
 */
export type Thoughts = 'kept' | 'bare' | 'told'

export interface PromptOptions {
  readonly system: string
  readonly messages: readonly Message[]
  /** The model that is called, as in `ProviderParts.origin`. */
  readonly origin: string
  readonly thoughts: Thoughts
  /** Absent: the model reads notes in place of files. */
  readonly pictures?: Pictures
}

const plain = new WeakMap<Message, Converted>()
/** With their provider data. */
const whole = new WeakMap<Message, Converted>()

export function toPrompt({ system, messages, origin, thoughts, pictures }: PromptOptions): PromptMessage[] {
  const prompt: PromptMessage[] = []
  if (system.trim() !== '') prompt.push({ role: 'system', content: sendableText(system) })
  let results: ResultPart[] | undefined
  let late: FilePart[] = []
  const flush = (): void => {
    results = undefined
    if (late.length > 0)
      prompt.push({ role: 'user', content: [{ type: 'text', text: '(What the tools above have shown:)' }, ...late] })
    late = []
  }
  for (const message of messages) {
    const plainly =
      thoughts === 'told' ? told(message) : convertOnce(message, thoughts === 'kept' && message.kept?.origin === origin)
    const one = message.media ? illustrated(plainly, message.media, pictures) : plainly
    if (one === 'nothing') continue
    if ('role' in one) {
      flush()
      prompt.push(one)
      continue
    }
    if (!results) prompt.push({ role: 'tool', content: (results = []) })
    results.push(one)
    // All results come first; files that cannot be part of them follow.
    if (message.media && pictures?.results === 'after') late.push(...fileParts(message.media, pictures))
  }
  flush()
  return prompt
}

/** Whether a prompt for this model contains provider data. */
export function isFromProvider(origin: string, messages: readonly Message[]): boolean {
  return messages.some(({ kept }) => kept?.origin === origin)
}

function convertOnce(message: Message, own: boolean): Converted {
  const cache = own ? whole : plain
  let known = cache.get(message)
  if (!known) {
    known = convert(message, own)
    cache.set(message, known)
  }
  return known
}

function convert(message: Message, own: boolean): Converted {
  switch (message.role) {
    case 'user':
      return userMessage(message.text)
    case 'system':
      return userMessage(`<system-message>\n${message.text}\n</system-message>`)
    case 'assistant':
      return assistantMessage(own ? (keptParts(message) ?? plainParts(message)) : plainParts(message))
    case 'tool':
      return {
        type: 'tool-result',
        toolCallId: message.call ?? message.id,
        toolName: sendableName(message.tool ?? 'unknown'),
        output: message.failed
          ? { type: 'error-text', value: sendableText(message.text || failureText(message.failed)) }
          : { type: 'text', value: sendableText(message.text) },
      }
  }
}

function told(message: Message): Converted {
  if (message.role !== 'assistant' || !message.calls) return convertOnce(message, false)
  return assistantMessage([{ type: 'reasoning', text: message.reasoning || '(not kept)' }, ...plainParts(message)])
}

function userMessage(text: string): Converted {
  return {
    role: 'user',
    content: [{ type: 'text', text: text.trim() === '' ? '(empty message)' : sendableText(text) }],
  }
}

function assistantMessage(parts: readonly AssistantPart[]): Converted {
  const said = parts.filter((part) => part.type !== 'text' || part.text.trim() !== '')
  const last = said.findLastIndex(({ type }) => type !== 'reasoning')
  return last === -1 ? 'nothing' : { role: 'assistant', content: said.slice(0, last + 1) }
}

function plainParts({ text, calls = [] }: Message): readonly AssistantPart[] {
  return [{ type: 'text', text: sendableText(text) }, ...calls.map((call) => callPart(call))]
}

/** The parts with provider data; undefined if they do not match the message any more. */
function keptParts({ kept, text, reasoning, calls = [] }: Message): readonly AssistantPart[] | undefined {
  // The text of an earlier turn may be left out while its calls are there.
  const parts = text === '' ? kept?.parts.filter(({ type }) => type !== 'text') : kept?.parts
  const pieces = parts && piecesOfParts(parts, { text, ...defined({ reasoning: reasoning || undefined }) })
  if (!parts || !pieces || parts.filter(({ type }) => type === 'call').length !== calls.length) return undefined
  return parts.flatMap((part, at): readonly AssistantPart[] => {
    if (part.type === 'run' || part.type === 'ran') return [{ ...providerPart(part), ...optionsOf(part) }]
    if (part.type !== 'call') return [{ type: part.type, text: sendableText(pieces[at] ?? ''), ...optionsOf(part) }]
    const call = calls[part.index]
    return call ? [{ ...callPart(call), ...optionsOf(part) }] : []
  })
}

function providerPart(
  part: Extract<ProviderPart, { readonly type: 'run' | 'ran' }>,
): ProviderCallPart | ProviderResultPart {
  const { id: toolCallId, tool: toolName } = part
  if (part.type === 'run') return { type: 'tool-call', toolCallId, toolName, input: part.args, providerExecuted: true }
  const { failed, value } = part
  return { type: 'tool-result', toolCallId, toolName, output: { type: failed ? 'error-json' : 'json', value } }
}

/**
 * Gemini behind an OpenAI-compatible server: the package returns the signature under its own name, but reads it under
 * `google`.
 */
function optionsOf({ meta }: ProviderPart): { readonly providerOptions?: Meta } {
  if (!isObject(meta)) return {}
  const signed = Object.values(meta).find((fields) => isObject(fields) && 'thoughtSignature' in fields)
  return { providerOptions: signed === undefined || 'google' in meta ? meta : { ...meta, google: signed } }
}

function callPart({ id, tool, args }: Call): CallPart {
  // The model may have sent anything; it reads it again next to the error.
  return {
    type: 'tool-call',
    toolCallId: id,
    toolName: sendableName(tool),
    input: sendableJson(isObject(args) ? args : { raw: args }),
  }
}
