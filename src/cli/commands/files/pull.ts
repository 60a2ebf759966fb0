/**
 * `skein files pull`: copies files of a thread into a real folder. Names and links of a thread are written by models,
 * so they are not trusted.
 *
 * - Nothing is written, changed or followed outside the folder.
 * - Files that are there already are left alone, unless --force is given; they are looked for before the first file
 *   is written.
 * - A link is made only when it leads to something that is copied too; it then leads straight there.
 */
import { createWriteStream } from 'node:fs'
import { chmod, lstat, mkdir, realpath, rm, symlink } from 'node:fs/promises'
import { dirname, join, posix, relative, sep } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Command } from 'commander'
import { defined } from '../../../core/defined.js'
import type { RemoteFiles } from '../../../client.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { byteCount, counted, oneLine } from '../../format.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { withAnyClient } from '../../store.js'
import { entriesIn, filesNow, inFiles, filePath } from './entry.js'
import type { ShownFile } from './entry.js'
import type { AnyClient } from '../../store.js'

interface Options {
  readonly force?: boolean
}

interface PullRequest extends Options {
  readonly id: string
  readonly path: string
  readonly dir: string
}

/** An entry and its path in the folder. */
interface Copy {
  readonly entry: ShownFile
  readonly to: string
  readonly exists: boolean
}

interface Skipped {
  readonly path: string
  readonly target?: string
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .argument('[path]', 'a file, or a directory: what it holds goes into the folder', '/')
    .argument('[dir]', 'the folder; it is made where it is not there', '.')
    .option('--force', 'replace files that are there')
    .action((id: string, ...[path, dir, options]: [string, string, Options]) =>
      runCommand(command, (context) =>
        withAnyClient(context.store, (client) => pull(context, client, { ...options, id, path, dir })),
      ),
    )
}

async function pull(
  { out }: CommandContext,
  client: AnyClient,
  { id, dir, force = false, ...request }: PullRequest,
): Promise<ExitCode> {
  const path = await filePath(request.path)
  const files = await filesNow(await client.threads.get(id))
  const { entries, top } = await inFiles(id, () => listEntries(files, path))
  const { copies, skipped } = await onDisk(dir, async () => {
    await mkdir(dir, { recursive: true })
    const planned = await planCopies(entries, { top, base: await realpath(dir) })
    await refuseToOverwrite(planned, force)
    return { copies: planned, skipped: await copyAll(files, planned, top) }
  })
  const done = copies.filter(({ entry }) => entry.kind === 'file')
  const size = done.reduce((sum, { entry }) => sum + entry.size, 0)
  for (const link of skipped)
    out.note(
      `left out ${oneLine(link.path, 500)} -> ${oneLine(link.target ?? '', 500)}: it leads to nothing that is copied`,
      link,
    )
  if (out.mode === 'json')
    out.json({
      thread: id,
      path,
      dir,
      files: done.length,
      bytes: size,
      links: copies.filter(({ entry }) => entry.kind === 'link').length - skipped.length,
      skipped,
    })
  else out.print(`${counted(done.length, 'file')}, ${byteCount(size)} in ${dir}\n`)
  return exitCode.ok
}

/** The entries to copy, and the directory of the thread that becomes the folder. */
async function listEntries(
  files: RemoteFiles,
  path: string,
): Promise<{ readonly entries: readonly ShownFile[]; readonly top: string }> {
  const stat = await files.stat(path)
  // A file goes under the name that was asked for, also where that is a link to it.
  if (stat.kind !== 'dir') return { entries: [{ path, ...stat }], top: posix.dirname(path) }
  const top = await files.realpath(path)
  const entries: ShownFile[] = []
  for await (const entry of entriesIn(files, top, true)) entries.push(entry)
  return { entries, top }
}

/** Every name is one step down, and no directory on the way is a link. */
async function planCopies(
  entries: readonly ShownFile[],
  { top, base }: { top: string; base: string },
): Promise<readonly Copy[]> {
  const { SkeinError } = await import('../../../index.js')
  const copies: Copy[] = []
  for (const entry of entries) {
    const names = posix.relative(top, entry.path).split('/')
    if (names.some((name) => name === '' || name === '.' || name === '..' || name.includes(sep))) {
      throw new SkeinError(
        'BAD_OPTION',
        `${JSON.stringify(entry.path)} cannot be copied: this system has no such names`,
      )
    }
    const to = join(base, ...names)
    const there = await lstat(to).catch(absent)
    if (there && there.isDirectory() !== (entry.kind === 'dir')) {
      throw new SkeinError(
        'BAD_OPTION',
        `${to} is ${there.isDirectory() ? 'a directory' : 'no directory'}, and ${entry.path} is ` +
          `${entry.kind === 'dir' ? 'one' : 'none'}; take another folder`,
      )
    }
    copies.push({ entry, to, exists: there !== undefined })
  }
  return copies
}

async function refuseToOverwrite(copies: readonly Copy[], force: boolean): Promise<void> {
  const there = copies.filter(({ entry, exists }) => exists && entry.kind !== 'dir')
  if (force || there.length === 0) return
  const { SkeinError } = await import('../../../index.js')
  const names = there.slice(0, 3).map(({ to }) => to)
  throw new SkeinError(
    'BAD_OPTION',
    `${names.join(', ')}${there.length > 3 ? ` and ${there.length - 3} more` : ''} would be replaced; give ` +
      `--force, or take another folder`,
  )
}

/**
 * Copies directories, files and links; at last sets the modes of directories, so that one without write permission is
 * filled first. Gives the links that were left out.
 */
async function copyAll(files: RemoteFiles, copies: readonly Copy[], top: string): Promise<readonly Skipped[]> {
  const of = (kind: ShownFile['kind']): readonly Copy[] => copies.filter(({ entry }) => entry.kind === kind)
  for (const { to, exists } of of('dir')) if (!exists) await mkdir(to)
  for (const { entry, to } of of('file')) {
    // Removed first: what is there may be a link, and writing would follow it.
    await rm(to, { force: true })
    await pipeline(files.readStream(entry.path), createWriteStream(to, { flags: 'wx' }))
    await chmod(to, entry.mode & 0o777)
  }
  const skipped: Skipped[] = []
  for (const { entry, to } of of('link')) {
    const target = await files.realpath(entry.path).catch(absent)
    const inside = target === undefined ? '..' : posix.relative(top, target)
    if (inside === '..' || inside.startsWith('../'))
      skipped.push({ path: entry.path, ...defined({ target: entry.target }) })
    else {
      await rm(to, { force: true })
      await symlink(relative(dirname(to), join(baseOf(to, entry, top), inside)) || '.', to)
    }
  }
  for (const { entry, to, exists } of [...of('dir')].reverse()) if (!exists) await chmod(to, entry.mode & 0o777)
  return skipped
}

/** The folder that `top` becomes. */
function baseOf(to: string, { path }: ShownFile, top: string): string {
  return posix
    .relative(top, path)
    .split('/')
    .reduce((up) => dirname(up), to)
}

function absent(thrown: unknown): undefined {
  if (
    thrown instanceof Error &&
    'code' in thrown &&
    (thrown.code === 'ENOENT' || thrown.code === 'ELOOP' || thrown.code === 'ENOTDIR')
  )
    return undefined
  throw thrown
}

/** An error of the real file system becomes one of the caller, who chose the folder. */
async function onDisk<Value>(dir: string, work: () => Promise<Value>): Promise<Value> {
  const { SkeinError } = await import('../../../index.js')
  try {
    return await work()
  } catch (thrown) {
    if (SkeinError.is(thrown) || !(thrown instanceof Error) || !('code' in thrown)) throw thrown
    throw new SkeinError('BAD_OPTION', `${dir} cannot be filled: ${thrown.message}`, { cause: thrown })
  }
}
