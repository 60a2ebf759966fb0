/**
 * Collects the parts of a streamed reply: texts, reasoning and calls in the provider's order, each with the provider's
 * own metadata.
 *
 * - A part begins with its `-start`, or with its first delta if there is none; an id that starts again is a new part.
 * - The last value of a metadata field counts: signatures come at the end.
 */
import { isObject, toJson } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { toProviderParts } from '../../core/records/provider-parts.js'
import type { ProviderParts, ProviderPart } from '../../core/records/provider-parts.js'
import type { ModelDelta, RequestedCall } from '../port.js'
import { checkCalls } from '../retry/reply-limits.js'

export type GatheredPart = { readonly [key: string]: unknown }

type Meta = Record<string, Record<string, unknown>>

interface TextPart {
  readonly type: 'text' | 'reasoning'
  text: string
  meta: Meta | undefined
}

interface CallPart {
  readonly type: 'call'
  readonly index: number
  readonly tool: string
  input?: unknown
  /** A delta with args has arrived. */
  argsSeen: boolean
  complete: boolean
  meta: Meta | undefined
}

/** A call that the provider runs itself, or its result; opaque. */
interface ProviderRunPart {
  readonly type: 'run' | 'ran'
  readonly id: string
  readonly tool: string
  readonly value: unknown
  readonly failed: boolean
  meta: Meta | undefined
}

interface CollectedReply {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly RequestedCall[]
  readonly kept: ProviderParts | undefined
}

export class PartCollector {
  readonly #emit: (delta: ModelDelta) => void
  /** In the order of their beginnings. */
  readonly #parts: (TextPart | CallPart | ProviderRunPart)[] = []
  readonly #texts = new Map<string, TextPart>()
  /** By the provider's id, which may occur twice. */
  readonly #callsById = new Map<string, CallPart[]>()
  #calls = 0

  constructor(emit: (delta: ModelDelta) => void) {
    this.#emit = emit
  }

  take(part: GatheredPart): void {
    switch (part['type']) {
      case 'text-start':
        return this.#begin('text', part)
      case 'reasoning-start':
        return this.#begin('reasoning', part)
      case 'text-delta':
        return this.#append('text', part)
      case 'reasoning-delta':
        return this.#append('reasoning', part)
      case 'text-end':
        return addMeta(this.#texts.get(textKey('text', part)), part)
      case 'reasoning-end':
        return addMeta(this.#texts.get(textKey('reasoning', part)), part)
      case 'tool-input-start':
        if (part['providerExecuted'] !== true) this.#beginCall(part['id'], part['toolName'])
        return
      case 'tool-input-delta':
        return this.#appendArgs(part)
      case 'tool-call':
        return part['providerExecuted'] === true ? this.#noteRun('run', part) : this.#completeCall(part)
      case 'tool-result':
        return this.#noteRun('ran', part)
      case 'error':
        throw part['error']
      default:
    }
  }

  /** `cut`: the reply ended early, so the args of a call may be incomplete. */
  whole(origin: string, cut: boolean): CollectedReply {
    const calls = this.#parts.filter((part): part is CallPart => part.type === 'call' && part.complete)
    const indices = new Map(calls.map((call, index) => [call, index]))
    const ran = new Set(this.#parts.flatMap((part) => (isRun(part) && part.type === 'ran' ? [part.id] : [])))
    const parts = this.#parts.flatMap((part): readonly ProviderPart[] => {
      const meta = part.meta && toJson(part.meta)
      const data = meta === undefined ? {} : { meta }
      // What the provider began and did not end would be refused when it is sent back.
      if (cut && isRun(part) && !ran.has(part.id)) return []
      if (isRun(part)) return [{ ...runOf(part), ...data }]
      if (part.type !== 'call') return [{ type: part.type, length: part.text.length, ...data }]
      const index = indices.get(part)
      return index === undefined ? [] : [{ type: 'call', index, ...data }]
    })
    return {
      text: this.#join('text'),
      reasoning: this.#join('reasoning'),
      calls: calls.map((call) => ({ tool: call.tool, args: cut && hasNoArgs(call) ? '' : argsOf(call.input) })),
      kept: toProviderParts(origin, parts),
    }
  }

  #noteRun(type: ProviderRunPart['type'], part: GatheredPart): void {
    // Results that are told in stages are final only at the end.
    if (part['preliminary'] === true) return
    const run: ProviderRunPart = {
      type,
      id: textOf(part['toolCallId']),
      tool: textOf(part['toolName']),
      value: type === 'run' ? part['input'] : part['result'],
      failed: part['isError'] === true,
      meta: undefined,
    }
    this.#parts.push(run)
    addMeta(run, part)
  }

  #join(type: TextPart['type']): string {
    return this.#parts.map((part) => (isTextOf(part, type) ? part.text : '')).join('')
  }

  #begin(type: TextPart['type'], part: GatheredPart): void {
    const begun: TextPart = { type, text: '', meta: undefined }
    this.#texts.set(textKey(type, part), begun)
    this.#parts.push(begun)
    addMeta(begun, part)
  }

  #append(type: TextPart['type'], part: GatheredPart): void {
    const key = textKey(type, part)
    if (!this.#texts.has(key)) this.#begin(type, part)
    const open = this.#texts.get(key)
    const text = textOf(part['delta'])
    addMeta(open, part)
    if (!open || text === '') return
    open.text += text
    this.#emit({ type, text })
  }

  #beginCall(id: unknown, tool: unknown): CallPart {
    checkCalls(this.#calls + 1)
    const call: CallPart = {
      type: 'call',
      index: this.#calls++,
      tool: textOf(tool),
      argsSeen: false,
      complete: false,
      meta: undefined,
    }
    const key = textOf(id)
    this.#callsById.set(key, [...(this.#callsById.get(key) ?? []), call])
    this.#parts.push(call)
    return call
  }

  #appendArgs(part: GatheredPart): void {
    const call = this.#callsById.get(textOf(part['id']))?.at(-1)
    const text = textOf(part['delta'])
    if (!call || text === '') return
    call.argsSeen = true
    this.#emit({ type: 'call', index: call.index, tool: call.tool, text })
  }

  #completeCall(part: GatheredPart): void {
    const call =
      this.#callsById.get(textOf(part['toolCallId']))?.find(({ complete }) => !complete) ??
      this.#beginCall(part['toolCallId'], part['toolName'])
    call.complete = true
    call.input = part['input']
    addMeta(call, part)
  }
}

function isRun(part: { readonly type: string }): part is ProviderRunPart {
  return part.type === 'run' || part.type === 'ran'
}

function isTextOf(part: { readonly type: string }, type: TextPart['type']): part is TextPart {
  return part.type === type
}

function textKey(type: TextPart['type'], part: GatheredPart): string {
  return `${type}/${textOf(part['id'])}`
}

function runOf({ type, id, tool, value, failed }: ProviderRunPart): ProviderPart {
  const given = toJson(value ?? null)
  if (type === 'ran') return { type, id, tool, value: given, ...(failed && { failed }) }
  return { type, id, tool, args: typeof given === 'string' ? parsed(given) : given }
}

/** Args come as the text of JSON. */
function parsed(text: string): Json {
  try {
    return toJson(JSON.parse(text))
  } catch {
    // Whatever the provider sent, it is sent back.
    return text
  }
}

function addMeta(target: { meta: Meta | undefined } | undefined, part: GatheredPart): void {
  const metadata = part['providerMetadata']
  if (!target || !isObject(metadata)) return
  for (const [provider, fields] of Object.entries(metadata)) {
    if (!isObject(fields) || Object.keys(fields).length === 0) continue
    target.meta ??= Object.create(null) as Meta
    target.meta[provider] = { ...target.meta[provider], ...fields }
  }
}

/** A provider package may turn args that never arrived into an empty object. */
function hasNoArgs({ input, argsSeen }: CallPart): boolean {
  return !argsSeen && argsOf(input) === '{}'
}

/** Several models send no text at all for a tool without args. */
function argsOf(input: unknown): unknown {
  if (input === undefined || input === null) return '{}'
  return typeof input === 'string' && input.trim() === '' ? '{}' : input
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
