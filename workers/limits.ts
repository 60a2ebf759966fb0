/**
 * The limits of a body that runs where nobody can end it: it is told to end, and its result is not waited for.
 */
import type { ToolDefinition } from '../src/agent/define.js'
import type { Clock } from '../src/core/clock.js'
import { SkeinError } from '../src/core/failure.js'
import { createTimeLimit } from '../src/pool/time-limit.js'
import type { Worksheet } from './worksheet.js'

/** The body's value, unless it is aborted or out of time first (IV2). */
export function withinLimits(body: PromiseLike<unknown>, tool: ToolDefinition, { sheet, clock }: { readonly sheet: Worksheet; readonly clock: Clock }): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const { name, timeoutMs } = tool
    const { cancel } = sheet.job
    if (timeoutMs !== undefined) sheet.limit = createTimeLimit(clock, timeoutMs, () => cancel.abort(new SkeinError('TOOL_TIMED_OUT', `${name} did not finish within ${timeoutMs} ms`)))
    const { signal } = cancel
    const onAbort = (): void => settle(() => reject(signal.reason))
    const settle = (end: () => void): void => {
      sheet.limit?.stop()
      signal.removeEventListener('abort', onAbort)
      end()
    }
    body.then(
      (value) => settle(() => resolve(value)),
      (thrown: unknown) => settle(() => reject(thrown)),
    )
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
  })
}
