/** The bytes of a source in parts of one length, the last one shorter; each a copy, since a source may use its buffer again. */
export async function* inChunks(source: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, length: number): AsyncGenerator<Uint8Array, void> {
  let kept: Uint8Array[] = []
  let bytes = 0
  for await (const part of source) {
    for (let at = 0; at < part.length; ) {
      const taken = Uint8Array.from(part.subarray(at, at + length - bytes))
      kept.push(taken)
      at += taken.length
      bytes += taken.length
      if (bytes < length) continue
      yield Buffer.concat(kept)
      kept = []
      bytes = 0
    }
  }
  if (bytes > 0) yield Buffer.concat(kept)
}
