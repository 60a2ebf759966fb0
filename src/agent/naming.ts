/**
 * A definition in place of its name: where a name is expected, the definition itself may be given, so that the compiler
 * checks that it exists.
 *
 * - Only the name is stored: a definition stays plain data.
 * - A value that is neither is stored as it is: mistakes are reported when an app is loaded, not when a definition is
 *   made.
 */

/** The part of a definition that a reference to it needs. */
export interface Named<Kind extends string = string> {
  readonly kind: Kind
  readonly name: string
}

/**
 * The names of an app, as keys such as `'tool read'`. Empty here: `skein types` writes a file that adds them, and from
 * then on the compiler knows a wrong name. Keys of several apps in one project add up.
 */
// oxlint-disable-next-line typescript/no-empty-object-type, typescript/no-empty-interface
export interface AppNames {}

/** A name of the app, where its names are known to the compiler; else any text. */
export type NameOf<Kind extends string> = keyof AppNames extends never ? string : NamesIn<keyof AppNames, Kind>
type NamesIn<Key, Kind extends string> = Key extends `${Kind} ${infer Name}` ? Name : never

/** A name, or the definition that has it. */
export type NameOr<Kind extends string> = NameOf<Kind> | Named<Kind>

/** Empty for a definition that its file in a folder app will name. */
export function nameOf(reference: string | Named): string {
  return isNamed(reference) ? reference.name : reference
}

export function isNamed(value: unknown): value is Named {
  return (
    typeof value === 'object' &&
    value !== null &&
    'kind' in value &&
    'name' in value &&
    typeof value.kind === 'string' &&
    typeof value.name === 'string'
  )
}

/** The list with definitions replaced by their names; other items stay as they are. */
export function namesOfDefinitions<Other>(list: readonly (string | Named | Other)[]): readonly (string | Other)[] {
  if (!isList(list)) return list
  return list.map((each) => (isNamed(each) ? each.name : each))
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}
