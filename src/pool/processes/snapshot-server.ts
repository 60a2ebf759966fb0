/**
 * The clerk of a desk: answers on the host what a body in a worker thread asks of its thread's state.
 *
 * - Everything is answered from one snapshot, which is opened when it is first asked for.
 * - A stream and a store hold one chunk at a time: whoever is slower sets the pace.
 * - When the call is over nothing of it is left open.
 */
import { TransformStream } from 'node:stream/web'
import { SkeinError, fromFailure } from '../../core/failure.js'
import type { SnapshotAccess, Snapshot } from '../port.js'
import { copied, owned } from './wire.js'
import type { WorkerQuestion } from './wire.js'

export interface SnapshotReply {
  readonly value?: unknown
  /** In place of it. */
  readonly bytes?: Uint8Array
}

export interface SnapshotServer {
  /** `id` names the stream or the store that the question opens; `bytes` are what it brings. */
  answer(id: number, question: WorkerQuestion, bytes?: Uint8Array): Promise<SnapshotReply>
  close(): void
}

interface Store {
  readonly writer: WritableStreamDefaultWriter<Uint8Array>
  readonly stored: Promise<{ readonly hash: string; readonly size: number }>
}

type WritableStreamDefaultWriter<Chunk> = ReturnType<TransformStream<Chunk, Chunk>['writable']['getWriter']>

/** `waited` is given what is waited for, so that a call can step aside meanwhile. */
export function createSnapshotServer(
  desk: SnapshotAccess,
  waited: (opening: Promise<Snapshot>) => Promise<Snapshot>,
): SnapshotServer {
  const streams = new Map<number, AsyncIterator<Uint8Array>>()
  const stores = new Map<number, Store>()
  let opened: Promise<Snapshot> | undefined
  return {
    async answer(id, question, bytes) {
      const snapshot = await (opened ??= waited(desk.open()))
      if ('store' in question) return answerStore(stores, question, bytes)
      if ('stream' in question) return answerStream(streams, question)
      if (question.topic === 'stream') streams.set(id, snapshot.files.stream(question.hash)[Symbol.asyncIterator]())
      else if (question.topic === 'store') stores.set(id, createStore(snapshot))
      else return answerOnce(snapshot, question)
      return {}
    },
    close() {
      const over = new SkeinError('CANCELLED', 'the call is over')
      for (const { writer } of stores.values()) void writer.abort(over).catch(() => undefined)
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
      // They are for the one who asks.
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
  // What went wrong there is told by `stored`.
  await writer.close().catch(() => undefined)
  return { value: await stored }
}

function createStore({ files }: Snapshot): Store {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const writer = writable.getWriter()
  const stored = files.store(readable)
  // A store that gives up lets the one who writes know; `stored` itself is awaited at the end, if ever.
  stored.catch((thrown: unknown) => writer.abort(thrown)).catch(() => undefined)
  return { writer, stored }
}

function named<Kept>(kept: ReadonlyMap<number, Kept>, id: number): Kept {
  const found = kept.get(id)
  if (!found) throw new SkeinError('INVARIANT', `a body went on with the stream ${id}, which is not open`)
  return found
}
