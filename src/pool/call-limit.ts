/**
 * How long a call may take before the pool ends it, whatever its body does.
 *
 * - The limit is the tool's own `timeoutMs`, else that of the app (`limits.maxToolMs`). For a command the model may
 *   choose the limit, up to that of the app.
 */
import type { ToolDefinition } from '../agent/define.js'
import { failure } from '../core/failure.js'
import type { Failure } from '../core/failure.js'
import { isObject } from '../core/json.js'
import type { Json } from '../core/json.js'
import { builtinTimeoutMs, commandLateMs, commandTimeoutMs } from '../tools/own/limits.js'
import { bashTool } from '../tools/own/thread-files.js'

export interface CallLimit {
  readonly ms: number
  readonly late: Failure
}

export function callLimit(
  tool: ToolDefinition | undefined,
  args: Json,
  maxToolMs: number | undefined,
): CallLimit | undefined {
  if (tool === bashTool) return commandLimit(args, maxToolMs ?? builtinTimeoutMs)
  const ms = tool?.timeoutMs ?? maxToolMs
  return ms === undefined
    ? undefined
    : { ms, late: failure('TOOL_TIMED_OUT', `${tool?.name ?? 'it'} did not finish within ${ms} ms`) }
}

/** A command ends by itself in time, unless it blocks the event loop; then nothing of it is kept. */
function commandLimit(args: Json, maxMs: number): CallLimit {
  const opts = isObject(args) && isObject(args['opts']) ? args['opts'] : {}
  const requestedMs = typeof opts['timeoutMs'] === 'number' ? opts['timeoutMs'] : commandTimeoutMs
  const allowedMs = Math.min(requestedMs, maxMs)
  const advice = requestedMs > maxMs ? 'that is all that the app allows' : 'do less at once, or give opts.timeoutMs'
  return {
    ms: requestedMs > maxMs ? maxMs : allowedMs + commandLateMs,
    late: failure(
      'PROCESS_TIMEOUT',
      `the command did not end within ${allowedMs} ms; nothing of it was kept: ${advice}`,
    ),
  }
}
