/**
 * Provider data of a reply that must be sent back with it: the order of reasoning, text and calls, with the provider's
 * metadata of each (signatures, item ids, encrypted reasoning). Opaque: Skein does not interpret it.
 *
 * KP1 It is sent back to the model that gave it, and to no other: `origin` is that model.
 * - Texts are not stored twice: a part has the length of its piece of the reply's text or reasoning.
 * - A part whose text was masked loses its metadata, which would no longer match.
 */
import type { Outcome } from '../effect.js'
import { failure } from '../failure.js'
import { longerThan, toJson } from '../json.js'
import type { Json } from '../json.js'

export type ProviderPart =
  | { readonly type: 'reasoning' | 'text'; readonly length: number; readonly meta?: Json }
  | { readonly type: 'call'; readonly index: number; readonly meta?: Json }
  /** A call that the provider made and ran itself, and its result, by the provider's own id. */
  | { readonly type: 'run'; readonly id: string; readonly tool: string; readonly args: Json; readonly meta?: Json }
  | ProviderResult

interface ProviderResult {
  readonly type: 'ran'
  readonly id: string
  readonly tool: string
  readonly value: Json
  readonly failed?: true
  readonly meta?: Json
}

export interface ProviderParts {
  readonly origin: string
  readonly parts: readonly ProviderPart[]
}

/** Characters of JSON per reply: more than any known provider gives, and little for a journal. */
const mostKept = 1_000_000

/** Undefined if the provider does not need it, or it is too large. */
export function toProviderParts(origin: string, parts: readonly ProviderPart[]): ProviderParts | undefined {
  if (!parts.some(({ type, meta }) => type === 'reasoning' || type === 'run' || meta !== undefined)) return undefined
  const plain = parts.filter((part) => !isText(part) || part.length > 0 || part.meta !== undefined)
  return longerThan(toJson(plain), mostKept) ? undefined : { origin, parts: plain }
}

type TextPart = Extract<ProviderPart, { readonly length: number }>

function isText(part: ProviderPart): part is TextPart {
  return part.type === 'text' || part.type === 'reasoning'
}

/** What the provider ran itself, as part of a reply. */
export interface ProviderCall {
  readonly id: string
  readonly tool: string
  readonly args: Json
  readonly outcome?: Outcome
}

export function providerCallsOf({ parts }: ProviderParts): readonly ProviderCall[] {
  return parts.flatMap((part): ProviderCall[] => {
    if (part.type !== 'run') return []
    const { id, tool, args } = part
    const ran = parts.find((each): each is ProviderResult => each.type === 'ran' && each.id === id)
    return [{ id, tool, args, ...(ran && { outcome: outcomeOf(ran) }) }]
  })
}

function outcomeOf({ tool, value, failed }: ProviderResult): Outcome {
  return failed
    ? { ok: false, failure: failure('TOOL_THREW', `${tool} failed at the provider: ${JSON.stringify(value)}`) }
    : { ok: true, value }
}

interface ReplyTexts {
  readonly text: string
  readonly reasoning?: string
}

/** The text of each part; undefined if the texts are not those that the parts were made of. */
export function piecesOfParts(
  parts: readonly ProviderPart[],
  { text, reasoning = '' }: ReplyTexts,
): readonly string[] | undefined {
  const read = { text: 0, reasoning: 0 }
  const all = { text, reasoning }
  const pieces = parts.map((part) => {
    if (!isText(part)) return ''
    const from = read[part.type]
    read[part.type] += part.length
    return all[part.type].slice(from, from + part.length)
  })
  return read.text === text.length && read.reasoning === reasoning.length ? pieces : undefined
}

interface Masking {
  readonly before: ReplyTexts
  readonly after: ReplyTexts
  mask(text: string): string
  /** Whether a call has nothing masked. */
  same(index: number): boolean
  clean(meta: Json): boolean
}

export function maskProviderParts(
  { origin, parts }: ProviderParts,
  { before, after, mask, same, clean }: Masking,
): ProviderParts | undefined {
  const originals = piecesOfParts(parts, before)
  if (!originals) return undefined
  // A call of the provider cannot go back without its result, nor either of them changed.
  if (parts.some((part) => !isText(part) && part.type !== 'call' && !clean(toJson(part)))) return undefined
  const pieces = originals.map(mask)
  const masked = parts.map((part, at): ProviderPart => {
    if (part.type === 'run' || part.type === 'ran') return part
    const isUnchanged =
      (part.type === 'call' ? same(part.index) : pieces[at] === originals[at]) &&
      (part.meta === undefined || clean(part.meta))
    if (isUnchanged) return part
    return part.type === 'call'
      ? { type: 'call', index: part.index }
      : { type: part.type, length: pieces[at]?.length ?? 0 }
  })
  // A secret across two parts is masked in neither of them, so that the parts do not match the masked text.
  return piecesOfParts(masked, after)?.every((piece, at) => piece === pieces[at])
    ? { origin, parts: masked }
    : undefined
}
