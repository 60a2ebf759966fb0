/**
 * Counts the bytes of a thread's SharedArrayBuffers, which V8 counts as nobody's.
 *
 * - Counted is what code of the thread's own global makes; the memory of a shared WebAssembly.Memory, of another
 *   context and of native code is not.
 */

/**
 * To be called once, before there is other code. Gives what tells how many bytes are left, and forgets those that are
 * gone.
 */
export function countShared(): () => number {
  const made = new Set<WeakRef<SharedArrayBuffer>>()
  globalThis.SharedArrayBuffer = new Proxy(SharedArrayBuffer, {
    construct(target, args, newTarget) {
      const buffer: unknown = Reflect.construct(target, args, newTarget)
      if (!(buffer instanceof target)) throw new TypeError('not a SharedArrayBuffer')
      made.add(new WeakRef(buffer))
      return buffer
    },
  })
  return () => {
    let total = 0
    for (const each of made) {
      const buffer = each.deref()
      if (buffer) total += buffer.byteLength
      else made.delete(each)
    }
    return total
  }
}
