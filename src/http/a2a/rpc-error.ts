/** Errors of A2A over JSON-RPC. A problem of a route becomes the nearest of them. */
import { toProblem } from '../problem.js'

export const rpcCodes = {
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  taskNotFound: -32_001,
  taskNotCancelable: -32_002,
  pushNotSupported: -32_003,
  unsupported: -32_004,
  contentType: -32_005,
  noExtendedCard: -32_007,
  version: -32_009,
} as const

export class RpcError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

export function toRpcError(thrown: unknown): { readonly code: number; readonly message: string } {
  if (thrown instanceof RpcError) return { code: thrown.code, message: thrown.message }
  const { status, code, message } = toProblem(thrown)
  const text = `${code}: ${message}`
  if (status === 404) return { code: rpcCodes.taskNotFound, message: text }
  return { code: status >= 500 ? rpcCodes.internal : rpcCodes.invalidParams, message: text }
}
