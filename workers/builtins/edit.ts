/** `edit` on the thread's own files. */
import { Buffer } from 'node:buffer'
import type { ToolState } from '../../src/agent/define.js'
import { SkeinError } from '../../src/core/failure.js'
import type { EditArgs } from '../../src/tools/own/args.js'
import { editBytes, outputBytes } from '../../src/tools/own/limits.js'
import { patchText } from './patch.js'
import { threadPath, touching } from './path.js'
import { decodeText, notText } from './text.js'

export async function run({ files }: Pick<ToolState, 'files'>, args: EditArgs): Promise<string> {
  const path = threadPath(args.path)
  checkPatch(path, args.patch, outputBytes)
  await touching(path, async () => {
    checkEditSize(path, (await files.stat(path)).size)
    const text = decodeText(await files.readFile(path))
    if (text === undefined) throw notText(path)
    await files.writeFile(path, patchText(path, text, args.patch))
  })
  return 'ok'
}

export function checkPatch(path: string, patch: string, most: number): void {
  const size = Buffer.byteLength(patch)
  if (size > most)
    throw new SkeinError(
      'TOOL_PATCH_TOO_LARGE',
      `the patch for ${path} has ${size} bytes; edit takes ${most} at most. Send it in parts.`,
    )
}

export function checkEditSize(path: string, size: number): void {
  if (size > editBytes)
    throw new SkeinError(
      'TOOL_FILE_TOO_LARGE',
      `${path} has ${size} bytes; edit takes files of ${editBytes} at most. Split it first.`,
    )
}
