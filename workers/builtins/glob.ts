/** `glob` on the thread's own files: one path a line. */
import type { ToolState } from '../../src/agent/define.js'
import type { GlobArgs } from '../../src/tools/own/args.js'
import { mostMatches, outputBytes } from '../../src/tools/own/limits.js'
import { threadPath, touching } from './path.js'
import { listLines } from './text.js'

export async function run({ files, signal }: Pick<ToolState, 'files' | 'signal'>, args: GlobArgs): Promise<string> {
  const path = threadPath(args.path ?? '/')
  const paths = await touching(path, () => files.find(args.pattern, { path, limit: mostMatches, signal }))
  const note = paths.length === mostMatches ? [`[cut: the first ${mostMatches} paths; give a narrower pattern]`] : []
  return listLines([...paths, ...note], outputBytes, 'give a narrower pattern')
}
