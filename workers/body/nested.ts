/**
 * `state.invokeTool`: runs another tool now, within the call of its caller (T13).
 *
 * - Tools that wait for a person are refused: a body cannot wait for a day. They can be queued.
 * - It runs on the caller's recorder: both see the same files and values, and its changes count when the caller's do.
 *   Its events and its text for the model are dropped.
 */
import type { ToolDefinition } from '../../src/agent/define.js'
import { SkeinError, fromFailure } from '../../src/core/failure.js'
import { parseOrThrow } from '../../src/core/schema.js'
import { checkArgs } from '../../src/tools/args.js'
import { toOutcome } from '../../src/tools/outcome.js'
import { drive, isGenerator } from './generator.js'
import { CallState } from './state.js'
import type { InvokeNested } from './state.js'

export const invokeNested: InvokeNested = async (recorder, caller, { name, args }) => {
  const tool = await recorder.find(name)
  if (!tool) throw new SkeinError('UNKNOWN_TOOL', `${caller.name} invoked the tool ${name}, which is not defined`)
  const run = bodyOf(tool, { caller, onHost: recorder.onHost })
  const checked = checkArgs(name, tool.args, args)
  if (!checked.ok) throw fromFailure(checked.failure)
  // `local` and `shared` are read synchronously, and the job brought along only those of the caller.
  if (tool.contextSchema) await recorder.values.fetch(`context/${name}`)
  if (tool.sharedSchema) await recorder.values.fetch('shared')
  const returned = await run(new CallState(tool, recorder, invokeNested), parseOrThrow(tool.args, checked.args))
  const value = isGenerator(returned)
    ? await drive(returned, { tool, signal: recorder.job.cancel.signal, onEvent: () => undefined })
    : returned
  const outcome = toOutcome(name, value, tool.outputSchema)
  if (!outcome.ok) throw fromFailure(outcome.failure)
  return outcome.value
}

function bodyOf(
  tool: ToolDefinition,
  { caller, onHost }: { readonly caller: ToolDefinition; readonly onHost: boolean },
): NonNullable<Exclude<ToolDefinition['execute'], false>> {
  const refuse = (why: string): SkeinError =>
    new SkeinError('TOOL_NOT_ALLOWED', `${caller.name} cannot invoke ${tool.name}, which ${why}; use queueTool`)
  const { execute } = tool
  if (typeof execute !== 'function')
    throw refuse(execute === false ? 'is answered by the caller of the thread' : 'asks a person')
  if (tool.needsApproval) throw refuse('needs an approval')
  if (tool.where === 'host' && !onHost) throw refuse('runs on the host, while this body runs in a worker thread')
  return execute
}
