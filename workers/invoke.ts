/**
 * Runs one tool body and turns whatever happens into an outcome. Loaded by the pool, by URL; it knows tools and
 * outcomes, and nothing of threads, journals or models.
 *
 * IV1 It never throws: a throw, a time-out, a bad result and args that no longer fit are outcomes (T2).
 * IV2 A body that is aborted or timed out has lost its result, even if it goes on to return one.
 */
import type { ToolDefinition, ToolState } from '../src/agent/define.js'
import type { Clock } from '../src/core/clock.js'
import type { Outcome } from '../src/core/effect.js'
import { SkeinError, failure, toFailure } from '../src/core/failure.js'
import type { Json } from '../src/core/json.js'
import { toOutcome } from '../src/tools/outcome.js'

export interface Invocation {
  readonly args: Json
  readonly threadId: string
  readonly idempotencyKey: string
  readonly signal: AbortSignal
  readonly clock: Clock
}

export async function invoke(tool: ToolDefinition, invocation: Invocation): Promise<Outcome> {
  const parsed = tool.args.safeParse(invocation.args)
  if (!parsed.success) {
    // Validated when the model asked; the definition has changed since (P3).
    return { ok: false, failure: failure('TOOL_INPUT_INVALID', `the definition of ${tool.name} changed and these args no longer fit: ${parsed.error.message}`) }
  }
  const { threadId, idempotencyKey } = invocation
  const limit = createLimit(tool, invocation)
  const state: ToolState = { threadId, idempotencyKey, signal: limit.signal }
  try {
    const returned = await Promise.race([limit.reached, tool.execute(state, parsed.data)])
    return toOutcome(tool.name, returned, tool.outputSchema)
  } catch (thrown) {
    return { ok: false, failure: toFailure(thrown, 'TOOL_THREW') }
  } finally {
    limit.clear()
  }
}

interface Limit {
  readonly signal: AbortSignal
  /** Rejects when the call must end; never resolves. */
  readonly reached: Promise<never>
  clear(): void
}

function createLimit(tool: ToolDefinition, { signal, clock }: Invocation): Limit {
  const controller = new AbortController()
  const { promise, reject } = deferred()
  const end = (why: SkeinError): void => {
    controller.abort(why)
    reject(why)
  }
  const onAbort = (): void => end(new SkeinError('CANCELLED', `${tool.name} was aborted`, { cause: signal.reason }))
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  const { timeoutMs } = tool
  const cancelTimer =
    timeoutMs === undefined
      ? undefined
      : clock.wakeAt(clock.now() + timeoutMs, () => end(new SkeinError('TOOL_TIMED_OUT', `${tool.name} did not finish within ${timeoutMs} ms`)))
  return {
    signal: controller.signal,
    reached: promise,
    clear() {
      signal.removeEventListener('abort', onAbort)
      cancelTimer?.()
    },
  }
}

function deferred(): { promise: Promise<never>; reject: (why: SkeinError) => void } {
  let reject: (why: SkeinError) => void = () => undefined
  const promise = new Promise<never>((_, refuse) => {
    reject = refuse
  })
  // Nobody may be racing any more when the signal fires.
  promise.catch(() => undefined)
  return { promise, reject }
}
