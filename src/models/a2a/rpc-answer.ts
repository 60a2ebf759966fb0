/** A response of JSON-RPC. */
import { z } from 'zod'

export const rpcAnswer = z.looseObject({
  jsonrpc: z.literal('2.0'),
  result: z.unknown().optional(),
  error: z.looseObject({ code: z.number(), message: z.string().default('') }).optional(),
})
