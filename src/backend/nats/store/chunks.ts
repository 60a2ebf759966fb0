/** Bytes in parts of one length, the last one shorter. Owns nothing. */

/** Of a source; each part is a copy, since a source may use its buffer again. */
export async function* inChunks(source: AsyncIterable<Uint8Array>, length: number): AsyncGenerator<Uint8Array, void> {
  let chunk = Buffer.allocUnsafe(length)
  let filled = 0
  for await (const part of source) {
    for (let at = 0; at < part.length;) {
      const taken = part.subarray(at, at + length - filled)
      chunk.set(taken, filled)
      at += taken.length
      filled += taken.length
      if (filled < length) continue
      yield chunk
      chunk = Buffer.allocUnsafe(length)
      filled = 0
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled)
}

/** Of bytes that nobody changes: views, not copies. */
export function* cutToSize(bytes: Uint8Array, length: number): Generator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

export async function* withNext<Part>(first: Iterable<Part>, rest: AsyncIterable<Part>): AsyncGenerator<Part, void> {
  yield* first
  yield* rest
}
