/**
 * The form of a head, for whoever reads one that was stored or sent. Owns nothing else.
 *
 * J11 A head is checked where it is read: one that is damaged is given as that (`damaged`), and no list fails because
 *     of it.
 */
import { z } from 'zod'
import { damagedHead } from './checks.js'
import type { Head, Pending, StoredHead } from './port.js'

export const pendingSchema: z.ZodType<Pending[]> = z.array(
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
)

const more = {
  reference: z.string().exactOptional(),
  name: z.string().exactOptional(),
  says: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  dead: z.number().exactOptional(),
}

export const moreSchema = z.object(more)

const headSchema: z.ZodType<Head> = z.object({
  agent: z.string(),
  status: z.string(),
  parent: z.string().exactOptional(),
  root: z.string(),
  path: z.array(z.string()),
  tags: z.array(z.string()),
  rest: z.boolean(),
  wakeAt: z.number().exactOptional(),
  pending: pendingSchema.exactOptional(),
  ...more,
  createdAt: z.number(),
  updatedAt: z.number(),
})

/** The head that was stored, or that there is none to be read. */
export function toStoredHead(
  head: unknown,
  { thread, seq, root }: { readonly thread: string; readonly seq: number; readonly root: string },
): StoredHead {
  const checked = headSchema.safeParse(head)
  if (checked.success) return { ...checked.data, thread, seq }
  return damagedHead({ thread, root, damaged: z.prettifyError(checked.error).replaceAll('\n', ' ') })
}
