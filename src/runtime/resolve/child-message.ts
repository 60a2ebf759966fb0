/**
 * The first message of a child, made of the args of the call that creates it. Pure.
 *
 * - No argument is lost: those that are neither the message nor attachments follow the message as JSON.
 */
import { z } from 'zod'
import { defined } from '../../core/defined.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { isObject, toJson } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { resultText } from '../../core/records/message.js'
import type { Schema } from '../../core/schema.js'
import { lazy, parseOrThrow } from '../../core/schema.js'
import type { RequestedCall } from '../../models/port.js'
import { checkArgs } from '../../tools/args.js'

/** The argument `attachments` of every tool that speaks to a child. */
export const attachments = lazy(() =>
  z
    .array(z.string().startsWith('/'))
    .optional()
    .describe('Absolute paths of your own files and directories that it gets, in /attachments.'),
)
/** The args of a child whose prompt has no `requiredSchema`. */
export const messageArgs = lazy(() =>
  z.object({
    message: z.string().min(1).describe('What it shall do, with all that it needs to know: it sees nothing else.'),
    attachments: attachments(),
  }),
)

/** Which argument has which meaning. */
export interface MessageMapping {
  readonly initUserMessageProperty?: string
  readonly initAttachmentsProperty?: string
  readonly initAgentNameProperty?: string
}

/** The mapping of `messageArgs`. */
export const messageMapping: MessageMapping = {
  initUserMessageProperty: 'message',
  initAttachmentsProperty: 'attachments',
}

export interface ChildMessage {
  /** The args as they were sent. */
  readonly args: Json
  readonly text: string
  readonly attachments?: readonly string[]
  /** Display name, for people. It stays among the arguments too: a schema may require it. */
  readonly name?: string
}

/** `required`: the `requiredSchema` of the prompt that will answer. */
export function childMessage(
  { tool, args }: RequestedCall,
  required: Schema | undefined,
  mapping: MessageMapping,
): ChildMessage | { readonly args: Json; readonly refused: Failure } {
  const schema = required ?? messageArgs()
  const checked = checkArgs(tool, schema, args)
  if (!checked.ok) return { args: checked.sent, refused: checked.failure }
  const parsed = toJson(parseOrThrow(schema, checked.args))
  const properties = required ? mapping : { ...messageMapping, ...mapping }
  const rest = new Map(isObject(parsed) ? Object.entries(parsed) : [])
  const paths = pathsIn(taken(rest, properties.initAttachmentsProperty))
  if (!paths)
    return {
      args: checked.args,
      refused: failure(
        'TOOL_INPUT_INVALID',
        `the args of ${tool} are invalid: ${properties.initAttachmentsProperty}: must be absolute paths of your own ` +
          `files. Send them again, corrected.`,
      ),
    }
  const name = valueAt(rest, properties.initAgentNameProperty)
  const message = taken(rest, properties.initUserMessageProperty)
  return {
    args: checked.args,
    text: textOf(message, rest),
    ...defined({ attachments: paths.length > 0 ? paths : undefined, name: displayName(name) }),
  }
}

type Arguments = Map<string, unknown>

function valueAt(values: Arguments, property: string | undefined): unknown {
  return property === undefined ? undefined : values.get(property)
}

/** The value, which is no longer among the others. */
function taken(values: Arguments, property: string | undefined): unknown {
  const value = valueAt(values, property)
  if (property !== undefined) values.delete(property)
  return value
}

function textOf(message: unknown, rest: Arguments): string {
  if (message === undefined) return JSON.stringify(Object.fromEntries(rest))
  const text = resultText(toJson(message))
  return rest.size > 0 ? `${text}\n\n${JSON.stringify(Object.fromEntries(rest))}` : text
}

function displayName(value: unknown): string | undefined {
  const name = typeof value === 'string' ? value.trim() : ''
  return name === '' ? undefined : name
}

/** One path or several; undefined where the value is anything else. */
function pathsIn(value: unknown): readonly string[] | undefined {
  if (value === undefined || value === null) return []
  const parsed = z.array(z.string().startsWith('/')).safeParse(typeof value === 'string' ? [value] : value)
  return parsed.data
}
