/**
 * Calls a tool as a worker does: args through its schema, then its body with a state; what the test does not give is
 * missed loudly.
 */
import type { ToolDefinition } from '../../../src/agent/define.js'
import { parseOrThrow } from '../../../src/core/schema.js'
import type { RuntimeState } from '../../../src/tools/own/runtime.js'

const given = {
  threadId: 'thread-1',
  idempotencyKey: 'key-1',
  signal: new AbortController().signal,
  local: {},
  shared: {},
}

export function toolState(parts: Partial<RuntimeState>): RuntimeState {
  const missing = (name: string) => (): never => {
    throw new Error(`the body used state.${name}, which this test does not give`)
  }
  return {
    ...given,
    env: missing('env'),
    get files() {
      return missing('files')()
    },
    get kv() {
      return missing('kv')()
    },
    setContext: missing('setContext'),
    setShared: missing('setShared'),
    progress: missing('progress'),
    log: missing('log'),
    runCode: missing('runCode'),
    invokeTool: missing('invokeTool'),
    queueTool: missing('queueTool'),
    schedule: missing('schedule'),
    schedules: missing('schedules'),
    unschedule: missing('unschedule'),
    queueMessage: missing('queueMessage'),
    notifyParent: missing('notifyParent'),
    setStatus: missing('setStatus'),
    ...parts,
  }
}

export function caller(tools: readonly ToolDefinition[]) {
  return async (name: string, args: unknown, parts: Partial<RuntimeState> = {}): Promise<unknown> => {
    const tool = tools.find((each) => each.name === name)
    if (!tool?.execute) throw new Error(`${name} has no body`)
    return tool.execute(toolState(parts), parseOrThrow(tool.args, args))
  }
}
