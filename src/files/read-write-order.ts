/**
 * The order of a body's file operations: reads overlap, and what changes something has the files to itself.
 *
 * - Every operation sees exactly the changes that were asked for before it, also when a body asks for many at once,
 *   so that a body which runs again does the same.
 */

export interface ReadWriteOrder {
  read<Value>(run: () => Promise<Value>): Promise<Value>
  write<Value>(run: () => Promise<Value>): Promise<Value>
}

export function createReadWriteOrder(): ReadWriteOrder {
  let writes: Promise<unknown> = Promise.resolve()
  /** Those since the last write. */
  let reads: Promise<unknown> = Promise.resolve()
  return {
    read(run) {
      const reading = writes.then(run)
      reads = Promise.allSettled([reads, reading])
      return reading
    },
    write(run) {
      const writing = Promise.all([writes, reads]).then(run)
      writes = Promise.allSettled([writing])
      reads = Promise.resolve()
      return writing
    },
  }
}
