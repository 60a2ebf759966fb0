/**
 * What all parts of a NATS backend share: the connection, the subjects, the settings of the namespace, and how payloads
 * that are too long for a message are stored. Owns no state.
 *
 * - A payload that does not fit is put as a blob before its message is written; the message names the blob.
 */
import type { StoreRole } from '../port.js'
import type { NatsBlobs } from './store/blobs.js'
import type { ServerConnection } from './connection/connection.js'
import type { Subjects } from './subjects.js'
import type { StreamMessage, StreamReader } from './connection/read.js'
import { bytesPerCharacter } from './connection/encoding.js'
import { blobHeader } from './store/commit-message.js'

export interface NatsContext {
  readonly role: StoreRole
  readonly connection: ServerConnection
  readonly reader: StreamReader
  readonly subjects: Subjects
  readonly partitions: number
  readonly blobs: NatsBlobs
  /** Throws STORE_CLOSED after `close`. */
  readonly assertOpen: () => void
  /** Payload and headers for a message whose other headers have that many bytes; at once where it fits. */
  readonly spill: (payload: Uint8Array | string, headerBytes: number) => SpilledBody | Promise<SpilledBody>
  /** The payload, also where it was spilled into a blob. */
  readonly payloadOf: (message: StreamMessage) => Promise<Uint8Array>
}

export interface SpilledBody {
  readonly payload: Uint8Array | string
  readonly headers: Readonly<Record<string, string>>
}

const noHeaders: SpilledBody['headers'] = {}

/** Bytes for the server's and our small headers. */
const margin = 2 * 1024

async function spillInto(blobs: NatsBlobs, payload: Uint8Array | string): Promise<SpilledBody> {
  const { hash } = await blobs.put(typeof payload === 'string' ? Buffer.from(payload) : payload)
  return { payload: '', headers: { [blobHeader]: hash } }
}

export function createNatsContext(base: Omit<NatsContext, 'spill' | 'payloadOf'>): NatsContext {
  const { connection, blobs } = base
  return {
    ...base,
    spill(payload, headerBytes) {
      const room = (connection.nc.info?.max_payload ?? Infinity) - headerBytes - margin
      const fits = payload.length * bytesPerCharacter <= room || Buffer.byteLength(payload) <= room
      return fits ? { payload, headers: noHeaders } : spillInto(blobs, payload)
    },
    async payloadOf({ headers, data }) {
      const hash = headers.get(blobHeader)
      if (hash === '') return data
      const parts: Uint8Array[] = []
      for await (const part of blobs.get(hash)) parts.push(part)
      return Buffer.concat(parts)
    },
  }
}
