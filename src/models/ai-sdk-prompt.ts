/**
 * Skein's messages as the prompt of an AI SDK model (the shape is the same in v2, v3 and v4).
 *
 * PR1 A message is converted once: messages never change, so a step converts only what is new.
 * PR2 Consecutive tool messages are one 'tool' message; ids are Skein's (M1), so calls and results match.
 * PR3 Nothing is sent that providers refuse for ever after: no blank text, no assistant message without
 *     content, no call whose args are not an object. A bad message would block its thread for good.
 * PR4 A system message inside the transcript goes out as a marked user message: several providers refuse
 *     or hoist a system message that is not the first. Reasoning stays here: providers want it signed.
 */
import { isObject } from '../core/json.js'
import { type Call, failureText, type Message } from '../core/message.js'

interface TextPart {
  readonly type: 'text'
  readonly text: string
}

interface CallPart {
  readonly type: 'tool-call'
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
}

interface ResultPart {
  readonly type: 'tool-result'
  readonly toolCallId: string
  readonly toolName: string
  readonly output: { readonly type: 'text' | 'error-text'; readonly value: string }
}

export type PromptMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user'; readonly content: readonly TextPart[] }
  | { readonly role: 'assistant'; readonly content: readonly (TextPart | CallPart)[] }
  | { readonly role: 'tool'; readonly content: readonly ResultPart[] }

type Converted = Exclude<PromptMessage, { readonly role: 'tool' }> | ResultPart | 'nothing'

const converted = new WeakMap<Message, Converted>()

export function toPrompt(system: string, messages: readonly Message[]): PromptMessage[] {
  const prompt: PromptMessage[] = []
  if (system.trim() !== '') prompt.push({ role: 'system', content: system })
  let results: ResultPart[] | undefined
  for (const message of messages) {
    const one = convertOnce(message)
    if (one === 'nothing') continue
    if ('role' in one) {
      results = undefined
      prompt.push(one)
    } else if (results) {
      results.push(one)
    } else {
      results = [one]
      prompt.push({ role: 'tool', content: results })
    }
  }
  return prompt
}

function convertOnce(message: Message): Converted {
  let known = converted.get(message)
  if (!known) {
    known = convert(message)
    converted.set(message, known)
  }
  return known
}

function convert(message: Message): Converted {
  switch (message.role) {
    case 'user':
      return userMessage(message.text)
    case 'system':
      return userMessage(`<system-message>\n${message.text}\n</system-message>`)
    case 'assistant':
      return assistantMessage(message)
    case 'tool':
      return {
        type: 'tool-result',
        toolCallId: message.call ?? message.id,
        toolName: message.tool ?? 'unknown',
        output: message.failed
          ? { type: 'error-text', value: message.text || failureText(message.failed) }
          : { type: 'text', value: message.text },
      }
  }
}

function userMessage(text: string): Converted {
  return { role: 'user', content: [{ type: 'text', text: text.trim() === '' ? '(empty message)' : text }] }
}

function assistantMessage({ text, calls = [] }: Message): Converted {
  const content: (TextPart | CallPart)[] = []
  if (text.trim() !== '') content.push({ type: 'text', text })
  for (const call of calls) content.push(callPart(call))
  return content.length === 0 ? 'nothing' : { role: 'assistant', content }
}

function callPart({ id, tool, args }: Call): CallPart {
  // What the model sent may be anything; it should see it again, next to the error it led to (PR3).
  return { type: 'tool-call', toolCallId: id, toolName: tool, input: isObject(args) ? args : { raw: args } }
}
