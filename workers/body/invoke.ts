/**
 * Runs a function of one tool and turns whatever happens into what the pool returns. The pool loads it by URL. It knows
 * tools and outcomes, and nothing of threads, journals or models.
 *
 * - It never throws: a throw, a time-out, a bad result and args that no longer fit are outcomes (T2).
 * - A body that is aborted or timed out has lost its result, even if it goes on to return one.
 */
import type { ToolDefinition, ToolState } from '../../src/agent/define.js'
import { runWithin } from '../../src/core/trace/active-trace.js'
import { nextTurn } from '../../src/core/async/next-turn.js'
import type { Clock } from '../../src/core/clock.js'
import { defined } from '../../src/core/defined.js'
import type { Outcome } from '../../src/core/effect.js'
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
  /** `elsewhere`: the host keeps the limits and ends the worker if need be; here the body is simply awaited. */
  readonly limits: 'here' | 'elsewhere'
  /** Wraps the whole run, so that everything the body does asynchronously can be attributed to its call. */
  within?(recorder: CallRecorder, run: () => Promise<Returned>): Promise<Returned>
}

/** One call on its way. */
interface Invocation {
  readonly tool: ToolDefinition
  readonly recorder: CallRecorder
  readonly services: InvokeServices
}

export function invoke(tool: ToolDefinition, job: ToolJob, services: InvokeServices): Promise<Returned> {
  const recorder = new CallRecorder(tool, job, services)
  const { trace } = job
  const carry = (): Promise<Returned> => carryOut({ tool, recorder, services })
  const run = trace === undefined ? carry : (): Promise<Returned> => runWithin(trace, carry)
  return services.within ? services.within(recorder, run) : run()
}

async function carryOut(invocation: Invocation): Promise<Returned> {
  const { tool, recorder } = invocation
  const { job } = recorder
  try {
    const begun = begin(tool, job, new CallState(tool, recorder, invokeNested))
    const value = isPending(begun) ? await settled(begun, invocation) : begun
    if (isLongList(value)) await nextTurn()
    if ((value === undefined || value === null) && mayAnswerLater(tool, job))
      return await recorder.done({ ok: true, value: null }, job.run.part === 'execute' ? { held: true } : {})
    const { outcome, output } = toOutput(tool.name, value, tool.outputSchema)
    if (!outcome.ok && !isReportedError(value)) return await recorder.failed(outcome.failure)
    const returned = recordResult(invocation, { value, outcome, output })
    return returned instanceof Promise ? await returned : returned
  } catch (thrown) {
    return recorder.failed(toFailure(thrown, 'TOOL_THREW'), thrown)
  }
}

const manyItems = 4_096

/** To make JSON of it takes a while: it gets a turn of the event loop of its own, not the rest of this one. */
function isLongList(value: unknown): boolean {
  return Array.isArray(value) && value.length > manyItems
}

interface BodyResult {
  /** What the body returned. */
  readonly value: unknown
  readonly outcome: Outcome
  readonly output: unknown
}

/** A promise only where there is more than the outcome. */
function recordResult({ tool, recorder }: Invocation, result: BodyResult): Returned | Promise<Returned> {
  const { value, outcome, output } = result
  const attachments = namedFiles(value)
  const shown = outcome.ok ? shownContent(value, output) : undefined
  if (recorder.isEmpty && !tool.toModelOutput && !attachments && !shown) return { outcome }
  return recordMore({ tool, recorder }, { outcome, output, attachments, shown })
}

interface ResultToRecord extends Pick<BodyResult, 'outcome' | 'output'> {
  readonly attachments: ReturnType<typeof namedFiles>
  readonly shown: ReturnType<typeof shownContent>
}

async function recordMore(
  { tool: { toModelOutput }, recorder }: Pick<Invocation, 'tool' | 'recorder'>,
  { outcome, output, attachments, shown }: ResultToRecord,
): Promise<Returned> {
  const attached = attachments && (await presentFiles(recorder.files, attachments))
  const own = outcome.ok && toModelOutput ? await textForModel(toModelOutput, recorder, output) : undefined
  const text = toModelOutput || shown?.text === undefined ? own : recorder.text(shown.text)
  return recorder.done(outcome, defined({ attached, text, media: shown?.media }))
}

/** Null is not a result here: a person is asked instead, or the probe found that the effect has not happened. */
function mayAnswerLater(tool: ToolDefinition, { run: { part } }: ToolJob): boolean {
  return part === 'probe' || (part === 'execute' && typeof tool.execute !== 'function')
}

function begin(tool: ToolDefinition, { run, args }: ToolJob, state: ToolState): unknown {
  if (run.part === 'respond') return tool.onResponseReceived ? tool.onResponseReceived(state, run.answer) : run.answer
  const parsed = parse(tool.args, args)
  if (!parsed.success) {
    // They were valid when the model called; the definition has changed since (P3).
    throw new SkeinError(
      'TOOL_INPUT_INVALID',
      `the definition of ${tool.name} changed and these args no longer fit: ${parsed.error.message}`,
    )
  }
  if (run.part === 'probe') return tool.probe?.(state, parsed.data)
  if (run.part === 'revert') return tool.revert?.(state, parsed.data)
  if (typeof tool.execute === 'function') return tool.execute(state, parsed.data)
  if (tool.onToolCalled) return tool.onToolCalled(state, parsed.data)
  throw new SkeinError('TOOL_NOT_ALLOWED', `${tool.name} has no body: it is answered by the caller of the thread`)
}

type Pending = PromiseLike<unknown> | AsyncGenerator<unknown, unknown>

function isPending(value: unknown): value is Pending {
  return isThenable(value) || isGenerator(value)
}

/** A promise, or another thenable such as a query builder. */
function isThenable(value: unknown): value is PromiseLike<unknown> {
  return value instanceof Promise || (isObject(value) && typeof value['then'] === 'function')
}

function settled(pending: Pending, { tool, recorder, services }: Invocation): PromiseLike<unknown> {
  const { limits, clock } = services
  const driveBody = (body: AsyncGenerator<unknown, unknown>): Promise<unknown> =>
    drive(body, { tool, signal: recorder.job.cancel.signal, onEvent: (event) => recorder.preliminary(event) })
  const body = isGenerator(pending) ? driveBody(pending) : pending
  const value = limits === 'here' ? withinLimits(body, tool, { recorder, clock }) : body
  return tool.eventSchema ? value.then((returned) => (isGenerator(returned) ? driveBody(returned) : returned)) : value
}

/** Undefined if `toModelOutput` fails: the model reads the result itself, and the call does not fail. */
async function textForModel(
  toModelOutput: NonNullable<ToolDefinition['toModelOutput']>,
  recorder: CallRecorder,
  output: unknown,
): Promise<string | undefined> {
  try {
    const text: unknown = await toModelOutput(output, recorder.job.args)
    if (typeof text === 'string') return recorder.text(text)
    recorder.progress.log([`toModelOutput gave ${typeof text}, not a text: the model reads the result itself`])
  } catch (thrown) {
    recorder.progress.log([`toModelOutput threw ${textOf(thrown)}: the model reads the result itself`])
  }
  return undefined
}
