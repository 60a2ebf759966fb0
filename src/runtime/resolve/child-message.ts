/**
 * What a child is told first, out of the args of the call that makes it.
 *
 * - Nothing that was given is lost: what is neither the message nor attachments follows the message as JSON.
 */
import { z } from 'zod'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { isObject, toJson } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { resultText } from '../../core/records/message.js'
import type { Schema } from '../../core/schema.js'
import { parseOrThrow } from '../../core/schema.js'
import type { RequestedCall } from '../../models/port.js'
import { checkArgs } from '../../tools/args.js'

export const attachments = z
  .array(z.string().startsWith('/'))
  .optional()
  .describe('Absolute paths of your own files and directories that it gets, in /attachments.')
/** What is asked for where no `requiredSchema` says otherwise. */
export const messageArgs = z.object({
  message: z.string().min(1).describe('What it shall do, with all that it needs to know: it sees nothing else.'),
  attachments,
})

/** Which args are what. */
export interface MessageMapping {
  readonly initUserMessageProperty?: string
  readonly initAttachmentsProperty?: string
  readonly initAgentNameProperty?: string
}

export interface ChildMessage {
  /** The args as they were sent. */
  readonly args: Json
  readonly text: string
  readonly attachments?: readonly string[]
  /** For people. It stays among what the child is told, where a schema asks for it. */
  readonly name?: string
}

/** `required`: the `requiredSchema` of the prompt that will answer. */
export function childMessage(
  { tool, args }: RequestedCall,
  required: Schema | undefined,
  mapping: MessageMapping,
): ChildMessage | { readonly args: Json; readonly refused: Failure } {
  const schema = required ?? messageArgs
  const checked = checkArgs(tool, schema, args)
  if (!checked.ok) return { args: checked.sent, refused: checked.failure }
  const given = toJson(parseOrThrow(schema, checked.args))
  const { initUserMessageProperty: message, initAttachmentsProperty: files } = required
    ? mapping
    : { initUserMessageProperty: 'message', initAttachmentsProperty: 'attachments', ...mapping }
  const rest = new Map(isObject(given) ? Object.entries(given) : [])
  const paths = pathsIn(files === undefined ? undefined : rest.get(files))
  if (!paths)
    return {
      args: checked.args,
      refused: failure(
        'TOOL_INPUT_INVALID',
        `the args of ${tool} are invalid: ${files}: must be absolute paths of your own files. Send them again, ` +
          `corrected.`,
      ),
    }
  if (files !== undefined) rest.delete(files)
  const name = mapping.initAgentNameProperty === undefined ? undefined : rest.get(mapping.initAgentNameProperty)
  const said = message === undefined ? undefined : rest.get(message)
  if (message !== undefined) rest.delete(message)
  const more = rest.size > 0 || said === undefined ? [JSON.stringify(Object.fromEntries(rest))] : []
  return {
    args: checked.args,
    text: [...(said === undefined ? [] : [resultText(toJson(said))]), ...more].join('\n\n'),
    ...(paths.length > 0 && { attachments: paths }),
    ...(typeof name === 'string' && name.trim() !== '' && { name: name.trim() }),
  }
}

/** One path or some; undefined where it is anything else. */
function pathsIn(value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return []
  const parsed = z.array(z.string().startsWith('/')).safeParse(typeof value === 'string' ? [value] : value)
  return parsed.data
}
