/**
 * Rows as columns: a snapshot of ten thousand threads names each field once, each repeated text once, and times as the
 * distance from the first. Whoever reads it needs no list of fields.
 */

/** `v`: values; `w`: places in `words`; `t`: milliseconds after `base`. Null: the row has no such field. */
export type Column =
  | { readonly v: readonly unknown[] }
  | { readonly w: readonly (number | null)[] }
  | { readonly t: readonly (number | null)[] }

export type Columns = Readonly<Record<string, Column>>

export class ColumnWriter {
  readonly words: string[] = []
  readonly #places = new Map<string, number>()
  readonly base: number

  constructor(base: number) {
    this.base = base
  }

  /** In one pass: ten thousand rows are written while others wait. */
  write(rows: Iterable<object>): Columns {
    const columns = new Map<string, unknown[]>()
    let size = 0
    for (const row of rows) {
      for (const [name, value] of Object.entries(row)) {
        if (value === undefined) continue
        const column = columns.get(name)
        if (column) fillTo(column, size).push(value)
        else columns.set(name, [...fillTo([], size), value])
      }
      size++
    }
    return Object.fromEntries(
      [...columns].map(([name, values]) => [name, this.#column(name, fillTo(values, size))] as const),
    )
  }

  #column(name: string, values: readonly unknown[]): Column {
    if (name.endsWith('At')) return { t: values.map((value) => (typeof value === 'number' ? value - this.base : null)) }
    if (values.every((value) => value === null || typeof value === 'string'))
      return { w: values.map((value) => (typeof value === 'string' ? this.#place(value) : null)) }
    return { v: values }
  }

  #place(text: string): number {
    const known = this.#places.get(text)
    if (known !== undefined) return known
    this.#places.set(text, this.words.length)
    return this.words.push(text) - 1
  }
}

/** Rows before that had no such field. */
function fillTo(column: unknown[], size: number): unknown[] {
  while (column.length < size) column.push(null)
  return column
}
