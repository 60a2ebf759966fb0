/** `grep` on the thread's own files. */
import type { ToolState } from '../../src/agent/define.js'
import { SkeinError } from '../../src/core/failure.js'
import type { Match } from '../../src/files/port.js'
import type { GrepArgs } from '../../src/tools/builtin/args.js'
import { mostMatches, outputBytes } from '../../src/tools/builtin/limits.js'
import { threadPath, touching } from './path.js'
import { listed } from './text.js'

export async function run({ files }: Pick<ToolState, 'files'>, args: GrepArgs): Promise<string> {
  const path = threadPath(args.path ?? '/')
  const pattern = toPattern(args.pattern)
  const matches = await touching(path, () => files.grep(pattern, { path, limit: mostMatches }))
  return listMatches(matches, outputBytes)
}

/** As `path:line:text`. */
export function listMatches(matches: readonly Match[], maxBytes: number): string {
  const hint = 'search for something rarer, or in one directory'
  const note = matches.length >= mostMatches ? [`[cut: the first ${mostMatches} lines; ${hint}]`] : []
  return listed([...matches.map(({ path, line, text }) => `${path}:${line}:${text}`), ...note], maxBytes, hint)
}

export function toPattern(pattern: string): RegExp {
  try {
    return new RegExp(pattern)
  } catch (thrown) {
    throw new SkeinError('TOOL_GREP_FAILED', `${JSON.stringify(pattern)} is not a regular expression: ${thrown instanceof Error ? thrown.message : String(thrown)}. To search for the text itself, put \\ before its special characters.`)
  }
}
