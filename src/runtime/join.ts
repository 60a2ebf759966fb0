/**
 * A child that worked on a copy of its parent's files has ended: what it did there is merged into them (B3).
 */
import type { Slot } from '../../actors/thread/slots.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { Blobs } from '../backend/port.js'
import { failureText, resultText } from '../core/message.js'
import type { Landed } from '../core/record.js'
import { thawTree } from '../core/tree.js'
import { mergeTrees } from '../files/merge.js'
import { conflictReport } from '../files/merge-conflict.js'

export async function joinFiles(blobs: Blobs, state: ThreadState, { base, join }: Slot): Promise<Landed> {
  if (!base || !join) return { outcome: { ok: true, value: null } }
  const { outcome, tree } = join
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
  const said = outcome.ok ? resultText(outcome.value) : failureText(outcome.failure)
  return {
    outcome,
    ...(conflicts.length > 0 && outcome.ok && { text: `${said}\n\n${conflictReport(conflicts)}` }),
    ...(changes.length > 0 && { changes: { files: changes } }),
  }
}
