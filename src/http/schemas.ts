/** Schemas that several routes share: ids, amounts, and what threads look like over HTTP. */
import { z } from 'zod'
import { parsePoint, pointForms } from '../core/point.js'

/** Ids of threads, also of children. */
export const threadId = z
  .string()
  .regex(/^[a-zA-Z0-9_-]{1,64}$/, 'an id of a thread is 1 to 64 letters, digits, "_" or "-"')
export const messageId = z.string().regex(/^[\w.:-]{1,128}$/, 'an id is 1 to 128 letters, digits or any of "_-.:"')
export const callIdText = z.string().regex(/^[\w-]{1,64}$/, 'an id of a call looks like call_3_0')

/** A number in a query. */
export const count = (most: number) => z.coerce.number().int().min(0).max(most)
/** How many are listed at most. */
export const pageLimit = (most: number) => z.coerce.number().int().min(1).max(most)
export const flag = z.enum(['true', 'false']).transform((text) => text === 'true')

/** A point in a query. */
export const pointInQuery = z
  .string()
  .max(256)
  .transform((text, context) => {
    const point = parsePoint(text)
    if (point) return point
    context.addIssue({ code: 'custom', message: `a point is ${pointForms}` })
    return z.NEVER
  })

export const budget = z
  .strictObject({
    steps: z.number().int().min(0).exactOptional(),
    toolCalls: z.number().int().min(0).exactOptional(),
    tokens: z.number().int().min(0).exactOptional(),
    costUsd: z.number().min(0).exactOptional(),
  })
  .describe('Amounts; what is not named is not limited')

/** Which tool contexts a message or a new thread sets. */
export const contexts = z.record(z.string(), z.record(z.string(), z.unknown()))

/** What a thread looks like in lists. */
export const threadInfo = z
  .looseObject({
    thread: z.string(),
    agent: z.string(),
    status: z.string(),
    root: z.string(),
    path: z.array(z.string()),
    rest: z.boolean(),
    createdAt: z.number(),
    updatedAt: z.number(),
    seq: z.number(),
  })
  .meta({ title: 'ThreadInfo' })

export const message = z
  .looseObject({
    id: z.string(),
    role: z.enum(['user', 'assistant', 'tool', 'system']),
    text: z.string(),
    at: z.number(),
  })
  .meta({ title: 'Message' })

export const usage = z.looseObject({ inputTokens: z.number(), outputTokens: z.number(), costUsd: z.number() })

export const runResult = z
  .looseObject({ text: z.string(), stopReason: z.string(), steps: z.number(), usage, subtreeUsage: usage })
  .meta({ title: 'RunResult' })

export const inboxItem = z
  .looseObject({
    id: z.string(),
    thread: z.string(),
    path: z.array(z.string()),
    agent: z.string(),
    requestedAt: z.number(),
  })
  .meta({ title: 'InboxItem' })

export const sideEffect = z
  .looseObject({
    id: z.string(),
    thread: z.string(),
    call: z.string(),
    tool: z.string(),
    state: z.enum(['unknown', 'running', 'done', 'failed']),
    beganAt: z.number(),
    reverts: z.string().optional().describe('The call that it undoes'),
    undone: z.literal(true).optional().describe('A rewind has undone it since'),
  })
  .meta({ title: 'SideEffect' })

/** A command was taken. */
export const done = z.object({ done: z.literal(true) })
export const isDone = { done: true } as const
/** Whether a command changed anything. */
export const changed = z.object({ changed: z.boolean() })
