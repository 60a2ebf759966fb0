/** The JSON text of a long value in pieces: others may go on in between. Joined, they are the whole text. */
import { isObject, longerThan } from '../../core/json.js'
import type { Json } from '../../core/json.js'

/** About the longest piece, where no single text is longer. */
const pieceChars = 128 * 1024

export function* jsonPieces(value: Json): Generator<string> {
  if (typeof value === 'object' && value !== null && longerThan(value, pieceChars)) yield* piecesOf(value)
  else yield JSON.stringify(value)
}

function* piecesOf(value: Json): Generator<string> {
  if (Array.isArray(value)) {
    yield '['
    yield* itemPieces(value as readonly Json[], '')
    yield ']'
  } else if (isObject(value)) {
    const fields = value as { readonly [key: string]: Json }
    let before = '{'
    for (const key of Object.keys(fields)) {
      yield `${before}${JSON.stringify(key)}:`
      yield* jsonPieces(fields[key] ?? null)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
  }
}

/** Many items at once where they are short: a call for each would take as long as all of them together. */
function* itemPieces(items: readonly Json[], before: string): Generator<string> {
  if (items.length <= 1) {
    if (before !== '') yield before
    for (const item of items) yield* jsonPieces(item)
  } else if (!longerThan(items, pieceChars)) yield before + JSON.stringify(items).slice(1, -1)
  else {
    const middle = items.length >>> 1
    yield* itemPieces(items.slice(0, middle), before)
    yield* itemPieces(items.slice(middle), ',')
  }
}
