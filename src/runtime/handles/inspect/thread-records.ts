/**
 * The records of a thread in pages, as its journal has them, for people who look at it. Sealed values are not given:
 * a page may leave the process.
 */
import { z } from 'zod'
import type { Backend } from '../../../backend/port.js'
import { checkOptions } from '../../../core/options.js'
import type { ThreadRecord } from '../../../core/records/record.js'
import { replaceSealed } from '../../../core/records/sealed.js'
import { decode } from '../../journal/journal.js'
import { threadMissing } from '../services.js'
import { lazy } from '../../../core/schema.js'

export interface RecordPage {
  /** Records after this number, oldest first. Default 0. */
  readonly after?: number
  /** The last records before this number; not together with `after`. */
  readonly before?: number
  /** How many at most. Default 100. */
  readonly limit?: number
}

const seq = lazy(() => z.number().int().min(0).optional())
const pageSchema = lazy(() =>
  z
    .strictObject({ after: seq(), before: seq(), limit: z.number().int().min(1).max(10_000).optional() })
    .refine(({ after, before }) => after === undefined || before === undefined, 'give after or before, not both'),
)

const noValues = { keys: [], value: () => '' }

/** Costs what the page costs: records are numbered without a gap. */
export async function readRecords(
  backend: Backend,
  id: string,
  page: RecordPage = {},
): Promise<readonly ThreadRecord[]> {
  const asked = checkOptions(pageSchema(), page, 'records')
  const { seq: written } = (await backend.heads.get(id)) ?? threadMissing(id)
  const { before = Infinity, limit = 100 } = asked
  const end = Math.min(before - 1, written)
  const after = asked.before === undefined ? (asked.after ?? 0) : Math.max(0, end - limit)
  const last = Math.min(after + limit, end)
  const records: ThreadRecord[] = []
  for (let read = after; read < last;) {
    const entries = await backend.journal.read(id, { after: read, limit: last - read })
    const found = entries.flatMap((entry) => decode(id, entry)).filter(({ seq: number }) => number > read)
    if (found.length === 0) break
    records.push(...found.filter(({ seq: number }) => number <= last))
    read = found.at(-1)?.seq ?? last
  }
  return records.map((record) => replaceSealed(record, noValues))
}
