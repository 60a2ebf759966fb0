/**
 * Time limit and abort of a body on the host, which cannot be ended by force: its signal is aborted, and its result is
 * not waited for.
 */
import type { ToolDefinition } from '../../src/agent/define.js'
import type { Clock } from '../../src/core/clock.js'
import { SkeinError } from '../../src/core/failure.js'
import { createTimeLimit } from '../../src/pool/time-limit.js'
import type { CallRecorder } from './call-recorder.js'

/** Resolves with the body's value; rejects as soon as it is aborted or out of time. */
export function withinLimits(
  body: PromiseLike<unknown>,
  tool: ToolDefinition,
  { recorder, clock }: { readonly recorder: CallRecorder; readonly clock: Clock },
): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const { name, timeoutMs } = tool
    const { cancel } = recorder.job
    if (timeoutMs !== undefined)
      recorder.limit = createTimeLimit(clock, timeoutMs, () =>
        cancel.abort(new SkeinError('TOOL_TIMED_OUT', `${name} did not finish within ${timeoutMs} ms`)),
      )
    let stopListening: () => void = () => undefined
    const cleanUp = (): void => {
      recorder.limit?.stop()
      stopListening()
    }
    body.then(
      (value) => {
        cleanUp()
        resolve(value)
      },
      (thrown: unknown) => {
        cleanUp()
        reject(thrown)
      },
    )
    stopListening = cancel.onAbort((reason) => {
      cleanUp()
      reject(reason)
    })
  })
}
