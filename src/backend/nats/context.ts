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
  /** Payload and headers for a message whose other headers have that many bytes. */
  readonly spill: (payload: Uint8Array, headerBytes: number) => Promise<SpilledBody>
  /** The payload, also where it was spilled into a blob. */
  readonly payloadOf: (message: StreamMessage) => Promise<Uint8Array>
}

export interface SpilledBody {
  readonly payload: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** Bytes for the server's and our small headers. */
const margin = 2 * 1024

export function createNatsContext(base: Omit<NatsContext, 'spill' | 'payloadOf'>): NatsContext {
  const { connection, blobs } = base
  return {
    ...base,
    async spill(payload, headerBytes) {
      const room = (connection.nc.info?.max_payload ?? Infinity) - headerBytes - margin
      if (payload.length <= room) return { payload, headers: {} }
      const { hash } = await blobs.put(payload)
      return { payload: new Uint8Array(), headers: { [blobHeader]: hash } }
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
