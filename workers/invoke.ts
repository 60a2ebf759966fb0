/**
 * Runs one tool body and turns whatever happens into an outcome. Loaded by the pool, by URL; it knows tools and
 * outcomes, and nothing of threads, journals or models.
 *
 * IV1 It never throws: a throw, a time-out, a bad result and args that no longer fit are outcomes (T2).
 * IV2 A body that is aborted or timed out has lost its result, even if it goes on to return one.
 */
import type { ToolDefinition, ToolState } from '../src/agent/define.js'
import type { Cancel } from '../src/core/cancel.js'
import type { Clock } from '../src/core/clock.js'
import type { Outcome } from '../src/core/effect.js'
import { SkeinError, failure, toFailure } from '../src/core/failure.js'
import { isObject } from '../src/core/json.js'
import type { Json } from '../src/core/json.js'
import { toOutcome } from '../src/tools/outcome.js'

export interface Invocation {
  readonly args: Json
  readonly threadId: string
  readonly idempotencyKey: string
  readonly cancel: Cancel
  readonly probe?: true
}

/** Without a clock the limits are kept by whoever owns the thread: the outcome waits for the body, which may lose it. */
export async function invoke(tool: ToolDefinition, invocation: Invocation, clock?: Clock): Promise<Outcome> {
  const { threadId, cancel } = invocation
  const state: ToolState = {
    threadId,
    get idempotencyKey() {
      return invocation.idempotencyKey
    },
    get signal() {
      return cancel.signal
    },
  }
  try {
    const parsed = tool.args.safeParse(invocation.args)
    if (!parsed.success) {
      // Validated when the model asked; the definition has changed since (P3).
      return { ok: false, failure: failure('TOOL_INPUT_INVALID', `the definition of ${tool.name} changed and these args no longer fit: ${parsed.error.message}`) }
    }
    const returned = invocation.probe ? tool.probe?.(state, parsed.data) : tool.execute(state, parsed.data)
    const value = isAwaitable(returned) ? await (clock ? withinLimits(returned, tool, { cancel, clock }) : returned) : returned
    // What has not happened has no output to be checked.
    return toOutcome(tool.name, value, invocation.probe && (value === null || value === undefined) ? undefined : tool.outputSchema)
  } catch (thrown) {
    return { ok: false, failure: toFailure(thrown, 'TOOL_THREW') }
  }
}

/** A promise, or what a query builder gives in its place. */
function isAwaitable(value: unknown): value is PromiseLike<unknown> {
  return value instanceof Promise || (isObject(value) && typeof value['then'] === 'function')
}

/** The body's value, unless it is aborted or out of time first (IV2). */
function withinLimits(body: PromiseLike<unknown>, tool: ToolDefinition, { cancel, clock }: { cancel: Cancel; clock: Clock }): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const { timeoutMs } = tool
    const stopTimer =
      timeoutMs === undefined
        ? undefined
        : clock.wakeAt(clock.now() + timeoutMs, () => cancel.abort(new SkeinError('TOOL_TIMED_OUT', `${tool.name} did not finish within ${timeoutMs} ms`)))
    const { signal } = cancel
    const onAbort = (): void => settle(() => reject(signal.reason))
    const settle = (end: () => void): void => {
      stopTimer?.()
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
