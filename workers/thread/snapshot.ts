/**
 * The worker's side of a snapshot: questions about the thread's state go to the host (src/pool/processes/
 * snapshot-server.ts), which answers them from one snapshot. Contents that this worker has read before are not fetched
 * again.
 */
import { defined } from '../../src/core/defined.js'
import { toFailure } from '../../src/core/failure.js'
import type { FileSource } from '../../src/files/port.js'
import type { SnapshotAccess, Snapshot, ValueAt } from '../../src/pool/port.js'
import type { ContentCache } from './content-cache.js'
import type { CallPort } from './host-port.js'

export function createRemoteSnapshot(
  port: CallPort,
  contents: ContentCache,
  contexts: Readonly<Record<string, ValueAt>> | undefined,
): SnapshotAccess {
  return {
    async open(): Promise<Snapshot> {
      const { at } = await port.ask('open', {}).answer
      return {
        files: createSource(port, contents, at),
        value: (key) => port.ask('value', { key }).answer,
        entries: (prefix) => port.ask('entries', { prefix }).answer,
      }
    },
    ...defined({ contexts }),
  }
}

function createSource(port: CallPort, contents: ContentCache, at: number): FileSource {
  return {
    at,
    node: (path) => port.ask('node', { path }).answer,
    deep: (path) => port.ask('deep', { path }).answer,
    usage: () => port.ask('usage', {}).answer,
    async bytes(hash) {
      const cached = contents.get(hash)
      if (cached) return cached
      const bytes = await port.ask('bytes', { hash }).answer
      contents.keep(hash, bytes)
      return bytes
    },
    stream: (hash) => streamOf(port, hash),
    store: (content) => store(port, content),
  }
}

async function* streamOf(port: CallPort, hash: string): AsyncGenerator<Uint8Array, void> {
  const { id: stream, answer } = port.ask('stream', { hash })
  await answer
  let atEnd = false
  try {
    for (;;) {
      const chunk = await port.ask('next', { stream }).answer
      atEnd = chunk === undefined
      if (!chunk) return
      yield chunk
    }
  } finally {
    // The reader stopped early. A call that was ended cannot ask any more.
    if (!atEnd && !port.ended) await port.ask('drop', { stream }).answer
  }
}

async function store(
  port: CallPort,
  content: AsyncIterable<Uint8Array>,
): Promise<{ readonly hash: string; readonly size: number }> {
  const { id, answer } = port.ask('store', {})
  await answer
  try {
    for await (const chunk of content) {
      await port.ask('chunk', { store: id }, chunk).answer
    }
  } catch (thrown) {
    if (!port.ended) await port.ask('broken', { store: id, failure: toFailure(thrown, 'TOOL_THREW') }).answer
    throw thrown
  }
  return port.ask('stored', { store: id }).answer
}
