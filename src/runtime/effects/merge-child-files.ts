/**
 * Merges the files of a child that worked on a copy of its parent's files and has ended (B3).
 *
 * - Only an answer is merged. Changes of a child that failed or was cancelled are put into a folder of their own, and
 *   the model is told where: unfinished work is never mixed with the parent's files.
 */
import type { Slot } from '../../../actors/thread/calls/slots.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Blobs } from '../../backend/port.js'
import { unusedName } from '../../core/attachments.js'
import type { Landed } from '../../core/records/record.js'
import { thawTree } from '../../core/tree.js'
import { mergeTrees } from '../../files/merge/trees.js'
import { conflictReport } from '../../files/merge/conflicts.js'

export async function mergeChildFiles(blobs: Blobs, state: ThreadState, { base, join, call }: Slot): Promise<Landed> {
  if (!base || !join) return { outcome: { ok: true, value: null } }
  const { outcome, tree } = join
  if (!outcome.ok)
    return {
      outcome,
      ...putAside(state, { base: thawTree(base), theirs: thawTree(tree), name: call.child?.reference ?? 'child' }),
    }
  const { changes, conflicts } = await mergeTrees({
    base: thawTree(base),
    ours: state.files,
    theirs: thawTree(tree),
    read: async (hash) => {
      const parts: Uint8Array[] = []
      for await (const part of blobs.get(hash)) parts.push(part)
      return Buffer.concat(parts)
    },
    write: (bytes) => blobs.put(bytes),
  })
  return {
    outcome,
    ...(conflicts.length > 0 && { note: conflictReport(conflicts) }),
    ...(changes.length > 0 && { changes: { files: changes } }),
  }
}

function putAside(state: ThreadState, child: Parameters<typeof unusedName>[1]): Pick<Landed, 'note' | 'changes'> {
  const { changes, folder, made, gone } = unusedName(state.files, child)
  if (made.length === 0 && gone.length === 0) return {}
  const parts = [
    'Because it did not finish, nothing that it did to the files was merged into yours.',
    ...(made.length > 0 ? [`What it had made or changed is below ${folder}: ${list(made)}. Copy what is of use.`] : []),
    ...(gone.length > 0 ? [`It had deleted: ${list(gone)}; yours are still there.`] : []),
  ]
  return { note: parts.join(' '), ...(changes.length > 0 && { changes: { files: changes } }) }
}

const maxListed = 20

function list(paths: readonly string[]): string {
  if (paths.length <= maxListed) return paths.join(', ')
  return `${paths.slice(0, maxListed).join(', ')} and ${paths.length - maxListed} more`
}
