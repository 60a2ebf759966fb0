/**
 * Files that a body names to be given to another thread: each is there, or the body is told which is not, before
 * anything is sent (S8).
 */
import { SkeinError } from '../../src/core/failure.js'
import type { Files } from '../../src/files/port.js'

/** Their real paths. */
export async function presentFiles(files: Files, paths: unknown): Promise<readonly string[]> {
  if (!Array.isArray(paths) || !paths.every((path) => typeof path === 'string'))
    throw new SkeinError('BAD_OPTION', 'attachments is a list of paths of this thread’s files')
  const real: string[] = []
  for (const path of paths) {
    if (!(await files.exists(path)))
      throw new SkeinError('TOOL_INPUT_INVALID', `there is no file ${JSON.stringify(path)} to attach; nothing was sent`)
    real.push(await files.realpath(path))
  }
  return [...new Set(real)]
}
