/** `grep` on the thread's own files. */
import type { ToolState } from '../../src/agent/define.js'
import type { Match } from '../../src/files/port.js'
import type { GrepArgs } from '../../src/tools/own/args.js'
import { lineChars, mostMatches, outputBytes } from '../../src/tools/own/limits.js'
import { threadPath, touching } from './path.js'
import { listLines } from './text.js'

export async function run({ files, signal }: Pick<ToolState, 'files' | 'signal'>, args: GrepArgs): Promise<string> {
  const path = threadPath(args.path ?? '/')
  const matches = await touching(path, () =>
    files.grep(args.pattern, { path, limit: mostMatches, maxChars: lineChars, signal }),
  )
  return listMatches(matches, outputBytes)
}

/** As `path:line:text`. */
export function listMatches(matches: readonly Match[], maxBytes: number): string {
  const hint = 'search for something rarer, or in one directory'
  const note = matches.length >= mostMatches ? [`[cut: the first ${mostMatches} lines; ${hint}]`] : []
  return listLines([...matches.map(({ path, line, text }) => `${path}:${line}:${text}`), ...note], maxBytes, hint)
}
