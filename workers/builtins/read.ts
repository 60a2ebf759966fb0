/** `read` on the thread's own files. */
import type { ToolState } from '../../src/agent/define.js'
import { SkeinError } from '../../src/core/failure.js'
import type { ReadArgs } from '../../src/tools/own/args.js'
import { outputBytes } from '../../src/tools/own/limits.js'
import { pickLines } from './lines.js'
import { threadPath, touching } from './path.js'
import { decodeText, notText } from './text.js'

export function run({ files }: Pick<ToolState, 'files'>, args: ReadArgs): Promise<string> {
  const path = threadPath(args.path)
  const { offset, limit } = args
  return touching(path, async () => {
    if (offset !== undefined || limit !== undefined) {
      return pickLines(files.readStream(path), {
        path,
        offset: offset ?? 1,
        limit: limit ?? Infinity,
        maxBytes: outputBytes,
      })
    }
    const { size } = await files.stat(path)
    if (size > outputBytes) throw tooLarge(path, size, outputBytes)
    return decodeText(await files.readFile(path)) ?? fail(notText(path))
  })
}

export function tooLarge(path: string, size: number, most: number): SkeinError {
  return new SkeinError(
    'TOOL_FILE_TOO_LARGE',
    `${path} has ${size} bytes; read gives ${most} at most. Ask for some lines with offset and limit.`,
  )
}

function fail(error: Error): never {
  throw error
}
