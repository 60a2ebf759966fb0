/** What may be asked of a directory of threads. */
import { z } from 'zod'
import { SkeinError } from '../../../core/failure.js'
import { matches } from '../../../backend/checks.js'
import type { HeadFilter, StoredHead } from '../../../backend/port.js'
import { filterSchema } from './thread-info.js'
import type { ThreadOrder } from './thread-info.js'
import { lazy } from '../../../core/schema.js'

export interface HeadQuery extends HeadFilter {
  readonly rootsOnly?: boolean
  readonly q?: string
  readonly sort?: ThreadOrder
}

const textFields = lazy(() => ({ rootsOnly: z.boolean().optional(), q: z.string().optional() }))

export const querySchema = lazy(() =>
  filterSchema().extend({
    ...textFields(),
    sort: z.enum(['created', 'newest', 'updated', 'cost']).optional(),
  }),
)

export const watchQuerySchema = lazy(() => filterSchema().omit({ limit: true, cursor: true }).extend(textFields()))

export const changesSchema = lazy(() => z.strictObject({ from: z.number().int().nonnegative().optional() }))

export function badCursor(cursor: string): SkeinError {
  return new SkeinError(
    'BAD_OPTION',
    `cursor ${JSON.stringify(cursor)} is not one that this list gave; pass its \`next\` unchanged, with the same order`,
  )
}

export function isListed(head: StoredHead, query: HeadQuery): boolean {
  return hasFields(head, query) && (query.q === undefined || searchText(head).includes(query.q.toLowerCase()))
}

/** All of a query but its text. */
export function hasFields(head: StoredHead, query: HeadQuery): boolean {
  return matches(head, query) && !(query.rootsOnly && head.parent !== undefined)
}

/** Where the text of a query is looked for. */
export function searchText({ title, thread, name, agent, reference, tags }: StoredHead): string {
  return [title, thread, name, agent, reference, ...tags].join('\n').toLowerCase()
}
