/** The forms of A2A 1.0 over JSON-RPC, as they come in. Fields that are not known are left alone: clients send more. */
import { z } from 'zod'
import { issuesText } from '../problem.js'
import { RpcError, rpcCodes } from './rpc-error.js'

const part = z.looseObject({
  text: z.string().optional(),
  raw: z.string().optional(),
  url: z.string().optional(),
  data: z.unknown().optional(),
  filename: z.string().optional(),
  mediaType: z.string().optional(),
})

const id = z.string().min(1).max(256)
/** Empty is absent: so the protocol's own encoding writes it. */
const optionalId = z
  .string()
  .max(256)
  .optional()
  .transform((text) => text || undefined)

export const sendParams = z.looseObject({
  message: z.looseObject({
    messageId: id,
    contextId: optionalId,
    taskId: optionalId,
    role: z.enum(['ROLE_USER', 'ROLE_AGENT']).default('ROLE_USER'),
    parts: z.array(part).min(1).max(64),
  }),
  configuration: z
    .looseObject({
      returnImmediately: z.boolean().optional(),
      historyLength: z.number().int().min(0).max(1_000).optional(),
      taskPushNotificationConfig: z.unknown().optional(),
    })
    .optional(),
})

export type SendParams = z.output<typeof sendParams>

export const taskParams = z.looseObject({ id, historyLength: z.number().int().min(0).max(1_000).optional() })

export const listParams = z.looseObject({
  contextId: optionalId,
  status: z.string().optional(),
  pageSize: z.number().int().min(0).max(100).optional(),
  pageToken: optionalId,
  historyLength: z.number().int().min(0).max(1_000).optional(),
  includeArtifacts: z.boolean().optional(),
})

export const rpcRequest = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number().int(), z.null()]).optional(),
  method: z.string().min(1).max(128),
  params: z.unknown().optional(),
})

/** A decision about one entry of the inbox, as a part with data. */
export const decisionData = z.object({
  id: z.string().optional(),
  decision: z.enum(['approve', 'reject']).optional(),
  args: z.record(z.string(), z.unknown()).optional(),
  comment: z.string().max(4_000).optional(),
  output: z.unknown().optional(),
})

export function parseParams<Of extends z.ZodType>(form: Of, raw: unknown): z.output<Of> {
  const checked = form.safeParse(raw ?? {})
  if (checked.success) return checked.data
  throw new RpcError(rpcCodes.invalidParams, `params: ${issuesText(checked.error)}`)
}
