/**
 * Runs a function of one tool and turns whatever happens into what the pool returns. Loaded by the pool, by URL; it
 * knows tools and outcomes, and nothing of threads, journals or models.
 *
 * - It never throws: a throw, a time-out, a bad result and args that no longer fit are outcomes (T2).
 * - A body that is aborted or timed out has lost its result, even if it goes on to return one.
 */
import type { ToolDefinition, ToolState } from '../../src/agent/define.js'
import type { Clock } from '../../src/core/clock.js'
import { SkeinError, toFailure } from '../../src/core/failure.js'
import { isObject, textOf } from '../../src/core/json.js'
import { parse } from '../../src/core/schema.js'
import type { ToolJob, Returned } from '../../src/pool/port.js'
import type { FindTool } from '../../src/pool/find-tool.js'
import { shownContent } from '../../src/tools/shown.js'
import { isReportedError, namedFiles, toOutput } from '../../src/tools/outcome.js'
import { drive, isGenerator } from './generator.js'
import { withinLimits } from './limits.js'
import { invokeNested } from './nested.js'
import { presentFiles } from './files.js'
import { CallState } from './state.js'
import { CallRecorder } from './call-recorder.js'

export interface InvokeServices {
  readonly find: FindTool
  readonly clock: Clock
  /** `elsewhere`: whoever owns the thread keeps the limits, and the outcome waits for the body, which may lose it. */
  readonly limits: 'here' | 'elsewhere'
  /** Runs all of it, so that what the body does behind our back can be told to be its. */
  within?(sheet: CallRecorder, run: () => Promise<Returned>): Promise<Returned>
}

export function invoke(tool: ToolDefinition, job: ToolJob, means: InvokeServices): Promise<Returned> {
  const sheet = new CallRecorder(tool, job, means)
  return means.within ? means.within(sheet, () => carryOut(tool, sheet, means)) : carryOut(tool, sheet, means)
}

async function carryOut(tool: ToolDefinition, sheet: CallRecorder, means: InvokeServices): Promise<Returned> {
  const { job } = sheet
  try {
    const begun = begin(tool, job, new CallState(tool, sheet, invokeNested))
    const value = isWaiting(begun) ? await waited(begun, tool, { sheet, means }) : begun
    if ((value === undefined || value === null) && isOpen(tool, job))
      return await sheet.done({ ok: true, value: null }, job.run.part === 'execute' ? { held: true } : {})
    const { outcome, output } = toOutput(tool.name, value, tool.outputSchema)
    if (!outcome.ok && !isReportedError(value)) return await sheet.failed(outcome.failure)
    const named = namedFiles(value)
    const shown = outcome.ok ? shownContent(value, output) : undefined
    if (sheet.isEmpty && !tool.toModelOutput && !named && !shown) return { outcome }
    const attached = named && { attached: await presentFiles(sheet.files, named) }
    const own = outcome.ok && tool.toModelOutput ? await spoken(tool.toModelOutput, { sheet, output }) : {}
    const text = shown && tool.toModelOutput === undefined ? shown.text : undefined
    return await sheet.done(outcome, {
      ...attached,
      ...(text !== undefined && { text: sheet.text(text) }),
      ...(shown?.media && { media: shown.media }),
      ...own,
    })
  } catch (thrown) {
    return sheet.failed(toFailure(thrown, 'TOOL_THREW'), thrown)
  }
}

/** Nothing is an answer of its own here: a person is asked, the effect has not happened. */
function isOpen(tool: ToolDefinition, { run: { part } }: ToolJob): boolean {
  return part === 'probe' || (part === 'execute' && typeof tool.execute !== 'function')
}

function begin(tool: ToolDefinition, { run, args }: ToolJob, state: ToolState): unknown {
  if (run.part === 'respond') return tool.onResponseReceived ? tool.onResponseReceived(state, run.answer) : run.answer
  const parsed = parse(tool.args, args)
  if (!parsed.success) {
    // Validated when the model asked; the definition has changed since (P3).
    throw new SkeinError(
      'TOOL_INPUT_INVALID',
      `the definition of ${tool.name} changed and these args no longer fit: ${parsed.error.message}`,
    )
  }
  if (run.part === 'probe') return tool.probe?.(state, parsed.data)
  if (typeof tool.execute === 'function') return tool.execute(state, parsed.data)
  if (tool.onToolCalled) return tool.onToolCalled(state, parsed.data)
  throw new SkeinError('TOOL_NOT_ALLOWED', `${tool.name} has no body: it is answered by the caller of the thread`)
}

type Waiting = PromiseLike<unknown> | AsyncGenerator<unknown, unknown>

function isWaiting(value: unknown): value is Waiting {
  return isAwaitable(value) || isGenerator(value)
}

/** A promise, or what a query builder gives in its place. */
function isAwaitable(value: unknown): value is PromiseLike<unknown> {
  return value instanceof Promise || (isObject(value) && typeof value['then'] === 'function')
}

interface Surroundings {
  readonly sheet: CallRecorder
  readonly means: InvokeServices
}

function waited(
  begun: Waiting,
  tool: ToolDefinition,
  { sheet, means: { limits, clock } }: Surroundings,
): PromiseLike<unknown> {
  const generated = (body: AsyncGenerator<unknown, unknown>): Promise<unknown> =>
    drive(body, { tool, signal: sheet.job.cancel.signal, onEvent: (event) => sheet.preliminary(event) })
  const body = isGenerator(begun) ? generated(begun) : begun
  const value = limits === 'here' ? withinLimits(body, tool, { sheet, clock }) : body
  return tool.eventSchema ? value.then((returned) => (isGenerator(returned) ? generated(returned) : returned)) : value
}

/** A text that cannot be made costs the model its comfort, not the result. */
async function spoken(
  speak: NonNullable<ToolDefinition['toModelOutput']>,
  { sheet, output }: { readonly sheet: CallRecorder; readonly output: unknown },
): Promise<Pick<Returned, 'text'>> {
  try {
    const text: unknown = await speak(output, sheet.job.args)
    if (typeof text === 'string') return { text: sheet.text(text) }
    sheet.progress.log([`toModelOutput gave ${typeof text}, not a text: the model reads the result itself`])
  } catch (thrown) {
    sheet.progress.log([`toModelOutput threw ${textOf(thrown)}: the model reads the result itself`])
  }
  return {}
}
