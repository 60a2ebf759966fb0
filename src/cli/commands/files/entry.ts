/** The entries of a thread's files, whose paths are separated by `/` on every system. */
import { posix } from 'node:path'
import type { RemoteFiles } from '../../../client.js'
import type { FileStat } from '../../../index.js'

export interface ShownFile extends FileStat {
  /** Absolute in the thread. */
  readonly path: string
  /** Where a link leads, as it was written. */
  readonly target?: string
}

/** The files at one instant, where the store itself is at hand; a server is asked anew for every file. */
export async function filesNow({ files }: { readonly files: RemoteFiles }): Promise<RemoteFiles> {
  return 'snapshot' in files && typeof files.snapshot === 'function' ? files.snapshot() : files
}

export async function entryAt(files: RemoteFiles, path: string): Promise<ShownFile> {
  const stat = await files.lstat(path)
  return { path, ...stat, ...(stat.kind === 'link' && { target: await files.readlink(path) }) }
}

/** The entries of a directory by name; with `deep` all below it, a directory before its entries. Follows no links. */
export async function* entriesIn(files: RemoteFiles, path: string, deep: boolean): AsyncGenerator<ShownFile> {
  for (const name of await files.readdir(path)) {
    if (name === '' || name === '.' || name === '..' || name.includes('/')) throw await badName(path, name)
    const entry = await entryAt(files, posix.join(path, name))
    yield entry
    if (deep && entry.kind === 'dir') yield* entriesIn(files, entry.path, deep)
  }
}

/** A store that an earlier Skein wrote may have such a name; it would lead in a circle or out of the files. */
async function badName(path: string, name: string): Promise<Error> {
  const { SkeinError } = await import('../../../index.js')
  return new SkeinError(
    'JOURNAL_CORRUPT',
    `${JSON.stringify(path)} has an entry ${JSON.stringify(name)}, which is no name of a file; remove ` +
      `${JSON.stringify(path)}, or restore the store from a back-up`,
  )
}

/** The path, made absolute. One that climbs above the root is refused, never bent into something else. */
export async function filePath(path: string): Promise<string> {
  const { SkeinError } = await import('../../../index.js')
  let depth = 0
  for (const name of path.split('/')) {
    depth += stepOf(name)
    if (depth < 0)
      throw new SkeinError(
        'BAD_OPTION',
        `${JSON.stringify(path)} leads above the root of the files of a thread; give a path below /`,
      )
  }
  return posix.resolve('/', path)
}

function stepOf(name: string): number {
  if (name === '..') return -1
  return name === '' || name === '.' ? 0 : 1
}

/** An error of the file system becomes one of the caller, who named the path. */
export async function inFiles<Value>(thread: string, work: () => Promise<Value>): Promise<Value> {
  const { SkeinError } = await import('../../../index.js')
  try {
    return await work()
  } catch (thrown) {
    if (SkeinError.is(thrown) || !(thrown instanceof Error) || !('code' in thrown)) throw thrown
    throw new SkeinError('BAD_OPTION', `in the files of thread ${thread}: ${thrown.message}`, { cause: thrown })
  }
}
