/**
 * Texts and headers of messages as bytes. The client's own headers are a Map of lists that is searched and checked for
 * every field, and its encoder makes a buffer for every text; both run several times with every commit. Owns the block
 * of memory that short texts are written to.
 *
 * - What is encoded here is never changed afterwards; a block is freed when the last message in it is.
 */
import { headers } from '@nats-io/transport-node'
import type { MsgHdrs } from '@nats-io/transport-node'

const blockBytes = 64 * 1024
/** A longer text has a buffer of its own. */
const longestText = 4 * 1024
/** At most. */
export const bytesPerCharacter = 3

let block = Buffer.allocUnsafeSlow(blockBytes)
let used = 0

export function encodeText(text: string): Uint8Array {
  if (text.length > longestText) return Buffer.from(text)
  if (text.length * bytesPerCharacter > blockBytes - used) {
    block = Buffer.allocUnsafeSlow(blockBytes)
    used = 0
  }
  const start = used
  used += block.write(text, start)
  return block.subarray(start, used)
}

/** Lines of headers: `name: value`, each with its end. Values have no line breaks. */
export function encodeHeaders(lines: string): Uint8Array {
  return encodeText(`NATS/1.0\r\n${lines}\r\n`)
}

export function headerLine(name: string, value: string): string {
  return `${name}: ${value}\r\n`
}

let encoded: Uint8Array = new Uint8Array()
const carrier = Object.assign(headers(), { encode: (): Uint8Array => encoded })

/** For the client, which asks for their bytes within `publish` and for nothing else; valid until the next call. */
export function asHeaders(bytes: Uint8Array): MsgHdrs {
  encoded = bytes
  return carrier
}
