/**
 * The limits of a body that runs where nobody can end it: it is told to end, and its result is not waited for.
 */
import type { ToolDefinition } from '../../src/agent/define.js'
import type { Clock } from '../../src/core/clock.js'
import { SkeinError } from '../../src/core/failure.js'
import { createTimeLimit } from '../../src/pool/time-limit.js'
import type { CallRecorder } from './call-recorder.js'

/** The body's value, unless it is aborted or out of time first. */
export function withinLimits(
  body: PromiseLike<unknown>,
  tool: ToolDefinition,
  { sheet, clock }: { readonly sheet: CallRecorder; readonly clock: Clock },
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const { name, timeoutMs } = tool
    const { cancel } = sheet.job
    if (timeoutMs !== undefined)
      sheet.limit = createTimeLimit(clock, timeoutMs, () =>
        cancel.abort(new SkeinError('TOOL_TIMED_OUT', `${name} did not finish within ${timeoutMs} ms`)),
      )
    let deafen: () => void = () => undefined
    const over = (): void => {
      sheet.limit?.stop()
      deafen()
    }
    body.then(
      (value) => {
        over()
        resolve(value)
      },
      (thrown: unknown) => {
        over()
        reject(thrown)
      },
    )
    deafen = cancel.onAbort((reason) => {
      over()
      reject(reason)
    })
  })
}
