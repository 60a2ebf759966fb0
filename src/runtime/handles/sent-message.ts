/**
 * A message as a caller sends it: a text or an object with the text, and the files that go with it. Checks it, stores
 * the files, and makes the fields of the command.
 */
import { z } from 'zod'
import { conditionsOf, stopWhenSchema } from '../../agent/stop.js'
import type { StopWhen } from '../../agent/stop.js'
import type { Backend } from '../../backend/port.js'
import { namesOf } from '../../core/attachments.js'
import { defined } from '../../core/defined.js'
import { isObject } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { checkOptions } from '../../core/options.js'
import { maxToolRoundsSchema } from '../../core/records/stop.js'
import type { StopCondition } from '../../core/records/stop.js'
import { traceSchema } from '../../core/trace/trace.js'
import { emptyTree, freezeTree } from '../../core/tree.js'
import type { FrozenTree, TreeNode } from '../../core/tree.js'
import { noContent } from '../../files/contents.js'
import { plainJson } from './inbox.js'
import { lazy } from '../../core/schema.js'

/** A file that goes with a message: the path of one that the thread has, or a new one, put into its `/attachments`. */
export type Attachment = string | { readonly name: string; readonly content: string | Uint8Array }

export interface SendOptions {
  /** The message's and the run's id; sending the same id again is sending once. */
  readonly id?: string
  /** `new_turn` waits until the running turn has ended; `steer` (default) joins it at its next step. */
  readonly delivery?: 'steer' | 'new_turn'
  /** The model sees it, lists hide it. */
  readonly silent?: boolean
  /** Files that go with it. The model reads their paths in this order. */
  readonly attachments?: readonly Attachment[]
  /**
   * Fields to set of the contexts of tools, by tool; `shared` for the one that all share. They count when the message
   * is accepted.
   */
  readonly context?: ToolContexts
  /** The turn that reads it also stops after a reply that meets any of these. */
  readonly stopWhen?: StopWhen
  /** Rounds of calls in the turn that reads it, in place of the prompt's own limit. 0: no call is run. */
  readonly maxToolRounds?: number
  /**
   * The trace that the turn is part of, as a W3C `traceparent`. Default: that of the active span, where this process
   * has an OpenTelemetry SDK and its host traces.
   */
  readonly trace?: string
}

export type ToolContexts = Readonly<Record<string, Readonly<Record<string, unknown>>>>

export interface SendMessage extends SendOptions {
  readonly text: string
}

const bytesOfName = 255

/** Replies and results have ids of this kind themselves: `step_3`, `result_3_0`. */
const messageId = z.string().refine((id) => /^[\w.:-]{1,128}$/.test(id) && !/^(step|result)_\d/.test(id), {
  error: ({ input }) =>
    `a message id is 1 to 128 letters, digits or any of "_-.:", and does not begin like step_1 or result_1; this ` +
    `one is ${JSON.stringify(String(input).slice(0, 140))}`,
})

/** One sentence for each mistake; a union of schemas would say "invalid input". */
const attachment = z.custom<Attachment>((value) => noAttachment(value) === undefined, {
  error: ({ input }) => noAttachment(input) ?? '',
})

const messageSchema = z
  .strictObject({
    text: z.string(),
    id: messageId.optional(),
    delivery: z.enum(['steer', 'new_turn']).optional(),
    silent: z.boolean().optional(),
    attachments: z.array(attachment).optional(),
    context: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
    stopWhen: stopWhenSchema.optional(),
    maxToolRounds: maxToolRoundsSchema.optional(),
    trace: traceSchema.optional(),
  })
  .refine(({ text, attachments = [] }) => text.trim() !== '' || attachments.length > 0, {
    error: 'the message is empty; give it a text, or attachments',
  })

function noAttachment(value: unknown): string | undefined {
  if (typeof value === 'string')
    return isPath(value)
      ? undefined
      : `a path of the thread's files begins with "/" and has no "." or ".." in it; this one is ` +
          `${JSON.stringify(value)}. Give a new file as { name, content }.`
  if (!isObject(value)) return 'an attachment is a path of the thread, or { name, content }'
  const { name, content, ...others } = value
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) return `an attachment has a name and content; ${JSON.stringify(unknown)} is unknown`
  if (typeof name !== 'string' || !isName(name))
    return `a file name has 1 to ${bytesOfName} bytes and no "/"; this one is ${JSON.stringify(name)}`
  return noContent(content)
}

function isPath(value: string): boolean {
  return (
    value.length > 1 &&
    value.startsWith('/') &&
    value
      .slice(1)
      .split('/')
      .every((each) => each !== '' && each !== '.' && each !== '..' && !each.includes('\0'))
  )
}

function isName(value: string): boolean {
  return (
    value !== '' && value !== '.' && value !== '..' && !/[/\0]/.test(value) && Buffer.byteLength(value) <= bytesOfName
  )
}

/** The id that the caller gave it, wrong or not. */
export function givenId(message: string | SendMessage, options?: SendOptions): string | undefined {
  const id: unknown = options?.id ?? (isObject(message) ? message['id'] : undefined)
  return typeof id === 'string' ? id : undefined
}

export function checkMessage(message: string | SendMessage, options: SendOptions = {}): z.infer<typeof messageSchema> {
  const whole = typeof message === 'string' ? { ...options, text: message } : { ...message, ...options }
  return checkOptions(messageSchema, whole, 'nothing was sent')
}

export interface InjectOptions {
  readonly id?: string
  readonly role?: 'user' | 'system' | 'assistant'
  /** The model sees it, lists hide it. */
  readonly silent?: boolean
}

const injectSchema = lazy(() =>
  z.strictObject({
    text: z.string(),
    id: messageId.optional(),
    role: z.enum(['user', 'system', 'assistant']).optional(),
    silent: z.boolean().optional(),
  }),
)

export function checkInjected(text: string, options: InjectOptions = {}): z.infer<ReturnType<typeof injectSchema>> {
  return checkOptions(injectSchema(), { ...options, text }, 'nothing was sent')
}

/** Contexts of tools as they travel. */
export function givenContext(context: ToolContexts | undefined): { readonly context?: Record<string, Json> } {
  return context
    ? { context: Object.fromEntries(Object.entries(context).map(([name, part]) => [name, plainJson(part)])) }
    : {}
}

/** What a message says about its turn, as it travels. */
export function givenRules({ stopWhen, maxToolRounds }: z.infer<typeof messageSchema>): {
  readonly rules?: { stopWhen?: StopCondition[]; maxToolRounds?: number }
} {
  if (stopWhen === undefined && maxToolRounds === undefined) return {}
  return { rules: defined({ stopWhen: stopWhen && [...conditionsOf(stopWhen)], maxToolRounds }) }
}

/** What a message command says of its files. */
export interface StoredAttachments {
  readonly attachments?: FrozenTree
  readonly listed?: string[]
}

/**
 * The bytes are stored before the message is posted; whether a path is there is decided by the thread, when it takes
 * the message.
 */
export async function storeAttachments(
  { blobs }: Pick<Backend, 'blobs'>,
  attachments: readonly Attachment[] = [],
): Promise<StoredAttachments> {
  if (attachments.length === 0) return {}
  const names = namesOf(attachments.flatMap((each) => (typeof each === 'string' ? [] : [each.name])))
  const entries = new Map<string, TreeNode>()
  const listed: string[] = []
  for (const each of attachments) {
    if (typeof each === 'string') {
      listed.push(each)
      continue
    }
    const free = names[entries.size] ?? each.name
    const bytes = typeof each.content === 'string' ? Buffer.from(each.content) : each.content
    const { hash, size } = await blobs.put(bytes)
    entries.set(free, { kind: 'file', hash, size, mode: 0o644, at: 0 })
    listed.push(free)
  }
  return { listed, ...(entries.size > 0 && { attachments: freezeTree({ ...emptyTree, entries }) }) }
}
