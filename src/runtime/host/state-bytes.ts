/** About what a thread's state takes in memory, in bytes; without a look at each of its messages. */
import type { ThreadState } from '../../../actors/thread/state.js'
import { treeUsage } from '../../core/tree/tree-usage.js'

const sizes = { state: 4_000, message: 250, name: 200, child: 400, value: 1_000, accepted: 200 }

export function stateBytes({ transcript, said, files, children, values, accepted }: ThreadState): number {
  const { items, skipped } = transcript
  const loaded = items.length === 0 ? 0 : items.length / (items.length + skipped)
  return (
    sizes.state +
    said * loaded +
    items.length * sizes.message +
    treeUsage(files).names * sizes.name +
    children.size * sizes.child +
    accepted.size * sizes.accepted +
    Object.keys(values).length * sizes.value
  )
}
