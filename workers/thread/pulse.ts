/**
 * A worker's pulse: shows that its event loop turns, and ends it when its buffers, shared ones included, pass the
 * limit, which V8 does not watch.
 *
 * - Garbage is not held against a body: the limit counts what is left after a collection.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock } from '../../src/core/clock.js'
import { control } from './control.js'
import { guestBytes } from '../sandbox/guest-memory.js'
import { countShared } from './shared-memory.js'

const beatMs = 50
const mb = 1024 * 1024

export interface HeartbeatOptions {
  readonly clock: Clock
  readonly numbers: Int32Array
  readonly memoryMb: number
}

export function startHeartbeat({ clock, numbers, memoryMb }: HeartbeatOptions): void {
  const shared = countShared()
  const limit = memoryMb * mb
  const taken = (): number => getHeapStatistics().external_memory + shared() + guestBytes()
  /** What has to be passed before it is worth a collection. */
  let suspect = limit
  const beat = (): void => {
    clock.wakeAt(clock.now() + beatMs, beat)
    Atomics.add(numbers, control.beat, 1)
    const buffers = taken()
    // Not now: what has just been counted cannot be collected before the next turn.
    if (buffers > suspect) clock.wakeAt(clock.now(), weigh)
  }
  const weigh = (): void => {
    collectGarbage()
    const left = taken()
    // Thrown where nobody catches it: that ends the worker and says why.
    if (left > limit)
      throw new Error(
        `it had ${Math.round(left / mb)} MB of memory in buffers, and a worker may have ${memoryMb} MB; work in ` +
          `smaller pieces, or raise workers.memoryMb`,
      )
    suspect = Math.max(limit, left + limit / 2)
  }
  beat()
}

let collect: (() => void) | undefined

function collectGarbage(): void {
  if (!collect) {
    setFlagsFromString('--expose-gc')
    const found: unknown = runInNewContext('gc')
    collect = typeof found === 'function' ? () => void Reflect.apply(found, undefined, []) : () => undefined
  }
  collect()
}
