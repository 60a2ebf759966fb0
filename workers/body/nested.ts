/**
 * `state.invokeTool`: runs another tool now, within the call of the tool that asks (T13).
 *
 * - Tools that wait for somebody are refused: a body cannot stand still for a day. They can be queued.
 * - It runs on the caller's worksheet, so that both see the same files and values, and its changes count when the
 *   caller's do; its events and its text for the model go nowhere.
 */
import type { ToolDefinition } from '../../src/agent/define.js'
import { SkeinError, fromFailure } from '../../src/core/failure.js'
import { parseOrThrow } from '../../src/core/schema.js'
import { checkArgs } from '../../src/tools/args.js'
import { toOutcome } from '../../src/tools/outcome.js'
import { drive, isGenerator } from './generator.js'
import { CallState } from './state.js'
import type { InvokeNested } from './state.js'

export const invokeNested: InvokeNested = async (sheet, caller, { name, args }) => {
  const tool = await sheet.find(name)
  if (!tool) throw new SkeinError('UNKNOWN_TOOL', `${caller.name} invoked the tool ${name}, which is not defined`)
  const run = bodyOf(tool, { caller, atHome: sheet.onHost })
  const checked = checkArgs(name, tool.args, args)
  if (!checked.ok) throw fromFailure(checked.failure)
  // `local` and `shared` are read without waiting, and were given for the caller alone.
  if (tool.contextSchema) await sheet.values.fetch(`context/${name}`)
  if (tool.sharedSchema) await sheet.values.fetch('shared')
  const returned = await run(new CallState(tool, sheet, invokeNested), parseOrThrow(tool.args, checked.args))
  const value = isGenerator(returned)
    ? await drive(returned, { tool, signal: sheet.job.cancel.signal, onEvent: () => undefined })
    : returned
  const outcome = toOutcome(name, value, tool.outputSchema)
  if (!outcome.ok) throw fromFailure(outcome.failure)
  return outcome.value
}

function bodyOf(
  tool: ToolDefinition,
  { caller, atHome }: { readonly caller: ToolDefinition; readonly atHome: boolean },
): NonNullable<Exclude<ToolDefinition['execute'], false>> {
  const refuse = (why: string): SkeinError =>
    new SkeinError('TOOL_NOT_ALLOWED', `${caller.name} cannot invoke ${tool.name}, which ${why}; use queueTool`)
  const { execute } = tool
  if (typeof execute !== 'function')
    throw refuse(execute === false ? 'is answered by the caller of the thread' : 'asks a person')
  if (tool.needsApproval) throw refuse('needs an approval')
  if (tool.where === 'host' && !atHome) throw refuse('runs on the host, while this body runs in a worker thread')
  return execute
}
