/**
 * The parts of a reply as they come: texts, thoughts and calls in the provider's order, with the provider's own data
 * on each.
 *
 * - A part begins with its `-start`, or with its first piece where there is none; an id that begins again is
 *   another part.
 * - Of the same field of a part's data the last one counts: signatures come at the end.
 */
import { isObject, toJson } from '../../core/json.js'
import { toProviderParts } from '../../core/records/provider-parts.js'
import type { ProviderParts, ProviderPart } from '../../core/records/provider-parts.js'
import type { ModelDelta, RequestedCall } from '../port.js'
import { checkCalls } from '../retry/reply-limits.js'

export type GatheredPart = { readonly [key: string]: unknown }

type Meta = Record<string, Record<string, unknown>>

interface Words {
  readonly type: 'text' | 'reasoning'
  text: string
  meta: Meta | undefined
}

interface Asked {
  readonly type: 'call'
  readonly index: number
  readonly tool: string
  input?: unknown
  /** Some of its args came piece by piece. */
  spelt: boolean
  made: boolean
  meta: Meta | undefined
}

interface Whole {
  readonly text: string
  readonly reasoning: string
  readonly calls: readonly RequestedCall[]
  readonly kept: ProviderParts | undefined
}

export class PartCollector {
  readonly #emit: (delta: ModelDelta) => void
  /** In order of first sight. */
  readonly #parts: (Words | Asked)[] = []
  readonly #words = new Map<string, Words>()
  /** By the provider's id, which may be given twice. */
  readonly #asked = new Map<string, Asked[]>()
  #calls = 0

  constructor(emit: (delta: ModelDelta) => void) {
    this.#emit = emit
  }

  take(part: GatheredPart): void {
    switch (part['type']) {
      case 'text-start':
      case 'reasoning-start':
        return this.#begin(part['type'] === 'text-start' ? 'text' : 'reasoning', part)
      case 'text-delta':
      case 'reasoning-delta':
        return this.#say(part['type'] === 'text-delta' ? 'text' : 'reasoning', part)
      case 'text-end':
      case 'reasoning-end':
        return note(this.#words.get(wordsKey(part['type'] === 'text-end' ? 'text' : 'reasoning', part)), part)
      case 'tool-input-start':
        if (part['providerExecuted'] !== true) this.#ask(part['id'], part['toolName'])
        return
      case 'tool-input-delta':
        return this.#spell(part)
      case 'tool-call':
        if (part['providerExecuted'] !== true) this.#make(part)
        return
      case 'error':
        throw part['error']
      default:
    }
  }

  /** `cut`: the reply was ended before it was whole, and so may be the args of a call. */
  whole(origin: string, cut: boolean): Whole {
    const made = this.#parts.filter((part): part is Asked => part.type === 'call' && part.made)
    const places = new Map(made.map((call, index) => [call, index]))
    const parts = this.#parts.flatMap((part): readonly ProviderPart[] => {
      const meta = part.meta && toJson(part.meta)
      const data = meta === undefined ? {} : { meta }
      if (part.type !== 'call') return [{ type: part.type, length: part.text.length, ...data }]
      const index = places.get(part)
      return index === undefined ? [] : [{ type: 'call', index, ...data }]
    })
    return {
      text: this.#all('text'),
      reasoning: this.#all('reasoning'),
      calls: made.map((call) => ({ tool: call.tool, args: cut && isUnspelt(call) ? '' : argsOf(call.input) })),
      kept: toProviderParts(origin, parts),
    }
  }

  #all(type: Words['type']): string {
    return this.#parts.map((part) => (part.type === type ? part.text : '')).join('')
  }

  #begin(type: Words['type'], part: GatheredPart): void {
    const words: Words = { type, text: '', meta: undefined }
    this.#words.set(wordsKey(type, part), words)
    this.#parts.push(words)
    note(words, part)
  }

  #say(type: Words['type'], part: GatheredPart): void {
    const key = wordsKey(type, part)
    if (!this.#words.has(key)) this.#begin(type, part)
    const words = this.#words.get(key)
    const text = textOf(part['delta'])
    note(words, part)
    if (!words || text === '') return
    words.text += text
    this.#emit({ type, text })
  }

  #ask(id: unknown, tool: unknown): Asked {
    checkCalls(this.#calls + 1)
    const call: Asked = {
      type: 'call',
      index: this.#calls++,
      tool: textOf(tool),
      spelt: false,
      made: false,
      meta: undefined,
    }
    const key = textOf(id)
    this.#asked.set(key, [...(this.#asked.get(key) ?? []), call])
    this.#parts.push(call)
    return call
  }

  #spell(part: GatheredPart): void {
    const call = this.#asked.get(textOf(part['id']))?.at(-1)
    const text = textOf(part['delta'])
    if (!call || text === '') return
    call.spelt = true
    this.#emit({ type: 'call', index: call.index, tool: call.tool, text })
  }

  #make(part: GatheredPart): void {
    const call =
      this.#asked.get(textOf(part['toolCallId']))?.find(({ made }) => !made) ??
      this.#ask(part['toolCallId'], part['toolName'])
    call.made = true
    call.input = part['input']
    note(call, part)
  }
}

function wordsKey(type: Words['type'], part: GatheredPart): string {
  return `${type}/${textOf(part['id'])}`
}

function note(of: Words | Asked | undefined, part: GatheredPart): void {
  const given = part['providerMetadata']
  if (!of || !isObject(given)) return
  for (const [provider, fields] of Object.entries(given)) {
    if (!isObject(fields) || Object.keys(fields).length === 0) continue
    of.meta ??= Object.create(null) as Meta
    of.meta[provider] = { ...of.meta[provider], ...fields }
  }
}

/** A package may make an empty object of args that never came. */
function isUnspelt({ input, spelt }: Asked): boolean {
  return !spelt && argsOf(input) === '{}'
}

/** Several models send no text at all for a tool without args. */
function argsOf(input: unknown): unknown {
  if (input === undefined || input === null) return '{}'
  return typeof input === 'string' && input.trim() === '' ? '{}' : input
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
