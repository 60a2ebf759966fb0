/**
 * The schema of a stored head. Owns nothing else.
 *
 * J11 A head is checked where it is read: a damaged one is given as such (`damaged`), and no list fails because of it.
 */
import { z } from 'zod'
import { damagedHead } from './checks.js'
import type { Head, Pending, StoredHead } from './port.js'
import { lazy } from '../core/schema.js'

export const pendingSchema = lazy((): z.ZodType<Pending[]> =>
  z.array(
    z.object({
      call: z.string(),
      why: z.enum(['approval', 'person', 'variables', 'children']),
      tool: z.string(),
      args: z.json(),
      requestedAt: z.number(),
      missing: z.array(z.string()).exactOptional(),
      request: z.string().exactOptional(),
      prompt: z.string().exactOptional(),
      defaults: z.json().exactOptional(),
      deadlineAt: z.number().exactOptional(),
      atDeadline: z.enum(['approve', 'reject']).exactOptional(),
      unknown: z.literal(true).exactOptional(),
    }),
  ),
)

const amounts = { tokens: z.number(), nanoUsd: z.number() }

/** Older stores lack most of them. */
const optionalFields = lazy(() => ({
  reference: z.string().exactOptional(),
  name: z.string().exactOptional(),
  says: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  dead: z.number().exactOptional(),
  title: z.string().exactOptional(),
  usage: z.object({ ...amounts, tree: z.object(amounts).exactOptional() }).exactOptional(),
  left: z
    .object({
      tokens: z.number().exactOptional(),
      nanoUsd: z.number().exactOptional(),
      toolCalls: z.number().exactOptional(),
      steps: z.number().exactOptional(),
    })
    .exactOptional(),
  step: z.number().exactOptional(),
  turnAt: z.number().exactOptional(),
  error: z.string().exactOptional(),
  unknown: z.number().exactOptional(),
  queued: z.number().exactOptional(),
  unread: z.number().exactOptional(),
  edits: z.number().exactOptional(),
  forkedFrom: z.object({ thread: z.string(), seq: z.number() }).exactOptional(),
  rewound: z.number().exactOptional(),
}))

export const moreSchema = lazy(() => z.object(optionalFields()))

const headSchema = lazy((): z.ZodType<Head> =>
  z.object({
    agent: z.string(),
    status: z.string(),
    parent: z.string().exactOptional(),
    root: z.string(),
    path: z.array(z.string()),
    tags: z.array(z.string()),
    rest: z.boolean(),
    wakeAt: z.number().exactOptional(),
    pending: pendingSchema().exactOptional(),
    ...optionalFields(),
    createdAt: z.number(),
    updatedAt: z.number(),
  }),
)

/** The head that was stored, or a damaged one in its place (J11). */
export function toStoredHead(
  head: unknown,
  { thread, seq, root }: { readonly thread: string; readonly seq: number; readonly root: string },
): StoredHead {
  const checked = headSchema().safeParse(head)
  if (checked.success) return { ...checked.data, thread, seq }
  return damagedHead({ thread, root, damaged: z.prettifyError(checked.error).replaceAll('\n', ' ') })
}
