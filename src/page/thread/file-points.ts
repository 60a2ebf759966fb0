/**
 * When files of a thread changed: the points that its past can be looked at. Pure.
 *
 * - What a call wrote counts when it is settled, not when it returned: one that read what another has changed is run
 *   again, and what it wrote first never was.
 */
import type { PageRecord } from './thread-records.js'

interface FileChange {
  readonly op: string
  readonly path: string
}

export interface FilePoint {
  /** After this record the changes are there, before it they are not. */
  readonly seq: number
  readonly at: number
  readonly step?: number
  readonly index?: number
  /** The tool, or what else it was. */
  readonly who: string
  readonly changes: readonly FileChange[]
}

function changesOf(record: PageRecord): readonly FileChange[] {
  const { changes }: { changes?: { files?: readonly FileChange[] } } = Object(record)
  return changes?.files ?? []
}

const callOf = ({ step, index }: PageRecord): string => `${String(step)}.${String(index)}`

function toPoint({ seq, at }: PageRecord, wrote: PageRecord): FilePoint {
  const { step, index, tool, type } = wrote
  return {
    seq,
    at,
    ...(typeof step === 'number' && { step }),
    ...(typeof index === 'number' && { index }),
    who: typeof tool === 'string' ? tool : type,
    changes: changesOf(wrote),
  }
}

export function filePoints(records: readonly PageRecord[]): readonly FilePoint[] {
  const returned = new Map<string, PageRecord>()
  const points: FilePoint[] = []
  for (const record of records) {
    if (record.type === 'call.returned') returned.set(callOf(record), record)
    else if (record.type === 'call.settled') {
      const wrote = returned.get(callOf(record))
      if (wrote && record['verdict'] === 'kept' && changesOf(wrote).length > 0) points.push(toPoint(record, wrote))
    } else if (changesOf(record).length > 0) points.push(toPoint(record, record))
  }
  return points
}
