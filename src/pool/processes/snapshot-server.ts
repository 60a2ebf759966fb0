/**
 * The host's side of a snapshot that a body in a worker reads: answers its questions about the thread's state.
 *
 * - All answers come from one snapshot, which is opened with the first question.
 * - A stream and a store buffer one chunk: the slower side sets the pace.
 * - When the call is over its streams and stores are closed.
 */
import { TransformStream } from 'node:stream/web'
import { SkeinError, fromFailure } from '../../core/failure.js'
import type { SnapshotAccess, Snapshot } from '../port.js'
import { copied, owned } from './wire.js'
import type { WorkerQuestion } from './wire.js'

export interface SnapshotReply {
  readonly value?: unknown
  /** Instead of a value. */
  readonly bytes?: Uint8Array
}

export interface SnapshotServer {
  /** `id` becomes the name of the stream or store that the question opens; `bytes` came with the question. */
  answer(id: number, question: WorkerQuestion, bytes?: Uint8Array): Promise<SnapshotReply>
  close(): void
}

interface Store {
  readonly writer: WritableStreamDefaultWriter<Uint8Array>
  readonly stored: Promise<{ readonly hash: string; readonly size: number }>
}

type WritableStreamDefaultWriter<Chunk> = ReturnType<TransformStream<Chunk, Chunk>['writable']['getWriter']>

/** `whileOpening` lets the call give its place back while it waits for the snapshot. */
export function createSnapshotServer(
  access: SnapshotAccess,
  whileOpening: (opening: Promise<Snapshot>) => Promise<Snapshot>,
): SnapshotServer {
  const streams = new Map<number, AsyncIterator<Uint8Array>>()
  const stores = new Map<number, Store>()
  let opened: Promise<Snapshot> | undefined
  return {
    async answer(id, question, bytes) {
      const snapshot = await (opened ??= whileOpening(access.open()))
      if ('store' in question) return answerStore(stores, question, bytes)
      if ('stream' in question) return answerStream(streams, question)
      if (question.topic === 'stream') streams.set(id, snapshot.files.stream(question.hash)[Symbol.asyncIterator]())
      else if (question.topic === 'store') stores.set(id, createStore(snapshot))
      else return answerOnce(snapshot, question)
      return {}
    },
    close() {
      const reason = new SkeinError('CANCELLED', 'the call is over')
      for (const { writer } of stores.values()) void writer.abort(reason).catch(() => undefined)
      for (const stream of streams.values()) void stream.return?.().catch(() => undefined)
    },
  }
}

type About<Each extends WorkerQuestion['topic']> = Extract<WorkerQuestion, { readonly topic: Each }>

async function answerOnce(
  snapshot: Snapshot,
  question: About<'open' | 'value' | 'entries' | 'node' | 'deep' | 'usage' | 'bytes'>,
): Promise<SnapshotReply> {
  const { files } = snapshot
  switch (question.topic) {
    case 'open':
      return { value: { at: files.at } }
    case 'value':
      return { value: await snapshot.value(question.key) }
    case 'entries':
      return { value: await snapshot.entries(question.prefix) }
    case 'node':
      return { value: await files.node(question.path) }
    case 'deep':
      return { value: await files.deep(question.path) }
    case 'usage':
      return { value: await files.usage() }
    case 'bytes':
      // Nobody else on the host uses them.
      return { bytes: owned(await files.bytes(question.hash)) }
    default:
      return question satisfies never
  }
}

async function answerStream(
  streams: Map<number, AsyncIterator<Uint8Array>>,
  { topic, stream: id }: About<'next' | 'drop'>,
): Promise<SnapshotReply> {
  const stream = named(streams, id)
  const part = topic === 'next' ? await stream.next() : await stream.return?.()
  if (topic === 'next' && part?.done === false) return { bytes: copied(part.value) }
  streams.delete(id)
  return {}
}

async function answerStore(
  stores: Map<number, Store>,
  question: About<'chunk' | 'stored' | 'broken'>,
  bytes: Uint8Array = new Uint8Array(),
): Promise<SnapshotReply> {
  const { writer, stored } = named(stores, question.store)
  if (question.topic === 'chunk') {
    await writer.write(bytes)
    return {}
  }
  stores.delete(question.store)
  if (question.topic === 'broken') {
    await writer.abort(fromFailure(question.failure))
    return {}
  }
  // Its error is the same as that of `stored`, which is awaited next.
  await writer.close().catch(() => undefined)
  return { value: await stored }
}

function createStore({ files }: Snapshot): Store {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const stored = files.store(readable)
  // A store that fails makes the next write fail; `stored` itself is awaited at the end, or never.
  stored.catch((thrown: unknown) => writer.abort(thrown)).catch(() => undefined)
  return { writer, stored }
}

function named<Item>(items: ReadonlyMap<number, Item>, id: number): Item {
  const found = items.get(id)
  if (!found) throw new SkeinError('INVARIANT', `a body went on with the stream ${id}, which is not open`)
  return found
}
