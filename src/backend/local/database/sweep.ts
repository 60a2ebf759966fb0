/**
 * The sweep of a local store, a slice at a time: rows of removed trees, then blobs in rows, then blobs in files. Owns
 * the progress of the sweep, and nothing that is stored.
 *
 * - A slice is one short transaction or one folder of blobs; slices run one at a time, however many callers there are.
 * - A pass over the blobs begins when a tree was removed, and is repeated as long as some blobs were too young.
 * - At the end of a sweep no byte of what it collected is left in the folder, and the room is given back to the disk.
 */
import { systemClock } from '../../../core/clock.js'
import type { Trees } from '../../port.js'
import { sweepFolder } from './blob-files.js'
import type { Writes } from './write.js'
import type { Writer } from './writer.js'

export interface SweepServices {
  readonly folder: string
  readonly writer: Writer
  readonly writes: Writes
}

interface Pass {
  /** The last row that was swept; undefined when all were. */
  rows: string | undefined
  folder: number
  young: boolean
}

const folders = 256

export function createTrees(services: SweepServices, assertOpen: () => void): Trees {
  const { writer, writes } = services
  const sweep = createSweep(services)
  let last: Promise<unknown> = Promise.resolve()
  return {
    async remove(removal) {
      assertOpen()
      return writer.add(() => writes.remove(removal))
    },
    async sweep(options) {
      assertOpen()
      const slice = last.then(() => sweep(options))
      last = slice.catch(() => undefined) // its caller gets the error
      return slice
    },
  }
}

function createSweep({ folder, writer, writes }: SweepServices): Trees['sweep'] {
  const { removals } = writes
  let pass: Pass | undefined
  /** Something was deleted since the log was emptied. */
  let traces = false
  const finish = async (): Promise<{ more: boolean }> => {
    if (await writer.add(() => removals.shrink())) {
      traces = true
      return { more: true }
    }
    if (traces) await writer.scrub()
    traces = false
    return { more: false }
  }
  return async ({ olderThanMs }) => {
    if (await writer.add(() => removals.collect(writes.heights.position))) {
      traces = true
      return { more: true }
    }
    pass ??= removals.unswept ? { rows: '', folder: 0, young: false } : undefined
    if (!pass) return finish()
    traces = true
    const current = pass
    const before = systemClock.now() - olderThanMs
    if (current.rows !== undefined) {
      const { end, young } = await writer.add(() => removals.sweepRows(current.rows ?? '', before))
      current.rows = end
      current.young ||= young
    } else if (current.folder < folders) {
      const name = current.folder.toString(16).padStart(2, '0')
      if (await sweepFolder(folder, name, { before, isNamed: (hash) => removals.isNamed(hash) })) current.young = true
      current.folder++
    } else {
      pass = undefined
      await writer.add(() => removals.mark(current.young))
      return finish()
    }
    return { more: true }
  }
}
