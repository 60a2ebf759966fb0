/**
 * How long a call may take before the pool ends it, whatever its body does.
 *
 * - A tool's own `timeoutMs` counts, else what the app allows (`limits.maxToolMs`). A model may ask a command for
 *   less or more, up to that.
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

/** It ends by itself in time, unless it computes; then nothing of it was kept. */
function commandLimit(args: Json, most: number): CallLimit {
  const opts = isObject(args) && isObject(args['opts']) ? args['opts'] : {}
  const asked = typeof opts['timeoutMs'] === 'number' ? opts['timeoutMs'] : commandTimeoutMs
  const allowed = Math.min(asked, most)
  const more = asked > most ? 'that is all that the app allows' : 'do less at once, or give opts.timeoutMs'
  return {
    ms: asked > most ? most : allowed + commandLateMs,
    late: failure('PROCESS_TIMEOUT', `the command did not end within ${allowed} ms; nothing of it was kept: ${more}`),
  }
}
