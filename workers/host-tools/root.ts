/**
 * The real directory of host tools, and the resolution of paths below it.
 *
 * - Every link on the way is resolved here, one by one, even if the target does not exist yet; a path that leads
 *   outside is refused before anything is opened.
 * - Directories may change meanwhile: before anything is read or written, the opened file is compared with what is at
 *   the path then.
 */
import { constants } from 'node:fs'
import { lchown, lstat, mkdir, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { systemRandom } from '../../src/core/clock.js'
import { SkeinError } from '../../src/core/failure.js'
import { checkPath, errorCode } from '../builtins/path.js'

/** As in Linux. */
const mostLinks = 40

export interface Root {
  /** The real path of the directory. */
  readonly dir: string
  /** The path in the options. */
  readonly name: string
}

export async function openRoot(rootDir: string): Promise<Root> {
  try {
    return { name: rootDir, dir: await realpath(rootDir) }
  } catch (thrown) {
    throw new SkeinError(
      'BAD_OPTION',
      `the rootDir ${rootDir} of hostTools cannot be opened: ` +
        `${thrown instanceof Error ? thrown.message : String(thrown)}. Make the directory, or give another.`,
      { cause: thrown },
    )
  }
}

/** The real path of a model's `path`; its last part need not exist. */
export async function pathInside(root: Root, path: string): Promise<string> {
  checkPath(path)
  const absolute = resolve(root.dir, path)
  // An absolute path may begin with the root as the options name it.
  if (isInside(root.dir, absolute)) return follow(root, path, absolute)
  if (!isAbsolute(path) || !isInside(root.name, absolute)) throw escape(root, path)
  return follow(root, path, join(root.dir, relative(root.name, absolute)))
}

async function follow(root: Root, path: string, absolute: string): Promise<string> {
  let at = root.dir
  let rest = namesOf(relative(root.dir, absolute))
  for (let links = 0; rest.length > 0;) {
    const [name = '', ...after] = rest
    const next = join(at, name)
    const target = await targetOf(next)
    if (target === undefined) {
      at = next
      rest = after
      continue
    }
    if (++links > mostLinks) throw new SkeinError('TOOL_PATH_INVALID', `${path} goes round in a circle of links.`)
    const led = resolve(at, target, ...after)
    if (!isInside(root.dir, led)) throw escape(root, path)
    // From the root again: the target may itself contain links.
    at = root.dir
    rest = namesOf(relative(root.dir, led))
  }
  return at
}

const namesOf = (path: string): readonly string[] => path.split(sep).filter((name) => name !== '')

/** The target of a link; undefined if the path is none. */
async function targetOf(path: string): Promise<string | undefined> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT' || errorCode(thrown) === 'ENOTDIR') return undefined
    throw thrown
  }
}

function isInside(dir: string, path: string): boolean {
  return path === dir || path.startsWith(dir.endsWith(sep) ? dir : dir + sep)
}

function escape(root: Root, path: string): SkeinError {
  return new SkeinError('TOOL_PATH_ESCAPE', `${JSON.stringify(path)} leads outside ${root.name}. Give a path below it.`)
}

/** A regular file, open for reading. `real` comes from `pathInside`. */
export async function openInside(root: Root, real: string): Promise<FileHandle> {
  // Non-blocking, because a pipe would wait for its other end.
  return checked(root, real, await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK))
}

/** The owner of new files and directories; default: the host's user. */
export interface FileOwner {
  readonly uid?: number
  readonly gid?: number
}

export interface Replacement {
  readonly content: string
  readonly owner?: FileOwner
}

/**
 * Replaces a file atomically: readers see the old content or the new. It is written to a draft in the same directory
 * first; if a directory above is exchanged meanwhile, the rename finds no draft.
 */
export async function replaceInside(root: Root, real: string, { content, owner = {} }: Replacement): Promise<void> {
  const made = await mkdir(dirname(real), { recursive: true })
  if (made !== undefined) await giveFolders(made, dirname(real), owner)
  const mode = await modeOf(real)
  const draft = join(dirname(real), `.skein-${systemRandom.id()}`)
  const handle = await open(
    draft,
    constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW,
    mode ?? 0o666,
  )
  try {
    await checked(root, draft, handle)
    // Again, because the umask has been applied to the new file.
    if (mode !== undefined) await handle.chmod(mode)
    if (isGiven(owner)) await handle.chown(owner.uid ?? -1, owner.gid ?? -1)
    await handle.writeFile(content)
    await handle.close()
    await rename(draft, real)
  } catch (thrown) {
    await handle.close()
    await rm(draft, { force: true })
    throw thrown
  }
}

const isGiven = ({ uid, gid }: FileOwner): boolean => uid !== undefined || gid !== undefined

/** For the directories that were created, from the first on. */
async function giveFolders(first: string, last: string, owner: FileOwner): Promise<void> {
  if (!isGiven(owner)) return
  for (let at = last; at.length >= first.length; at = dirname(at)) await lchown(at, owner.uid ?? -1, owner.gid ?? -1)
}

/** Undefined if the file does not exist. */
async function modeOf(real: string): Promise<number | undefined> {
  try {
    const found = await lstat(real)
    if (!found.isFile()) throw notFile(real, found.isDirectory())
    return found.mode & 0o7777
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined
    throw thrown
  }
}

async function checked(root: Root, real: string, handle: FileHandle): Promise<FileHandle> {
  try {
    const opened = await handle.stat()
    if (!opened.isFile()) throw notFile(real, opened.isDirectory())
    const actual = await realpath(real)
    const there = await stat(actual)
    if (!isInside(root.dir, actual) || there.ino !== opened.ino || there.dev !== opened.dev) throw escape(root, real)
    return handle
  } catch (thrown) {
    await handle.close()
    throw thrown
  }
}

function notFile(path: string, isDirectory: boolean): SkeinError {
  return new SkeinError(
    'TOOL_PATH_INVALID',
    `${path} is ${isDirectory ? 'a directory' : 'not a regular file'}; this needs a file.`,
  )
}
