/**
 * A child that worked on a copy of its parent's files has ended: what it did there is merged into them (B3).
 *
 * - Only an answer is merged. What a child that failed or was cancelled had changed is put aside, whole, and the
 *   model is told where: half of a work is never mixed with the parent's own.
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
      ...leftAside(state, { base: thawTree(base), theirs: thawTree(tree), name: call.child?.reference ?? 'child' }),
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

function leftAside(state: ThreadState, of: Parameters<typeof unusedName>[1]): Pick<Landed, 'note' | 'changes'> {
  const { changes, folder, made, gone } = unusedName(state.files, of)
  if (made.length === 0 && gone.length === 0) return {}
  const parts = [
    'Because it did not finish, nothing that it did to the files was merged into yours.',
    ...(made.length > 0 ? [`What it had made or changed is below ${folder}: ${some(made)}. Copy what is of use.`] : []),
    ...(gone.length > 0 ? [`It had deleted: ${some(gone)}; yours are still there.`] : []),
  ]
  return { note: parts.join(' '), ...(changes.length > 0 && { changes: { files: changes } }) }
}

const most = 20

function some(paths: readonly string[]): string {
  return paths.length <= most ? paths.join(', ') : `${paths.slice(0, most).join(', ')} and ${paths.length - most} more`
}
