/**
 * Whether an `edit` on a real directory happened before a crash: the file takes either the patch or its reverse.
 *
 * - Only a clear answer is given; where the file takes both or neither, it stays unknown.
 */
import { OMIT_HEADERS, formatPatch, parsePatch, reversePatch } from 'diff'
import { SkeinError, isSkeinError } from '../../src/core/failure.js'
import type { EditArgs } from '../../src/tools/own/args.js'
import type { HostToolSettings } from '../../src/tools/own/host-tools.js'
import { patchText } from '../builtins/patch.js'
import { touching } from '../builtins/path.js'
import { textAt } from './edit.js'
import { openRoot, pathInside } from './root.js'

export async function run({ rootDir }: HostToolSettings, { path, patch }: EditArgs): Promise<string | null> {
  const root = await openRoot(rootDir)
  const text = await touching(path, async () => textAt(root, await pathInside(root, path), path))
  const isOpen = takes(text, patch)
  const isDone = takes(text, reversed(patch))
  if (isOpen !== isDone) return isDone ? 'ok' : null
  throw new SkeinError('EFFECT_UNKNOWN', `it cannot be seen in ${path} whether the patch was applied. Read the file.`)
}

const reversed = (patch: string): string => formatPatch(reversePatch(parsePatch(patch)), OMIT_HEADERS)

function takes(text: string, patch: string): boolean {
  try {
    patchText('it', text, patch)
    return true
  } catch (thrown) {
    if (isSkeinError(thrown) && thrown.code === 'TOOL_PATCH_FAILED') return false
    throw thrown
  }
}
