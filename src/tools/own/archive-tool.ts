/**
 * `get_tool_response`: the whole of a result that was cut (T12). It is offered only where a thread has such results.
 */
import { z } from 'zod'
import { defineTool } from '../../agent/define.js'
import type { ToolDefinition } from '../../agent/define.js'
import { SkeinError, broken } from '../../core/failure.js'
import { archiveReader } from './runtime.js'
import type { RuntimeState } from './runtime.js'

/** What one call gives at most. */
const longest = 48 * 1024

const args = z.object({
  id: z.string().describe('id of the call whose result was cut, such as call_3_0'),
  offset: z.number().int().min(0).default(0).describe('first character to give'),
  limit: z.number().int().min(1).max(longest).default(longest).describe('characters to give'),
})

export const getToolResponse: ToolDefinition = defineTool({
  name: 'get_tool_response',
  description: `Gives a part of a result that was cut: up to ${longest} characters from offset on.`,
  args,
  sideEffect: false,
  async execute(state: RuntimeState, { id, offset, limit }) {
    const read = state[archiveReader]
    if (!read) throw broken('T12', 'the state of get_tool_response has no archive')
    const whole = await read(id)
    if (whole === undefined)
      throw new SkeinError(
        'TOOL_INPUT_INVALID',
        `the result of ${JSON.stringify(id)} was not cut: it is in the conversation as it is`,
      )
    const part = whole.slice(offset, offset + limit)
    const end = offset + part.length
    return end < whole.length
      ? `${part}\n[characters ${offset} to ${end} of ${whole.length}; go on with offset ${end}]`
      : part
  },
})
