/**
 * A thread's files as the virtual shell sees them.
 *
 * - Each operation reads no more of the thread's files than it needs, because the reads of a call decide whether it
 *   must run again (T3). Devices and directories of commands are not files of the thread.
 * - Errors have the code and the first word of Node's errors; commands derive their messages from them.
 * - Every operation runs trusted: the shell restricts globals for its own code, not for ours.
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

/** `commands` appear in the usual directories. */
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
    // `mv` and `cp` compare identities to detect that source and target are one file: a real path is one file.
    stat: async (path) => ({
      ...(await statOf(path, () => files.stat(path))),
      identity: await trusted(async () => (isOurs(path) ? path : files.realpath(path))),
    }),
    lstat: (path) => statOf(path, () => files.lstat(path)),
    readdir: (path) => trusted(async () => [...(await files.readdir(path))]),
    readdirWithFileTypes: (path) => trusted(() => entriesOf(files, path)),
    resolvePath: (base, path) => posix.resolve('/', base, path),
    // Only for synchronous callers; the others list directories.
    getAllPaths: () => [],
    readlink: (path) => trusted(() => files.readlink(path)),
    realpath: (path) => trusted(async () => (isOurs(path) ? path : files.realpath(path))),
  }
}

function changes(files: Files, isOurs: (path: string) => boolean): Omit<IFileSystem, Look> {
  /** Paths of the shell itself cannot be changed. */
  const change = (syscall: string, paths: readonly string[], work: () => Promise<void>): Promise<void> =>
    trusted(async () => {
      const path = paths.find(isOurs)
      if (path !== undefined) throw fileError('EBUSY', { syscall, path }, 'it belongs to the shell')
      await work()
    })
  /** Creates missing parents, unlike a real shell: here the error would end the whole script, not the command. */
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
    // A copy: a later write is not visible under both names.
    link: (from, to) =>
      change('link', [from, to], async () => {
        if (await files.exists(to)) throw fileError('EEXIST', { syscall: 'link', path: from, dest: to })
        await files.copy(from, to)
      }),
    symlink: (target, path) => change('symlink', [path], () => files.symlink(target, path)),
    chmod: (path, mode) => change('chmod', [path], () => files.chmod(path, mode)),
    // The time of a file is that of the step that changed it, and cannot be set.
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
