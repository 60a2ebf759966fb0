/**
 * What a provider wants to hear again of its model's reply, as it gave it: the order of thoughts, words and calls,
 * with the provider's own data on each (signatures, item ids, encrypted thoughts). Opaque: nothing in Skein reads it.
 *
 * KP1 It is told again to the model that gave it, and to no other: `origin` says who that is.
 * - Texts are not held twice: a part says how long its piece of the reply's text or reasoning is.
 * - A part whose text was masked loses its data, which would no longer belong to it.
 */
import { longerThan, toJson } from '../json.js'
import type { Json } from '../json.js'

export type ProviderPart =
  | { readonly type: 'reasoning' | 'text'; readonly length: number; readonly meta?: Json }
  | { readonly type: 'call'; readonly index: number; readonly meta?: Json }

export interface ProviderParts {
  readonly origin: string
  readonly parts: readonly ProviderPart[]
}

/** Data of one reply in characters; more than any provider was seen to give, and no load for a journal. */
const mostKept = 1_000_000

/** Undefined where the provider would not miss it. */
export function toProviderParts(origin: string, parts: readonly ProviderPart[]): ProviderParts | undefined {
  if (!parts.some(({ type, meta }) => type === 'reasoning' || meta !== undefined)) return undefined
  const plain = parts.filter((part) => part.type === 'call' || part.length > 0 || part.meta !== undefined)
  return longerThan(toJson(plain), mostKept) ? undefined : { origin, parts: plain }
}

interface Said {
  readonly text: string
  readonly reasoning?: string
}

/** The piece of text of each part; undefined when the texts are not those that the parts were made of. */
export function piecesOfParts(
  parts: readonly ProviderPart[],
  { text, reasoning = '' }: Said,
): readonly string[] | undefined {
  const read = { text: 0, reasoning: 0 }
  const all = { text, reasoning }
  const pieces = parts.map((part) => {
    if (part.type === 'call') return ''
    const from = read[part.type]
    read[part.type] += part.length
    return all[part.type].slice(from, from + part.length)
  })
  return read.text === text.length && read.reasoning === reasoning.length ? pieces : undefined
}

interface Masking {
  readonly before: Said
  readonly after: Said
  mask(text: string): string
  /** A call as it was, without a mask in it. */
  same(index: number): boolean
  clean(meta: Json): boolean
}

export function maskProviderParts(
  { origin, parts }: ProviderParts,
  { before, after, mask, same, clean }: Masking,
): ProviderParts | undefined {
  const given = piecesOfParts(parts, before)
  if (!given) return undefined
  const pieces = given.map(mask)
  const masked = parts.map((part, at): ProviderPart => {
    const whole =
      (part.type === 'call' ? same(part.index) : pieces[at] === given[at]) &&
      (part.meta === undefined || clean(part.meta))
    if (whole) return part
    return part.type === 'call'
      ? { type: 'call', index: part.index }
      : { type: part.type, length: pieces[at]?.length ?? 0 }
  })
  // A secret that reaches over two parts is masked in neither: then the whole has another text than its parts.
  return piecesOfParts(masked, after)?.every((piece, at) => piece === pieces[at])
    ? { origin, parts: masked }
    : undefined
}
