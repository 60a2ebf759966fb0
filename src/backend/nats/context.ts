/**
 * What all parts of a NATS backend stand on: the connection, the names, the settings of the namespace, and payloads
 * that are too long for a message. Owns nothing but that rule.
 *
 * - A payload that does not fit goes into a blob before its message is written; the message names it.
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
  readonly assertOpen: () => void
  /** The payload and headers of a message whose own headers have that many bytes. */
  readonly spill: (payload: Uint8Array, headerBytes: number) => Promise<SpilledBody>
  /** The payload, wherever it is. */
  readonly payloadOf: (message: StreamMessage) => Promise<Uint8Array>
}

export interface SpilledBody {
  readonly payload: Uint8Array
  readonly headers: Readonly<Record<string, string>>
}

/** Room for the server's and our small headers. */
const margin = 2 * 1024

export function createNatsContext(parts: Omit<NatsContext, 'spill' | 'payloadOf'>): NatsContext {
  const { connection, blobs } = parts
  return {
    ...parts,
    async spill(payload, headerBytes) {
      const room = (connection.nc.info?.max_payload ?? Infinity) - headerBytes - margin
      if (payload.length <= room) return { payload, headers: {} }
      const { hash } = await blobs.put(payload)
      return { payload: new Uint8Array(), headers: { [blobHeader]: hash } }
    },
    async payloadOf({ headers, data }) {
      const hash = headers.get(blobHeader)
      if (hash === '') return data
      const found: Uint8Array[] = []
      for await (const part of blobs.get(hash)) found.push(part)
      return Buffer.concat(found)
    },
  }
}
