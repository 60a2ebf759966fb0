/**
 * Blobs on a stream of their own. A small one is one message; a larger one is chunks under a name of their own and one
 * message that names them, so that a source of unknown length is read once and stored once.
 *
 * - A blob is there when its one message is: half of one is never seen (J8).
 * - What was read is compared with the hash; other bytes end in BLOB_MISSING.
 * - Putting one that is there makes its message new, and so young again.
 */
import { createHash, hash } from 'node:crypto'
import { nuid } from '@nats-io/transport-node'
import { z } from 'zod'
import { blobMissing } from '../../checks.js'
import type { Blobs } from '../../port.js'
import { cutToSize, withNext, inChunks } from './chunks.js'
import type { ServerConnection } from '../connection/connection.js'
import type { Subjects } from '../subjects.js'
import { publish } from '../connection/publish.js'
import type { StreamMessage, StreamReader } from '../connection/read.js'

interface Stored {
  readonly hash: string
  readonly size: number
}

export interface BlobsOptions {
  readonly link: ServerConnection
  readonly reads: StreamReader
  readonly names: Subjects
  readonly live: () => void
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
  readonly #means: BlobsOptions
  readonly #stream: string
  readonly #chunkBytes: number
  readonly #underWay = new Set<Promise<unknown>>()

  constructor(means: BlobsOptions) {
    this.#means = means
    this.#stream = means.names.streams.blobs
    this.#chunkBytes = Math.min(
      longestChunk,
      Math.max(1024, (means.link.nc.info?.max_payload ?? longestChunk) - margin),
    )
  }

  /** Small blobs that are on their way, if any; a commit waits for them. */
  settled(): Promise<unknown> | undefined {
    return this.#underWay.size > 0 ? Promise.allSettled(this.#underWay) : undefined
  }

  async put(bytes: Uint8Array | AsyncIterable<Uint8Array>): Promise<Stored> {
    this.#means.live()
    if (bytes instanceof Uint8Array) {
      const own = new Uint8Array(bytes) // as it is now (`slice` of a Buffer is no copy)
      return own.length <= this.#chunkBytes ? this.#putSmall(own) : this.#putLarge(cutToSize(own, this.#chunkBytes))
    }
    const parts = inChunks(bytes, this.#chunkBytes)
    const first = await parts.next()
    if (first.done) return this.#putSmall(new Uint8Array())
    const second = await parts.next()
    if (second.done) return this.#putSmall(first.value)
    return this.#putLarge(withNext([first.value, second.value], parts))
  }

  async has(of: string): Promise<boolean> {
    this.#means.live()
    return (await this.#find(of)) !== undefined
  }

  async *get(of: string): AsyncGenerator<Uint8Array> {
    this.#means.live()
    const found = await this.#find(of)
    if (!found) throw blobMissing(of, `is not in the namespace ${this.#means.names.namespace}`)
    const manifest = manifestOf(found)
    const sum = createHash('sha256')
    for await (const part of manifest ? this.#chunks(of, manifest) : [found.data]) {
      sum.update(part)
      if (part.length > 0) yield part
    }
    if (sum.digest('hex') !== of) throw blobMissing(of, 'is damaged on the server')
  }

  /** Unless it was put again since that message. */
  async remove(of: string, seq: number): Promise<void> {
    const { link } = this.#means
    const found = await this.#find(of)
    if (found?.seq !== seq) return
    const manifest = manifestOf(found)
    const gone = await link.persist('removing a blob', () =>
      link.jsm.streams.deleteMessage(this.#stream, seq, false).catch(() => false),
    )
    if (gone && manifest) await this.#drop(manifest.upload)
  }

  async #putSmall(bytes: Uint8Array): Promise<Stored> {
    const of = hash('sha256', bytes, 'hex')
    const put = this.#write(this.#means.names.blob(of), bytes)
    this.#underWay.add(put)
    await put.finally(() => this.#underWay.delete(put))
    return { hash: of, size: bytes.length }
  }

  async #putLarge(parts: Iterable<Uint8Array> | AsyncIterable<Uint8Array>): Promise<Stored> {
    const { names } = this.#means
    const upload = nuid.next()
    const sum = createHash('sha256')
    const sending = new Set<Promise<unknown>>()
    let [size, chunks] = [0, 0]
    const send = async (part: Uint8Array): Promise<void> => {
      sum.update(part)
      size += part.length
      const sent = this.#write(names.chunk(upload, chunks++), part)
      sending.add(sent)
      sent.then(
        () => sending.delete(sent),
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
    const of = sum.digest('hex')
    const before = await this.#find(of)
    await this.#write(names.blob(of), new Uint8Array(), { [manifestHeader]: JSON.stringify({ upload, chunks, size }) })
    const replaced = before && manifestOf(before)
    if (replaced) await this.#drop(replaced.upload)
    return { hash: of, size }
  }

  #write(subject: string, payload: Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const { link, reads } = this.#means
    return publish(link, reads, { stream: this.#stream, subject, payload, headers })
  }

  /** Chunks that nothing names any more; what stays behind takes room, nothing else. */
  async #drop(upload: string): Promise<void> {
    const { link, names } = this.#means
    await link.ask(() => link.jsm.streams.purge(this.#stream, { filter: names.chunks(upload) })).catch(() => undefined)
  }

  #find(of: string): Promise<StreamMessage | undefined> {
    const { reads, names } = this.#means
    return /^[0-9a-f]{64}$/.test(of) ? reads.last(this.#stream, names.blob(of)) : Promise.resolve(undefined)
  }

  async *#chunks(of: string, { upload, chunks }: Manifest): AsyncGenerator<Uint8Array> {
    const { reads, names } = this.#means
    const asked: Promise<StreamMessage | undefined>[] = []
    for (let index = 0; index < chunks; index++) {
      while (asked.length < atOnce && index + asked.length < chunks) {
        const next = reads.last(this.#stream, names.chunk(upload, index + asked.length))
        next.catch(() => undefined) // told when its turn comes
        asked.push(next)
      }
      const chunk = await asked.shift()
      if (!chunk) throw blobMissing(of, `lacks chunk ${index} of ${chunks} on the server`)
      yield chunk.data
    }
  }
}

function manifestOf({ headers }: StreamMessage): Manifest | undefined {
  const text = headers.get(manifestHeader)
  return text === '' ? undefined : manifestSchema.parse(JSON.parse(text))
}
