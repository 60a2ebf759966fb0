/** What a thread's files hold, entry by entry. Names are those of the thread's own tree, which knows only `/`. */
import { posix } from 'node:path'
import type { FileStat, Files } from '../../../index.js'

export interface ShownFile extends FileStat {
  /** Absolute in the thread. */
  readonly path: string
  /** Where a link leads, as it was written. */
  readonly target?: string
}

export async function entryAt(files: Files, path: string): Promise<ShownFile> {
  const stat = await files.lstat(path)
  return { path, ...stat, ...(stat.kind === 'link' && { target: await files.readlink(path) }) }
}

/**
 * What lies in a directory, in order of names; with `deep` all below it, a directory before what it holds. Links are
 * not followed.
 */
export async function* entriesIn(files: Files, path: string, deep: boolean): AsyncGenerator<ShownFile> {
  for (const name of await files.readdir(path)) {
    if (name === '' || name === '.' || name === '..' || name.includes('/')) throw await noSuchName(path, name)
    const entry = await entryAt(files, posix.join(path, name))
    yield entry
    if (deep && entry.kind === 'dir') yield* entriesIn(files, entry.path, deep)
  }
}

/** A store that an earlier Skein wrote may have it; followed, it would lead round in a circle or out of the files. */
async function noSuchName(path: string, name: string): Promise<Error> {
  const { SkeinError } = await import('../../../index.js')
  return new SkeinError(
    'JOURNAL_CORRUPT',
    `${JSON.stringify(path)} has an entry ${JSON.stringify(name)}, which is no name of a file; remove ` +
      `${JSON.stringify(path)}, or restore the store from a back-up`,
  )
}

/** A path as it was given, made absolute. One that climbs above the root is refused, never bent into something else. */
export async function filePath(given: string): Promise<string> {
  const { SkeinError } = await import('../../../index.js')
  let depth = 0
  for (const name of given.split('/')) {
    depth += name === '..' ? -1 : name === '' || name === '.' ? 0 : 1
    if (depth < 0)
      throw new SkeinError(
        'BAD_OPTION',
        `${JSON.stringify(given)} leads above the root of the files of a thread; give a path below /`,
      )
  }
  return posix.resolve('/', given)
}

/** What the thread's files do not have, or cannot do, is for whoever named it. */
export async function inFiles<Value>(thread: string, work: () => Promise<Value>): Promise<Value> {
  const { SkeinError } = await import('../../../index.js')
  try {
    return await work()
  } catch (thrown) {
    if (SkeinError.is(thrown) || !(thrown instanceof Error) || !('code' in thrown)) throw thrown
    throw new SkeinError('BAD_OPTION', `in the files of thread ${thread}: ${thrown.message}`, { cause: thrown })
  }
}
