/** Reads the columns of a snapshot back into rows. */
import type { Columns } from '../../http/view/columns.js'

export interface Words {
  readonly words: readonly string[]
  readonly base: number
}

type Row = Record<string, unknown>

export function columnRows(columns: Columns, { words, base }: Words): Row[] {
  const rows: Row[] = []
  const rowAt = (index: number): Row => (rows[index] ??= {})
  for (const [name, column] of Object.entries(columns)) {
    if ('w' in column)
      column.w.forEach((place, index) => {
        const row = rowAt(index)
        if (place !== null) row[name] = words[place]
      })
    else if ('t' in column)
      column.t.forEach((time, index) => {
        const row = rowAt(index)
        if (time !== null) row[name] = time + base
      })
    else
      column.v.forEach((value, index) => {
        const row = rowAt(index)
        if (value !== null) row[name] = value
      })
  }
  return rows
}
