/** The entries of a thread's key-value store, as calls and callers list them. Pure. */
import type { ThreadState } from '../../../actors/thread/state.js'
import { kvSpace } from '../../core/records/change.js'
import type { Json } from '../../core/json.js'

/** In order of their keys. */
export function entriesOf(
  values: ThreadState['values'],
  prefix: string,
): readonly { readonly key: string; readonly value: Json }[] {
  const from = kvSpace + prefix
  return Object.entries(values)
    .flatMap(([key, { value }]) =>
      value !== undefined && key.startsWith(from) ? [{ key: key.slice(kvSpace.length), value }] : [],
    )
    .sort((a, b) => (a.key < b.key ? -1 : 1))
}
