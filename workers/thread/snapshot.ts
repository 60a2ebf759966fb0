/**
 * A call's desk in a worker: what it asks is answered by the host over the worker's line, from one snapshot.
 */
import { defined } from '../../src/core/defined.js'
import { toFailure } from '../../src/core/failure.js'
import type { FileSource } from '../../src/files/port.js'
import type { SnapshotAccess, Snapshot, ValueAt } from '../../src/pool/port.js'
import type { ContentCache } from './content-cache.js'
import type { CallPort } from './host-port.js'

export function createRemoteSnapshot(
  line: CallPort,
  contents: ContentCache,
  given: Readonly<Record<string, ValueAt>> | undefined,
): SnapshotAccess {
  return {
    async open(): Promise<Snapshot> {
      const { at } = await line.ask('open', {}).answer
      return {
        files: createSource(line, contents, at),
        value: (key) => line.ask('value', { key }).answer,
        entries: (prefix) => line.ask('entries', { prefix }).answer,
      }
    },
    ...defined({ given }),
  }
}

function createSource(line: CallPort, contents: ContentCache, at: number): FileSource {
  return {
    at,
    node: (path) => line.ask('node', { path }).answer,
    deep: (path) => line.ask('deep', { path }).answer,
    usage: () => line.ask('usage', {}).answer,
    async bytes(hash) {
      const known = contents.get(hash)
      if (known) return known
      const bytes = await line.ask('bytes', { hash }).answer
      contents.keep(hash, bytes)
      return bytes
    },
    stream: (hash) => streamOf(line, hash),
    store: (content) => store(line, content),
  }
}

async function* streamOf(line: CallPort, hash: string): AsyncGenerator<Uint8Array, void> {
  const { id: stream, answer } = line.ask('stream', { hash })
  await answer
  let whole = false
  try {
    for (;;) {
      const chunk = await line.ask('next', { stream }).answer
      whole = chunk === undefined
      if (!chunk) return
      yield chunk
    }
  } finally {
    // A reader that has had enough; one whose call was ended has nobody to tell.
    if (!whole && !line.ended) await line.ask('drop', { stream }).answer
  }
}

async function store(
  line: CallPort,
  content: AsyncIterable<Uint8Array>,
): Promise<{ readonly hash: string; readonly size: number }> {
  const { id, answer } = line.ask('store', {})
  await answer
  try {
    for await (const chunk of content) {
      await line.ask('chunk', { store: id }, chunk).answer
    }
  } catch (thrown) {
    if (!line.ended) await line.ask('broken', { store: id, failure: toFailure(thrown, 'TOOL_THREW') }).answer
    throw thrown
  }
  return line.ask('stored', { store: id }).answer
}
