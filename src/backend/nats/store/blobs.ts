/**
 * Blobs on a stream of their own. A small one is one message; a larger one is chunks under the name of its upload and
 * one message that names the upload, so that a source of unknown length is read once and stored once. Owns the stream.
 *
 * - A blob exists when its one message does: a partial one is never seen (J8).
 * - The bytes read are compared with the hash; others end in BLOB_MISSING.
 * - Putting a blob that exists writes its message again, which renews its age.
 */
import { createHash, hash } from 'node:crypto'
import { nuid } from '@nats-io/transport-node'
import { z } from 'zod'
import { blobMissing } from '../../checks.js'
import type { Blobs } from '../../port.js'
import type { ServerConnection } from '../connection/connection.js'
import type { Subjects } from '../subjects.js'
import { publish } from '../connection/publish.js'
import type { StreamMessage, StreamReader } from '../connection/read.js'

interface StoredBlob {
  readonly hash: string
  readonly size: number
}

export interface BlobsServices {
  readonly connection: ServerConnection
  readonly reader: StreamReader
  readonly subjects: Subjects
  readonly assertOpen: () => void
}

const longestChunk = 512 * 1024
/** Room for subject and headers in a message. */
const margin = 4 * 1024
/** Chunks under way at once. */
const atOnce = 8
const manifestHeader = 'Skein-Chunks'
const manifestSchema = z.object({ upload: z.string(), chunks: z.number().int().positive(), size: z.number() })
type Manifest = z.infer<typeof manifestSchema>

export class NatsBlobs implements Blobs {
  readonly #services: BlobsServices
  readonly #stream: string
  readonly #chunkBytes: number
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(services: BlobsServices) {
    this.#services = services
    this.#stream = services.subjects.streams.blobs
    this.#chunkBytes = Math.min(
      longestChunk,
      Math.max(1024, (services.connection.nc.info?.max_payload ?? longestChunk) - margin),
    )
  }

  /** Resolves when the puts of small blobs under way have ended; undefined when there are none. */
  settled(): Promise<unknown> | undefined {
    return this.#underWay.size > 0 ? Promise.allSettled(this.#underWay) : undefined
  }

  readonly put = async (bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<StoredBlob> => {
    this.#services.assertOpen()
    if (bytes instanceof Uint8Array) {
      const copy = new Uint8Array(bytes) // `slice` of a Buffer is no copy
      return copy.length <= this.#chunkBytes ? this.#putSmall(copy) : this.#putLarge(cutToSize(copy, this.#chunkBytes))
    }
    const free: Uint8Array[] = []
    const parts = inChunks(bytes, this.#chunkBytes, free)
    const first = await parts.next()
    if (first.done) return this.#putSmall(new Uint8Array())
    const second = await parts.next()
    if (second.done) return this.#putSmall(first.value)
    return this.#putLarge(chain([first.value, second.value], parts), free)
  }

  readonly has = async (name: string): Promise<boolean> => {
    this.#services.assertOpen()
    return (await this.#find(name)) !== undefined
  }

  readonly get = (name: string): AsyncIterable<Uint8Array> => this.#read(name)

  async *#read(name: string): AsyncGenerator<Uint8Array> {
    this.#services.assertOpen()
    const found = await this.#find(name)
    if (!found) throw blobMissing(name, `is not in the namespace ${this.#services.subjects.namespace}`)
    const manifest = manifestOf(found)
    const sum = createHash('sha256')
    for await (const part of manifest ? this.#chunks(name, manifest) : [found.data]) {
      sum.update(part)
      if (part.length > 0) yield part
    }
    if (sum.digest('hex') !== name) throw blobMissing(name, 'is damaged on the server')
  }

  /** Unless it was put again since the message of this sequence. */
  async remove(name: string, seq: number): Promise<void> {
    const { connection } = this.#services
    const found = await this.#find(name)
    if (found?.seq !== seq) return
    const manifest = manifestOf(found)
    const removed = await connection.persist('removing a blob', () =>
      connection.jsm.streams.deleteMessage(this.#stream, seq, false).catch(() => false),
    )
    if (removed && manifest) await this.#drop(manifest.upload)
  }

  async #putSmall(bytes: Uint8Array): Promise<StoredBlob> {
    const name = hash('sha256', bytes, 'hex')
    const put = this.#write(this.#services.subjects.blob(name), bytes)
    this.#underWay.add(put)
    await put.finally(() => this.#underWay.delete(put))
    return { hash: name, size: bytes.length }
  }

  /** `free` gets the parts that are written. */
  async #putLarge(parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>, free?: Uint8Array[]): Promise<StoredBlob> {
    const { subjects } = this.#services
    const upload = nuid.next()
    const sum = createHash('sha256')
    const sending = new Set<Promise<unknown>>()
    let [size, chunks] = [0, 0]
    const send = async (part: Uint8Array): Promise<void> => {
      sum.update(part)
      size += part.length
      const sent = this.#write(subjects.chunk(upload, chunks++), part)
      sending.add(sent)
      sent.then(
        () => {
          sending.delete(sent)
          free?.push(part)
        },
        () => undefined,
      )
      if (sending.size >= atOnce) await Promise.race(sending)
    }
    try {
      for await (const part of parts) await send(part)
      await Promise.all(sending)
    } catch (thrown) {
      await Promise.allSettled(sending)
      await this.#drop(upload)
      throw thrown
    }
    const name = sum.digest('hex')
    const before = await this.#find(name)
    await this.#write(subjects.blob(name), new Uint8Array(), {
      [manifestHeader]: JSON.stringify({ upload, chunks, size }),
    })
    const replaced = before && manifestOf(before)
    if (replaced) await this.#drop(replaced.upload)
    return { hash: name, size }
  }

  #write(subject: string, payload: Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const { connection, reader } = this.#services
    return publish(connection, reader, { stream: this.#stream, subject, payload, headers })
  }

  /** Removes chunks that no blob names any more. If that fails they take room, nothing else. */
  async #drop(upload: string): Promise<void> {
    const { connection, subjects } = this.#services
    await connection
      .ask(() => connection.jsm.streams.purge(this.#stream, { filter: subjects.chunks(upload) }))
      .catch(() => undefined)
  }

  #find(name: string): Promise<StreamMessage | undefined> {
    const { reader, subjects } = this.#services
    return /^[0-9a-f]{64}$/.test(name) ? reader.last(this.#stream, subjects.blob(name)) : Promise.resolve(undefined)
  }

  async *#chunks(name: string, { upload, chunks }: Manifest): AsyncGenerator<Uint8Array> {
    const { reader, subjects } = this.#services
    const requested: Promise<StreamMessage | undefined>[] = []
    for (let index = 0; index < chunks; index++) {
      while (requested.length < atOnce && index + requested.length < chunks) {
        const next = reader.last(this.#stream, subjects.chunk(upload, index + requested.length))
        next.catch(() => undefined) // thrown when its turn comes
        requested.push(next)
      }
      const chunk = await requested.shift()
      if (!chunk) throw blobMissing(name, `lacks chunk ${index} of ${chunks} on the server`)
      yield chunk.data
    }
  }
}

function manifestOf({ headers }: StreamMessage): Manifest | undefined {
  const text = headers.get(manifestHeader)
  return text === '' ? undefined : manifestSchema.parse(JSON.parse(text))
}

/**
 * A source in parts of one length, the last one shorter. Each is a copy, since a source may reuse its buffer; into
 * memory that is free again, since that of a new buffer takes several times as long to fill.
 */
async function* inChunks(
  source: AsyncIterable<Uint8Array>,
  length: number,
  free: Uint8Array[],
): AsyncGenerator<Uint8Array, void> {
  let chunk: Uint8Array = Buffer.allocUnsafeSlow(length)
  let filled = 0
  for await (const part of source) {
    for (let at = 0; at < part.length;) {
      const piece = part.subarray(at, at + length - filled)
      chunk.set(piece, filled)
      at += piece.length
      filled += piece.length
      if (filled < length) continue
      yield chunk
      chunk = free.pop() ?? Buffer.allocUnsafeSlow(length)
      filled = 0
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled)
}

/** Bytes that nobody changes, in such parts: views, not copies. */
function* cutToSize(bytes: Uint8Array, length: number): Generator<Uint8Array, void> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

async function* chain<Part>(first: Iterable<Part>, rest: AsyncIterable<Part>): AsyncGenerator<Part, void> {
  yield* first
  yield* rest
}
