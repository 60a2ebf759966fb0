/**
 * The messages of a transcript.
 *
 * M1  A call has Skein's own id, `call_<step>_<index>`, unique in its thread. Ids of providers are not used: models
 *     repeat them.
 * M2  Every call in the transcript is followed by exactly one tool message with its id, in call order.
 */
import type { Failure } from '../failure.js'
import type { Json } from '../json.js'
import type { ProviderParts } from './provider-parts.js'
import type { Media } from '../media.js'

/** A side of a `dual_ai` agent. */
export type SideName = 'a' | 'b'

export type Role = 'user' | 'assistant' | 'tool' | 'system'

export interface Call {
  readonly id: string
  readonly tool: string
  /** Validated args; if validation failed, what the model sent. */
  readonly args: Json
}

export interface Message {
  readonly id: string
  readonly role: Role
  readonly text: string
  readonly at: number
  readonly reasoning?: string
  /** Provider data that is sent back to the model that replied. */
  readonly kept?: ProviderParts
  /** Assistant message: the calls that it requests. */
  readonly calls?: readonly Call[]
  /** Tool message: the id of the call that it answers, its tool, and its failure. */
  readonly call?: string
  readonly tool?: string
  readonly failed?: Failure
  /** It is always shown whole. */
  readonly whole?: true
  /** The result of an equal call of the same run. */
  readonly fromCache?: true
  /** Thread with two sides: the side whose text, call or result it is. Absent: it came from outside. */
  readonly side?: SideName
  /** The label of that side. */
  readonly label?: string
  /** Only this side reads it. */
  readonly to?: SideName
  /** Paths of files that came with it. */
  readonly attachments?: readonly string[]
  /** Images and documents that a model is shown with it. */
  readonly media?: readonly Media[]
  /** The model reads it; lists hide it. */
  readonly silent?: boolean
}

/** A message, and the record with which it was read. */
export interface NumberedMessage extends Message {
  readonly seq: number
}

/** The message for lists and streams: without provider data. */
export function shown(message: Message): Message {
  if (!message.kept) return message
  const { kept: _, ...rest } = message
  return rest
}

/** Every thread has the same ids in its first steps: one text for all of them. */
const sharedSteps = 32
const sharedIndexes = 32

function sharedIds(prefix: string): (step: number, index: number) => string {
  const known: string[] = []
  return (step, index) =>
    step < sharedSteps && index < sharedIndexes
      ? (known[step * sharedIndexes + index] ??= `${prefix}_${step}_${index}`)
      : `${prefix}_${step}_${index}`
}

export const callId = sharedIds('call')
/** Of the message with the result of a call. */
export const resultId = sharedIds('result')

const stepIds: string[] = []

/** Of the message that a step begins with. */
export function stepId(step: number): string {
  return step < sharedSteps ? (stepIds[step] ??= `step_${step}`) : `step_${step}`
}

/** The step and index of a call id; undefined if it is no call id. */
export function parseCallId(id: string): { readonly step: number; readonly index: number } | undefined {
  const [, step, index] = /^call_(\d+)_(\d+)$/.exec(id) ?? []
  return step === undefined || index === undefined ? undefined : { step: Number(step), index: Number(index) }
}

/** The id of the call that a call undoes; undefined if it undoes none. */
export function revertedBy({
  revert,
}: {
  readonly revert?: true | { readonly step: number; readonly index: number } | undefined
}): string | undefined {
  return typeof revert === 'object' ? callId(revert.step, revert.index) : undefined
}

/** The text of a tool's value for the model: a string as it is, anything else as JSON. */
export function resultText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The text of a failed call for the model: the code first, so that kinds of failure can be told apart. */
export function failureText(failed: Failure): string {
  return `Error ${failed.code}: ${failed.message}`
}
