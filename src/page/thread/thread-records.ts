/** The newest records of a thread, and more where they are asked for. Read again when the thread has new ones. */
import { useEffect, useState } from 'preact/hooks'
import { pathTo, getJson, toPageProblem } from '../kit/api.js'
import type { PageProblem } from '../kit/api.js'

/** Any record: what is not named here depends on its type. */
export interface PageRecord {
  readonly seq: number
  readonly at: number
  readonly type: string
  readonly [field: string]: unknown
}

export interface RecordPages {
  readonly records: readonly PageRecord[]
  readonly problem?: PageProblem
  readonly isRead: boolean
  readonly first: number
  more(): void
}

interface Answer {
  readonly records: readonly PageRecord[]
}

const pageSize = 200

export function useRecords(thread: string, seq: number): RecordPages {
  const [records, setRecords] = useState<readonly PageRecord[]>([])
  const [isRead, setRead] = useState(false)
  const [problem, setProblem] = useState<PageProblem>()
  const path = pathTo`threads/${thread}/records`
  useEffect(() => {
    const left = new AbortController()
    const last = records.at(-1)?.seq
    const query = last === undefined ? { before: seq + 1, limit: pageSize } : { after: last, limit: 1_000 }
    getJson<Answer>(path, { query, signal: left.signal })
      .then((answer) => {
        setRecords((now) => [...now, ...answer.records.filter((each) => each.seq > (now.at(-1)?.seq ?? 0))])
        setRead(true)
        setProblem(undefined)
      })
      .catch((thrown: unknown) => left.signal.aborted || setProblem(toPageProblem(thrown)))
    return () => left.abort()
  }, [path, seq])
  const first = records[0]?.seq ?? 1
  return {
    records,
    isRead,
    first,
    ...(problem && { problem }),
    more() {
      void getJson<Answer>(path, { query: { before: first, limit: pageSize } }).then((answer) =>
        setRecords((now) => [...answer.records.filter((each) => each.seq < (now[0]?.seq ?? 0)), ...now]),
      )
    },
  }
}
