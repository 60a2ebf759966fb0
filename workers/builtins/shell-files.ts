/**
 * A thread's files as the virtual shell sees them.
 *
 * - Each operation asks the thread's files for what it needs and no more, because what a call has read decides
 *   whether it must run again (T3). Devices and the places of commands are no files and are never asked for.
 * - What goes wrong is the error that Node gives, by code and first word of the message; commands make their words
 *   of it.
 * - Every operation runs trusted: the shell guards the globals of its own code, not ours.
 */
import { Buffer } from 'node:buffer'
import { posix } from 'node:path'
import { DefenseInDepthBox } from 'just-bash'
import type { FsStat, IFileSystem } from 'just-bash'
import { fileError } from '../../src/files/error.js'
import type { FileStat, Files } from '../../src/files/port.js'

const devices: ReadonlySet<string> = new Set(['/dev/null', '/dev/stdin', '/dev/stdout', '/dev/stderr', '/dev/tty'])
const commandDirs = ['/usr/bin', '/bin']

type Encoding = Parameters<IFileSystem['readFile']>[1]

/** `commands` are found at their usual places. */
export function createShellFiles(files: Files, commands: readonly string[]): IFileSystem {
  const places = new Set(commandDirs.flatMap((dir) => [dir, ...commands.map((name) => posix.join(dir, name))]))
  const isOurs = (path: string): boolean => devices.has(path) || places.has(path)
  return { ...looks(files, isOurs), ...changes(files, isOurs) }
}

const trusted = <Value>(work: () => Promise<Value>): Promise<Value> => DefenseInDepthBox.runTrustedAsync(work)

type Look =
  | 'readFile'
  | 'readFileBuffer'
  | 'exists'
  | 'stat'
  | 'lstat'
  | 'readdir'
  | 'readdirWithFileTypes'
  | 'resolvePath'
  | 'getAllPaths'
  | 'readlink'
  | 'realpath'

function looks(files: Files, isOurs: (path: string) => boolean): Pick<IFileSystem, Look> {
  const bytesAt = (path: string): Promise<Uint8Array> =>
    trusted(async () => (devices.has(path) ? new Uint8Array() : files.readFile(path)))
  const statOf = (path: string, look: () => Promise<FileStat>): Promise<FsStat> =>
    trusted(async () => (isOurs(path) ? ownStat(commandDirs.includes(path)) : toStat(await look())))
  return {
    readFile: async (path, options) => Buffer.from(await bytesAt(path)).toString(nodeEncoding(options)),
    readFileBuffer: bytesAt,
    exists: (path) => trusted(async () => isOurs(path) || files.exists(path)),
    // Who moves or copies one file to the place of another must know that they are two: a file is where it is.
    stat: async (path) => ({
      ...(await statOf(path, () => files.stat(path))),
      identity: await trusted(async () => (isOurs(path) ? path : files.realpath(path))),
    }),
    lstat: (path) => statOf(path, () => files.lstat(path)),
    readdir: (path) => trusted(async () => [...(await files.readdir(path))]),
    readdirWithFileTypes: (path) => trusted(() => entriesOf(files, path)),
    resolvePath: (base, path) => posix.resolve('/', base, path),
    // For what cannot wait; the rest finds its paths by listing.
    getAllPaths: () => [],
    readlink: (path) => trusted(() => files.readlink(path)),
    realpath: (path) => trusted(async () => (isOurs(path) ? path : files.realpath(path))),
  }
}

function changes(files: Files, isOurs: (path: string) => boolean): Omit<IFileSystem, Look> {
  /** The shell's own places stay as they are. */
  const change = (syscall: string, paths: readonly string[], work: () => Promise<void>): Promise<void> =>
    trusted(async () => {
      const path = paths.find(isOurs)
      if (path !== undefined) throw fileError('EBUSY', { syscall, path }, 'it belongs to the shell')
      await work()
    })
  /** Makes the directories above, unlike a real shell: this one would end the whole script, not the command. */
  const put = (path: string, work: () => Promise<void>): Promise<void> =>
    devices.has(path) ? Promise.resolve() : change('open', [path], work)
  return {
    writeFile: (path, content, options) => put(path, () => files.writeFile(path, encoded(content, options))),
    appendFile: (path, content, options) => put(path, () => files.appendFile(path, encoded(content, options))),
    mkdir: (path, options) => trusted(() => files.mkdir(path, { recursive: options?.recursive ?? false })),
    rm: (path, options) =>
      change('rm', [path], () =>
        files.rm(path, { recursive: options?.recursive ?? false, force: options?.force ?? false }),
      ),
    mv: (from, to) => change('rename', [from, to], () => files.move(from, to)),
    cp: (from, to, options) =>
      change('cp', [from, to], async () => {
        if (options?.recursive !== true && (await files.stat(from)).kind === 'dir')
          throw fileError('EISDIR', { syscall: 'cp', path: from, dest: to })
        await files.copy(from, to)
      }),
    // Contents are shared anyway; that a later write shows at both names is not promised.
    link: (from, to) =>
      change('link', [from, to], async () => {
        if (await files.exists(to)) throw fileError('EEXIST', { syscall: 'link', path: from, dest: to })
        await files.copy(from, to)
      }),
    symlink: (target, path) => change('symlink', [path], () => files.symlink(target, path)),
    chmod: (path, mode) => change('chmod', [path], () => files.chmod(path, mode)),
    // A file's time is that of the step that changed it, and nobody's to set.
    utimes: (path) =>
      trusted(async () => {
        if (!isOurs(path) && !(await files.exists(path))) throw fileError('ENOENT', { syscall: 'utime', path })
      }),
  }
}

async function entriesOf(files: Files, path: string) {
  const names = await files.readdir(path)
  return Promise.all(
    names.map(async (name) => {
      const { kind } = await files.lstat(posix.join(path, name))
      return { name, isFile: kind === 'file', isDirectory: kind === 'dir', isSymbolicLink: kind === 'link' }
    }),
  )
}

function toStat({ kind, size, mode, at }: FileStat): FsStat {
  return {
    isFile: kind === 'file',
    isDirectory: kind === 'dir',
    isSymbolicLink: kind === 'link',
    size,
    mode,
    mtime: new Date(at),
  }
}

function ownStat(isDirectory: boolean): FsStat {
  return { isFile: !isDirectory, isDirectory, isSymbolicLink: false, size: 0, mode: 0o755, mtime: new Date(0) }
}

function encoded(content: string | Uint8Array, options: Encoding): Uint8Array {
  return typeof content === 'string' ? Buffer.from(content, nodeEncoding(options)) : content
}

function nodeEncoding(options: Encoding): 'utf8' | 'ascii' | 'latin1' | 'base64' | 'hex' {
  const named = typeof options === 'string' ? options : (options?.encoding ?? 'utf8')
  if (named === 'binary') return 'latin1'
  return named === 'utf-8' ? 'utf8' : named
}
