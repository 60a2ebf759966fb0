/** `read_skill_file`: a file of a skill, whose content is in memory: read, or copied to the thread's files. */
import type { ToolState } from '../../src/agent/define.js'
import { SkeinError } from '../../src/core/failure.js'
import { outputBytes } from '../../src/tools/own/limits.js'
import { pickLines } from './lines.js'
import { threadPath, touching } from './path.js'
import { tooLarge } from './read.js'
import { decodeText } from './text.js'

interface SkillFile {
  /** For messages: with the name of the skill before it. */
  readonly path: string
  readonly content: Uint8Array
  readonly offset?: number
  readonly limit?: number
  readonly saveAs?: string
}

export async function run({ files }: Pick<ToolState, 'files'>, file: SkillFile): Promise<string> {
  const { path, content, offset, limit, saveAs } = file
  if (saveAs !== undefined) {
    const target = threadPath(saveAs)
    await touching(target, () => files.writeFile(target, content))
    return `${target}: a copy of ${path} (${content.length} bytes)`
  }
  if (offset !== undefined || limit !== undefined)
    return pickLines(once(content), { path, offset: offset ?? 1, limit: limit ?? Infinity, maxBytes: outputBytes })
  if (content.length > outputBytes) throw tooLarge(path, content.length, outputBytes)
  return decodeText(content) ?? Promise.reject(notReadable(path))
}

function notReadable(path: string): SkeinError {
  return new SkeinError('TOOL_PATH_INVALID', `${path} is not text in UTF-8; saveAs copies it to your own files.`)
}

async function* once(content: Uint8Array): AsyncGenerator<Uint8Array> {
  yield content
}
