/**
 * The heartbeat of the thread that runs bodies: a counter that shows the monitor that the event loop turns. With each
 * beat it checks the memory that V8 does not limit, buffers and shared buffers, and ends the worker past the limit.
 *
 * - Garbage does not count: the worker ends only if the buffers exceed the limit after a collection.
 * - Shared buffers are counted if code of this thread's global creates them; a shared WebAssembly.Memory, buffers of
 *   other contexts and of native code are not seen.
 */
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock } from '../../src/core/clock.js'
import { guestBytes } from '../sandbox/guest-memory.js'
import { control } from './control.js'

const beatMs = 50
const mb = 1024 * 1024

export interface HeartbeatOptions {
  readonly clock: Clock
  readonly numbers: Int32Array
  readonly memoryMb: number
}

/** Call it once, before other code of the thread can create shared buffers. */
export function startHeartbeat({ clock, numbers, memoryMb }: HeartbeatOptions): void {
  const sharedBytes = countSharedBuffers()
  const limit = memoryMb * mb
  const bufferBytes = (): number => getHeapStatistics().external_memory + sharedBytes() + guestBytes()
  /** Above this a garbage collection is worth its time. */
  let threshold = limit
  const beat = (): void => {
    clock.wakeAt(clock.now() + beatMs, beat)
    Atomics.add(numbers, control.beat, 1)
    // In a later turn: `deref` in `sharedBytes` keeps what it returned alive until this turn ends.
    if (bufferBytes() > threshold) clock.wakeAt(clock.now(), collectAndCheck)
  }
  const collectAndCheck = (): void => {
    collectGarbage()
    const bytes = bufferBytes()
    // Uncaught on purpose: that ends the worker and reports the message as the cause.
    if (bytes > limit)
      throw new Error(
        `it had ${Math.round(bytes / mb)} MB of memory in buffers, and a worker may have ${memoryMb} MB; work in ` +
          `smaller pieces, or raise workers.memoryMb`,
      )
    threshold = Math.max(limit, bytes + limit / 2)
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

/** Returns the bytes of all live SharedArrayBuffers, which V8 assigns to no heap. */
function countSharedBuffers(): () => number {
  const buffers = new Set<WeakRef<SharedArrayBuffer>>()
  globalThis.SharedArrayBuffer = new Proxy(SharedArrayBuffer, {
    construct(target, args, newTarget) {
      const buffer: unknown = Reflect.construct(target, args, newTarget)
      if (!(buffer instanceof target)) throw new TypeError('not a SharedArrayBuffer')
      buffers.add(new WeakRef(buffer))
      return buffer
    },
  })
  return () => {
    let total = 0
    for (const ref of buffers) {
      const buffer = ref.deref()
      if (buffer) total += buffer.byteLength
      else buffers.delete(ref)
    }
    return total
  }
}
