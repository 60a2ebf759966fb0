/**
 * Optional fields of an object literal: only fields with a value are added. A field that is present and undefined would
 * be another record (JSON leaves it out) and another type (`exactOptionalPropertyTypes`).
 */
export type Defined<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

/** `{ id, ...defined({ label, note }) }` has a label and a note only where they are not undefined. */
export function defined<Fields extends object>(fields: Fields): Defined<Fields> {
  const kept: Partial<Fields> = {}
  for (const name in fields) if (fields[name] !== undefined) kept[name] = fields[name]
  return kept as Defined<Fields>
}
