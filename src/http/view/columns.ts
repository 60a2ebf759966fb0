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

  write(rows: readonly Readonly<Record<string, unknown>>[]): Columns {
    const names = new Set(rows.flatMap((row) => Object.keys(row)))
    return Object.fromEntries(
      [...names].map((name) => [
        name,
        this.#column(
          name,
          rows.map((row) => row[name]),
        ),
      ]),
    )
  }

  #column(name: string, values: readonly unknown[]): Column {
    if (name.endsWith('At')) return { t: values.map((value) => (typeof value === 'number' ? value - this.base : null)) }
    if (values.every((value) => value === undefined || typeof value === 'string'))
      return { w: values.map((value) => (typeof value === 'string' ? this.#place(value) : null)) }
    return { v: values.map((value) => value ?? null) }
  }

  #place(text: string): number {
    const known = this.#places.get(text)
    if (known !== undefined) return known
    this.#places.set(text, this.words.length)
    return this.words.push(text) - 1
  }
}
