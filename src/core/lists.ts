/**
 * Lists, records and maps that are mostly empty. A host has thousands of threads with a dozen of them each: an empty
 * list of its own is 32 bytes, its first `push` makes room for 17 items, an empty record is 56 bytes and an empty Map
 * 184. So all empty ones are one, and each begins with its first item.
 */

/** Shared, and frozen: whoever pushes to it without `withItem` throws. */
export const noItems: never[] = []
Object.freeze(noItems)

/** The list with the item behind the others: the same list, unless it was empty. */
export function withItem<Item>(list: Item[], item: Item): Item[] {
  if (list.length === 0) return [item]
  list.push(item)
  return list
}

/** Shared, and frozen. */
export const noEntries: Record<string, never> = {}
Object.freeze(noEntries)

/** The record with the entry: the same record, unless it was `noEntries`. */
export function withEntry<Value>(entries: Record<string, Value>, key: string, value: Value): Record<string, Value> {
  if (entries === noEntries) return { [key]: value }
  entries[key] = value
  return entries
}

/** Shared; its type has no `set`. */
export const noKeys: ReadonlyMap<string, never> = new Map<string, never>()

/** The map with the key: the same map, unless it was `noKeys`. */
export function withKey<Value>(map: ReadonlyMap<string, Value>, key: string, value: Value): ReadonlyMap<string, Value> {
  if (map === noKeys || !(map instanceof Map)) return new Map([...map, [key, value]])
  map.set(key, value)
  return map
}
