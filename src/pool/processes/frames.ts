/**
 * Frames of messages between the host and a worker process: a head of two lengths, the message, and the bytes that go
 * with it. Decoding costs time in proportion to the length, whatever parts a message arrives in. Decoded bytes belong
 * to the receiver.
 */
import { Buffer } from 'node:buffer'
import { deserialize, serialize } from 'node:v8'

const headBytes = 12
/** Begins every head, so that a body that writes to the descriptor itself is noticed at once. */
const mark = 0x5ce1_4f2a
/** In the first length: the message is not JSON but structured (it contains maps). */
const structuredBit = 0x8000_0000

/** The head and the message. The caller sends the bytes behind them. */
export function encodeBinaryFrame(message: object, bytes?: Uint8Array): Buffer {
  const text = JSON.stringify(message)
  const length = Buffer.byteLength(text)
  const whole = Buffer.allocUnsafe(headBytes + length)
  whole.writeUInt32LE(mark, 0)
  whole.writeUInt32LE(length, 4)
  // One more than the length, because empty bytes are not the same as no bytes.
  whole.writeUInt32LE(bytes ? bytes.byteLength + 1 : 0, 8)
  whole.write(text, headBytes)
  return whole
}

/** For messages that JSON cannot express. */
export function encodeStructured(message: object): Buffer {
  const body = serialize(message)
  const head = Buffer.alloc(headBytes)
  head.writeUInt32LE(mark, 0)
  head.writeUInt32LE((body.length | structuredBit) >>> 0, 4)
  return Buffer.concat([head, body])
}

/** Returns a function for the parts of the stream as they arrive. It throws if they are not of this format. */
export function createFrameDecoder(
  onMessage: (message: unknown, bytes: Uint8Array<ArrayBuffer> | undefined) => void,
): (part: Buffer) => void {
  let parts: Buffer[] = []
  let have = 0
  let need = headBytes
  return (part) => {
    parts.push(part)
    have += part.length
    if (have < need) return
    const whole = parts.length === 1 ? part : Buffer.concat(parts, have)
    let at = 0
    need = headBytes
    while (whole.length - at >= headBytes) {
      if (whole.readUInt32LE(at) !== mark) throw new RangeError('no message begins here')
      const first = whole.readUInt32LE(at + 4)
      const length = first & ~structuredBit
      const second = whole.readUInt32LE(at + 8)
      const bytes = Math.max(second - 1, 0)
      const end = at + headBytes + length + bytes
      if (end > whole.length) {
        need = end - at
        break
      }
      const body = whole.subarray(at + headBytes, at + headBytes + length)
      const message: unknown = first >= structuredBit ? deserialize(body) : JSON.parse(body.toString('utf8'))
      at = end
      onMessage(message, second > 0 ? new Uint8Array(whole.subarray(end - bytes, end)) : undefined)
    }
    parts = at < whole.length ? [whole.subarray(at)] : []
    have = whole.length - at
  }
}
