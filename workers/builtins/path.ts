/**
 * Checks paths that a model gives for its thread's files, and turns errors about them into advice.
 *
 * - A path that leads above the root is refused, never changed into another.
 */
import { posix } from 'node:path'
import { SkeinError } from '../../src/core/failure.js'
import type { FailureCode } from '../../src/core/failure.js'
import { isFileError } from '../../src/files/error.js'
import { pathChars } from '../../src/tools/own/limits.js'

/** Absolute and normalised. */
export function threadPath(path: string): string {
  checkPath(path)
  let depth = 0
  for (const name of path.split('/')) {
    if (name === '..') depth--
    else if (name !== '' && name !== '.') depth++
    if (depth < 0)
      throw new SkeinError(
        'TOOL_PATH_ESCAPE',
        `${JSON.stringify(path)} leads above the root of the files. Give a path below /.`,
      )
  }
  return posix.resolve('/', path)
}

function whyInvalid(path: string): string | undefined {
  if (path === '') return 'is empty'
  if (path.includes('\0')) return 'has a zero byte'
  return path.length > pathChars ? `is longer than ${pathChars} characters` : undefined
}

/** Throws for paths that no file system accepts. */
export function checkPath(path: string): void {
  const why = whyInvalid(path)
  if (why !== undefined)
    throw new SkeinError(
      'TOOL_PATH_INVALID',
      `the path ${JSON.stringify(path.slice(0, 100))} ${why}. Give the path of a file.`,
    )
}

const reasons: Readonly<Record<string, readonly [FailureCode, string]>> = {
  ENOENT: ['TOOL_PATH_INVALID', 'does not exist. List the directory above it to see what is there'],
  // A directory was to be created where a file is.
  EEXIST: ['TOOL_PATH_INVALID', 'leads through something that is not a directory'],
  ENOTDIR: ['TOOL_PATH_INVALID', 'leads through something that is not a directory'],
  EISDIR: ['TOOL_PATH_INVALID', 'is a directory; this needs a file. List it to see what is in it'],
  ELOOP: ['TOOL_PATH_INVALID', 'goes round in a circle of links'],
  ENAMETOOLONG: ['TOOL_PATH_INVALID', 'is too long'],
  EACCES: ['TOOL_PATH_INVALID', 'may not be touched by this process'],
  EPERM: ['TOOL_PATH_INVALID', 'may not be touched by this process'],
  EROFS: ['TOOL_PATH_INVALID', 'is on a file system that is read only'],
  EDQUOT: ['FILES_QUOTA', 'does not fit: the files of this thread have reached their quota. Delete something first'],
  ENOSPC: ['FILES_QUOTA', 'does not fit: the disk is full'],
}

/** Advice for a model about an error of a file system; other errors stay as they are. */
export function toldOf(path: string, thrown: unknown): unknown {
  if (isFileError(thrown) && thrown.syscall === 'grep') return noPattern(thrown.path, thrown.why)
  if (isFileError(thrown) && thrown.syscall === 'glob')
    return new SkeinError('TOOL_INPUT_INVALID', `${JSON.stringify(thrown.path)} is not a glob: ${thrown.why}.`, {
      cause: thrown,
    })
  if (errorCode(thrown) === 'EINVAL')
    return new SkeinError(
      'TOOL_PATH_INVALID',
      `${path} does not work here: ${thrown instanceof Error ? thrown.message : 'EINVAL'}.`,
      { cause: thrown },
    )
  const known = reasons[errorCode(thrown) ?? '']
  return known ? new SkeinError(known[0], `${path} ${known[1]}.`, { cause: thrown }) : thrown
}

export function noPattern(pattern: string, why: string | undefined): SkeinError {
  return new SkeinError(
    'TOOL_GREP_FAILED',
    `${JSON.stringify(pattern)} is not a regular expression that grep takes: ${why}. To search for the text ` +
      `itself, put \\ before its special characters.`,
  )
}

export function errorCode(thrown: unknown): string | undefined {
  return thrown instanceof Error && 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined
}

/** Runs an operation on `path`, with errors that a model understands. */
export async function touching<Value>(path: string, touch: () => Promise<Value>): Promise<Value> {
  try {
    return await touch()
  } catch (thrown) {
    throw toldOf(path, thrown)
  }
}
