/** `write` on the thread's own files. */
import { Buffer } from 'node:buffer'
import type { ToolState } from '../../src/agent/define.js'
import { SkeinError } from '../../src/core/failure.js'
import type { WriteArgs } from '../../src/tools/own/args.js'
import { outputBytes } from '../../src/tools/own/limits.js'
import { threadPath, touching } from './path.js'

export async function run({ files }: Pick<ToolState, 'files'>, args: WriteArgs): Promise<string> {
  const path = threadPath(args.path)
  checkContent(path, args.content, outputBytes)
  await touching(path, () => files.writeFile(path, args.content))
  return 'ok'
}

export function checkContent(path: string, content: string, most: number): void {
  const size = Buffer.byteLength(content)
  if (size > most)
    throw new SkeinError(
      'TOOL_CONTENT_TOO_LARGE',
      `the content for ${path} has ${size} bytes; write takes ${most} at most. Write it in parts, each into a ` +
        `file of its own.`,
    )
}
