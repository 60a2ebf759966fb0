/**
 * A definition in place of its name: whoever has it at hand may hand it over, and the compiler knows that it is there.
 *
 * - What is kept is the name: a definition stays plain data, whichever way it was told.
 * - What is neither is kept as it is: mistakes are told when an app is loaded, never when a definition is made.
 */

/** A definition of this kind, as far as its name goes. */
export interface Named<Kind extends string = string> {
  readonly kind: Kind
  readonly name: string
}

/** A name, or what has it. */
export type NameOr<Kind extends string> = string | Named<Kind>

/** RF1. '' of a definition that only a file will name. */
export function nameOf(given: string | Named): string {
  return isNamed(given) ? given.name : given
}

export function isNamed(given: unknown): given is Named {
  return (
    typeof given === 'object' &&
    given !== null &&
    'kind' in given &&
    'name' in given &&
    typeof given.kind === 'string' &&
    typeof given.name === 'string'
  )
}

/** Names of a list that may also hold what is more than a name. */
export function namesOfDefinitions<Other>(list: readonly (string | Named | Other)[]): readonly (string | Other)[] {
  if (!isList(list)) return list
  return list.map((each) => (isNamed(each) ? each.name : each))
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}
