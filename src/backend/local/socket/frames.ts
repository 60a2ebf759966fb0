/**
 * The protocol between owner and clients on the folder's socket: frames of a 4-byte length and a msgpackr body. Owns
 * the format and its validation; knows nothing of connections.
 *
 * - Nothing that came over the socket is used before it is validated; JSON values travel as JSON text, so that what
 *   arrives is JSON by construction.
 * FR2 A frame that is too long or malformed ends the connection.
 */
import { Packr } from 'msgpackr/pack'
import { z } from 'zod'
import type { Json } from '../../../core/json.js'
import { lazy } from '../../../core/schema.js'

const jsonText = z.string().transform((source, context): Json => {
  try {
    const value: Json = JSON.parse(source)
    return value
  } catch (error) {
    context.addIssue({ code: 'custom', message: `not JSON: ${String(error)}` })
    return z.NEVER
  }
})

const toOwner = lazy(() =>
  z.discriminatedUnion('kind', [
    z.object({
      kind: z.literal('put'),
      call: z.number().int(),
      to: z.string().min(1),
      id: z.string().min(1),
      body: jsonText,
    }),
    z.object({ kind: z.literal('subscribe'), topic: z.string() }),
    z.object({ kind: z.literal('unsubscribe'), topic: z.string() }),
    z.object({ kind: z.literal('publish'), topic: z.string(), value: jsonText }),
    z.object({ kind: z.literal('ask_hosts'), call: z.number().int() }),
  ]),
)

/** Why an owner refuses mail: it is closing or its disk is full, its file is damaged, or a bug. */
const refusalCode = z.enum(['STORE_CLOSED', 'STORE_FAILED', 'JOURNAL_CORRUPT', 'INVARIANT'])

const toClient = lazy(() =>
  z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('stored'), call: z.number().int() }),
    z.object({
      kind: z.literal('refused'),
      call: z.number().int(),
      code: refusalCode,
      message: z.string(),
      retry: z.boolean(),
    }),
    z.object({ kind: z.literal('subscribed'), topic: z.string() }),
    z.object({ kind: z.literal('hosts'), call: z.number().int(), value: jsonText }),
    z.object({ kind: z.literal('signal'), topic: z.string(), value: jsonText }),
  ]),
)

export type RefusalCode = z.infer<typeof refusalCode>
export type ToOwner = z.input<ReturnType<typeof toOwner>>
export type FromClient = z.output<ReturnType<typeof toOwner>>
export type ToClient = z.input<ReturnType<typeof toClient>>
export type FromOwner = z.output<ReturnType<typeof toClient>>

export const parseFromClient = (value: unknown): FromClient => toOwner().parse(value)
export const parseFromOwner = (value: unknown): FromOwner => toClient().parse(value)

/** Values over 64 KB are blobs everywhere; this leaves room for many in one mail. */
const longestFrame = 32 * 1024 * 1024
const packr = new Packr({ useRecords: false })

export function encodeFrame(frame: ToOwner | ToClient): Buffer {
  const body = packr.pack(frame)
  const whole = Buffer.allocUnsafe(4 + body.length)
  whole.writeUInt32BE(body.length, 0)
  body.copy(whole, 4)
  return whole
}

/** Takes bytes as they come and gives each whole frame, decoded but not validated. Throws on a bad one (FR2). */
export function frameDecoder(onFrame: (frame: unknown) => void): (bytes: Buffer) => void {
  let parts: Buffer[] = []
  let received = 0
  let needed = 4
  return (bytes) => {
    parts.push(bytes)
    received += bytes.length
    // Joined only when a frame is complete, so that a long one in many pieces is copied once.
    if (received < needed) return
    let rest = Buffer.concat(parts)
    for (;;) {
      needed = rest.length < 4 ? 4 : 4 + rest.readUInt32BE(0)
      if (needed > longestFrame) throw new RangeError(`a frame of ${needed} bytes is longer than ${longestFrame}`)
      if (rest.length < needed || rest.length < 4) break
      onFrame(packr.unpack(rest.subarray(4, needed)))
      rest = rest.subarray(needed)
    }
    parts = rest.length > 0 ? [rest] : []
    received = rest.length
  }
}
