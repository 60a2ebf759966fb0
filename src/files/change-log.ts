/**
 * What a call has changed, as the operations of its outcome, without those that later ones made needless.
 *
 * - Done on any tree on which the call's reads hold, what is left gives what all of it would have given. Only the
 *   time of a directory in which something came and went is as if it had not.
 */
import type { FileChange } from '../core/records/change.js'
import { isWithin, parentOf } from './path.js'

export interface ChangeLog {
  readonly size: number
  /** `below`: what goes was a directory. */
  add(change: FileChange, below: boolean): void
  changes(): readonly FileChange[]
}

export function createChangeLog(): ChangeLog {
  /** In order. A path has at most one of each group. */
  const log = new Map<string, FileChange>()
  const keyOf = ({ op, path }: FileChange): string => `${op === 'file' || op === 'link' ? 'put' : op} ${path}`
  const putLast = (change: FileChange): void => {
    log.delete(keyOf(change))
    log.set(keyOf(change), change)
  }

  function add(change: FileChange, below: boolean): void {
    const put = log.get(`put ${change.path}`)
    switch (change.op) {
      case 'file':
        return putLast(
          change.mode === undefined && put?.op === 'file' && put.mode !== undefined
            ? { ...change, mode: put.mode }
            : change,
        )
      case 'mode':
        if (put?.op === 'file') return void log.set(keyOf(put), { ...put, mode: change.mode })
        return putLast(change)
      case 'dir':
        if (!log.has(keyOf(change))) log.set(keyOf(change), change)
        return
      case 'gone':
        for (const op of ['put', 'dir', 'mode']) log.delete(`${op} ${change.path}`)
        if (below) for (const [key, { path }] of log) if (isWithin(path, change.path)) log.delete(key)
        return putLast(change)
      case 'link':
        return putLast(change)
    }
  }
  return {
    get size() {
      return log.size
    },
    add,
    changes: () => withoutImplied([...log.values()]),
  }
}

/** Whatever is put somewhere makes the directories above it: those need no operation of their own. */
function withoutImplied(log: readonly FileChange[]): readonly FileChange[] {
  const made = new Set<string>()
  const kept = log.toReversed().filter((change) => {
    // Nothing before a `gone` stands at its path or below, so it takes nothing from what is made after it.
    if (change.op === 'gone') return true
    if (change.op === 'mode') {
      made.delete(change.path)
      return true
    }
    if (change.op === 'dir' && change.mode === undefined && made.has(change.path)) return false
    for (let dir = parentOf(change.path); dir !== '/' && !made.has(dir); dir = parentOf(dir)) made.add(dir)
    return true
  })
  return kept.toReversed()
}
