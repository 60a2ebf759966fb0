/**
 * Files that came with a message, put into this thread's `/attachments`.
 */
import { place } from '../../src/core/attachments.js'
import { applyChanges, thawTree } from '../../src/core/tree.js'
import type { FrozenTree } from '../../src/core/tree.js'
import type { ThreadState } from './state.js'

/** AH1: the text with the paths at which they are now. */
export function attached(state: ThreadState, { text, files, at }: { readonly text: string; readonly files?: FrozenTree; readonly at: number }): { readonly text: string; readonly attachments?: readonly string[] } {
  if (!files) return { text }
  const { changes, paths } = place(state.files, thawTree(files))
  state.files = applyChanges(state.files, changes, at)
  return { text: `${text}\n\n[attached: ${paths.join(', ')}]`, attachments: paths }
}
