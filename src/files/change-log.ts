/**
 * The changes of one call, as the operations of its outcome, without those that later ones made needless.
 *
 * - On any tree on which the call's reads hold, the operations that are left give the same files as all of them would.
 *   Only the time of a directory in which something came and went differs.
 */
import type { FileChange } from '../core/records/change.js'
import { isWithin, parentOf } from './path.js'

export interface ChangeLog {
  readonly size: number
  /** `recursive`: what is removed was a directory. */
  add(change: FileChange, recursive: boolean): void
  changes(): readonly FileChange[]
}

/** A file and a link replace each other, so that they have one key. */
const keyOf = ({ op, path }: FileChange): string => `${op === 'file' || op === 'link' ? 'put' : op} ${path}`

export function createChangeLog(): ChangeLog {
  /** In order. A path has at most one change of each key. */
  const log = new Map<string, FileChange>()
  const putLast = (change: FileChange): void => {
    log.delete(keyOf(change))
    log.set(keyOf(change), change)
  }
  const putFile = (change: Extract<FileChange, { op: 'file' }>): void => {
    const before = log.get(keyOf(change))
    const mode = change.mode ?? (before?.op === 'file' ? before.mode : undefined)
    putLast(mode === undefined ? change : { ...change, mode })
  }
  const setMode = (change: Extract<FileChange, { op: 'mode' }>): void => {
    const file = log.get(`put ${change.path}`)
    if (file?.op === 'file') log.set(keyOf(file), { ...file, mode: change.mode })
    else putLast(change)
  }
  const remove = (change: Extract<FileChange, { op: 'gone' }>, recursive: boolean): void => {
    for (const op of ['put', 'dir', 'mode']) log.delete(`${op} ${change.path}`)
    if (recursive) for (const [key, { path }] of log) if (isWithin(path, change.path)) log.delete(key)
    putLast(change)
  }
  return {
    get size() {
      return log.size
    },
    add(change, recursive) {
      switch (change.op) {
        case 'file':
          return putFile(change)
        case 'mode':
          return setMode(change)
        case 'dir':
          if (!log.has(keyOf(change))) log.set(keyOf(change), change)
          return undefined
        case 'gone':
          return remove(change, recursive)
        case 'link':
          return putLast(change)
      }
    },
    changes: () => withoutImplied([...log.values()]),
  }
}

/** Putting something somewhere makes the directories above it: those need no operation of their own. */
function withoutImplied(log: readonly FileChange[]): readonly FileChange[] {
  const implied = new Set<string>()
  const needed = log.toReversed().filter((change) => {
    // Nothing before a `gone` is at its path or below, so it removes nothing that is made after it.
    if (change.op === 'gone') return true
    if (change.op === 'mode') {
      implied.delete(change.path)
      return true
    }
    if (change.op === 'dir' && change.mode === undefined && implied.has(change.path)) return false
    for (let dir = parentOf(change.path); dir !== '/' && !implied.has(dir); dir = parentOf(dir)) implied.add(dir)
    return true
  })
  return needed.toReversed()
}
