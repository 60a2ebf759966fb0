/** Reads the columns of a snapshot back into rows. Row by row, so that rows with the same fields have one shape. */
import type { Column, Columns } from '../../http/view/columns.js'

export interface Words {
  readonly words: readonly string[]
  readonly base: number
}

type Row = Record<string, unknown>
type Reader = (index: number) => unknown

function readerOf(column: Column, { words, base }: Words): { readonly length: number; readonly read: Reader } {
  if ('w' in column) {
    const { w } = column
    return { length: w.length, read: (index) => words[w[index] ?? -1] }
  }
  if ('t' in column) {
    const { t } = column
    const read = (index: number): number | undefined => {
      const time = t[index]
      return typeof time === 'number' ? time + base : undefined
    }
    return { length: t.length, read }
  }
  const { v } = column
  return { length: v.length, read: (index) => v[index] ?? undefined }
}

export function columnRows(columns: Columns, words: Words): Row[] {
  const names = Object.keys(columns)
  const readers = Object.values(columns).map((column) => readerOf(column, words))
  const rows: Row[] = []
  const size = Math.max(0, ...readers.map(({ length }) => length))
  for (let index = 0; index < size; index++) {
    const row: Row = {}
    for (let at = 0; at < names.length; at++) {
      const value = readers[at]?.read(index)
      if (value !== undefined) row[names[at] ?? ''] = value
    }
    rows.push(row)
  }
  return rows
}
