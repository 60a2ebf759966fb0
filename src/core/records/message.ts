/**
 * What a thread and its model say to each other, as the transcript keeps it.
 *
 * M1  A call has Skein's own id, `call_<step>_<index>`, unique in its thread. A provider's id is never
 *     used: models repeat them.
 * M2  Every call in the transcript is followed by exactly one tool message with its id, in call order.
 */
import type { Failure } from '../failure.js'
import type { Json } from '../json.js'
import type { ProviderParts } from './provider-parts.js'
import type { Media } from '../media.js'

/** One of the two that speak in a thread of a `dual_ai` agent. */
export type SideName = 'a' | 'b'

export type Role = 'user' | 'assistant' | 'tool' | 'system'

export interface Call {
  readonly id: string
  readonly tool: string
  /** Validated args; where validation failed, what the model sent. */
  readonly args: Json
}

export interface Message {
  readonly id: string
  readonly role: Role
  readonly text: string
  readonly at: number
  readonly reasoning?: string
  /** What the model that said it wants to hear again. */
  readonly kept?: ProviderParts
  /** Of an assistant message: what it asks to be done. */
  readonly calls?: readonly Call[]
  /** Of a tool message: the call it answers, and how that went. */
  readonly call?: string
  readonly tool?: string
  readonly failed?: Failure
  /** The result of an equal call of the same run. */
  readonly fromCache?: true
  /** Of a thread with two sides: whose words, call or result it is. Without: it came from outside. */
  readonly side?: SideName
  /** What people call the side that said it. */
  readonly label?: string
  /** Only this side reads it. */
  readonly to?: SideName
  /** Paths of files that came with it. */
  readonly attachments?: readonly string[]
  /** Images and documents that a model is shown with it. */
  readonly media?: readonly Media[]
  /** The model sees it, lists hide it. */
  readonly silent?: boolean
}

/** As lists and streams give it: what only its model understands is left out. */
export function shown(message: Message): Message {
  if (!message.kept) return message
  const { kept: _, ...rest } = message
  return rest
}

export function callId(step: number, index: number): string {
  return `call_${step}_${index}`
}

/** The step and index of a call's id, or undefined when it is none. */
export function parseCallId(id: string): { readonly step: number; readonly index: number } | undefined {
  const [, step, index] = /^call_(\d+)_(\d+)$/.exec(id) ?? []
  return step === undefined || index === undefined ? undefined : { step: Number(step), index: Number(index) }
}

/** What the model reads of a tool's value: text as it is, anything else as JSON. */
export function resultText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What the model reads of a failed call: the code first, so that it can tell kinds of failure apart. */
export function failureText(failed: Failure): string {
  return `Error ${failed.code}: ${failed.message}`
}
