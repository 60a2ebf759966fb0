/**
 * A call's working copy of its thread's files: reads of the body are recorded, writes are collected for its outcome.
 *
 * - The source is opened once, by the first file operation.
 * - After `done` every operation fails, also one that the body has started and not awaited.
 */
import { Buffer } from 'node:buffer'
import { defined } from '../core/defined.js'
import type { Changes, Reads } from '../core/records/change.js'
import type { FileNode } from '../core/tree.js'
import { contentOf, createContents, gather, largeBytes } from './contents.js'
import type { Content, Contents } from './contents.js'
import { fileError, isFileError } from './error.js'
import { checkFileOptions } from './options.js'
import { createReadWriteOrder } from './read-write-order.js'
import { checkLength, checkText, normalise } from './path.js'
import type { FileSource, FileStat, Files } from './port.js'
import { find, grep } from './search/search.js'
import { copy, move } from './transfer.js'
import { openOverlay } from './overlay.js'
import type { ResolvedPath, Overlay } from './overlay.js'
import { loadVolume } from './volume.js'

export interface WorkingCopy {
  readonly files: Files
  /** What the body read and changed; `contents` are the bytes of new files that are not stored yet, by hash. */
  done(): Promise<{
    readonly reads: NonNullable<Reads['files']>
    readonly changes: NonNullable<Changes['files']>
    readonly contents: ReadonlyMap<string, Uint8Array>
  }>
}

/** The files, once the source is opened. */
interface Opened {
  readonly overlay: Overlay
  readonly contents: Contents
}

type Run<Value> = (opened: Opened) => Promise<Value>
type Access = <Value>(run: Run<Value>) => Promise<Value>

export function createWorkingCopy(open: () => Promise<FileSource>): WorkingCopy {
  const order = createReadWriteOrder()
  let opening: Promise<Opened> | undefined
  let isDone = false
  const access = async <Value>(run: Run<Value>): Promise<Value> => {
    if (isDone)
      throw fileError(
        'EBADF',
        { syscall: 'open', path: '/' },
        'the call that these files belong to has ended; await every file operation before the tool returns',
      )
    opening ??= openFiles(open)
    return run(await opening)
  }
  const read: Access = (run) => order.read(() => access(run))
  const write: Access = (run) => order.write(() => access(run))
  const files: Files = {
    ...readers(read),
    ...writers(read, write),
    async find(glob, options) {
      checkFileOptions('find', options)
      return read(({ overlay }) => find(overlay, glob, options))
    },
    async grep(pattern, options) {
      checkFileOptions('grep', options)
      return read((opened) => grep(opened, pattern, options))
    },
    usage: () => read(({ overlay }) => overlay.usage()),
    volume: (path) => loadVolume(files, path),
  }
  return {
    files,
    done: () =>
      order.write(async () => {
        isDone = true
        if (!opening) return { reads: [], changes: [], contents: new Map() }
        const { overlay, contents } = await opening
        const changes = overlay.changes()
        return { reads: await overlay.reads(), changes, contents: contents.named(changes) }
      }),
  }
}

async function openFiles(open: () => Promise<FileSource>): Promise<Opened> {
  const overlay = await openOverlay(await open())
  return { overlay, contents: createContents(overlay.source, () => overlay.changes()) }
}

// ── reading ──

type Readers = Pick<
  Files,
  'readFile' | 'readStream' | 'stat' | 'lstat' | 'exists' | 'readdir' | 'readlink' | 'realpath'
>

function readers(read: Access): Readers {
  function readFile(path: string): Promise<Uint8Array>
  function readFile(path: string, encoding: 'utf8'): Promise<string>
  async function readFile(path: string, encoding?: 'utf8'): Promise<Uint8Array | string> {
    checkFileOptions('readFile', encoding)
    const bytes = await read(async ({ overlay, contents }) => contents.bytes(await fileAt(overlay, path)))
    return encoding === undefined
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding)
  }
  return {
    readFile,
    async *readStream(path) {
      // Only the lookup takes its turn among the operations: a content itself never changes.
      yield* await read(async ({ overlay, contents }) => contents.chunks(await fileAt(overlay, path)))
    },
    stat: (path) => read(({ overlay }) => statOf(overlay, path, 'follow')),
    lstat: (path) => read(({ overlay }) => statOf(overlay, path, 'keep')),
    exists: (path) => read(({ overlay }) => exists(overlay, path)),
    readdir: (path) =>
      read(async ({ overlay }) => {
        const resolved = await overlay.walk(path, { syscall: 'scandir', last: 'follow' })
        if (resolved.node?.kind !== 'dir') throw wrongKind(overlay, resolved, { syscall: 'scandir', path })
        return (await overlay.list(resolved)).map((child) => child.path.slice(child.path.lastIndexOf('/') + 1))
      }),
    readlink: (path) =>
      read(async ({ overlay }) => {
        const resolved = await overlay.walk(path, { syscall: 'readlink', last: 'keep' })
        overlay.saw(resolved, 'kind')
        if (resolved.node?.kind === 'link') return resolved.node.target
        throw fileError(resolved.node ? 'EINVAL' : 'ENOENT', { syscall: 'readlink', path: normalise(path, 'readlink') })
      }),
    realpath: (path) =>
      read(async ({ overlay }) => {
        const resolved = await overlay.walk(path, { syscall: 'realpath', last: 'follow' })
        overlay.saw(resolved, 'kind')
        if (!resolved.node) throw fileError('ENOENT', { syscall: 'realpath', path: normalise(path, 'realpath') })
        return resolved.path
      }),
  }
}

/** The error for a node of the wrong kind, or for none. */
function wrongKind(
  overlay: Overlay,
  resolved: ResolvedPath,
  { syscall, path }: { syscall: string; path: string },
): Error {
  overlay.saw(resolved, 'kind')
  const wrong = resolved.node?.kind === 'dir' ? 'EISDIR' : 'ENOTDIR'
  return fileError(resolved.node ? wrong : 'ENOENT', { syscall, path: normalise(path, syscall) })
}

async function fileAt(overlay: Overlay, path: string): Promise<FileNode> {
  const resolved = await overlay.walk(path, { syscall: 'open', last: 'follow' })
  if (resolved.node?.kind !== 'file') throw wrongKind(overlay, resolved, { syscall: 'open', path })
  // Not `sawNode`: the content of an own file does not depend on the mode it inherited.
  overlay.saw(resolved, 'node')
  return resolved.node
}

async function statOf(overlay: Overlay, path: string, last: 'follow' | 'keep'): Promise<FileStat> {
  const syscall = last === 'follow' ? 'stat' : 'lstat'
  const resolved = await overlay.walk(path, { syscall, last })
  overlay.sawNode(resolved)
  const { node } = resolved
  switch (node?.kind) {
    case undefined:
      throw fileError('ENOENT', { syscall, path: normalise(path, syscall) })
    case 'file':
      return { kind: 'file', size: node.size, mode: node.mode, at: node.at }
    case 'dir':
      return { kind: 'dir', size: 0, mode: node.mode, at: node.at }
    case 'link':
      return { kind: 'link', size: Buffer.byteLength(node.target), mode: 0o777, at: node.at }
  }
}

async function exists(overlay: Overlay, path: string): Promise<boolean> {
  try {
    const resolved = await overlay.walk(path, { syscall: 'access', last: 'follow' })
    overlay.saw(resolved, 'kind')
    return resolved.node !== undefined
  } catch (error) {
    if (isFileError(error)) return false
    throw error
  }
}

// ── writing ──

type Writers = Pick<
  Files,
  'writeFile' | 'appendFile' | 'writeStream' | 'mkdir' | 'rm' | 'move' | 'copy' | 'symlink' | 'chmod'
>

function writers(read: Access, write: Access): Writers {
  return {
    async writeFile(path, value, options = {}) {
      checkFileOptions('writeFile', options)
      const { mode } = options === 'utf8' ? {} : options
      const content = contentOf(value, { syscall: 'write', path: normalise(path, 'open') }) // Copied before it waits
      await write((opened) => put(opened, path, { ...content, mode }))
    },
    async appendFile(path, value) {
      const end = contentOf(value, { syscall: 'write', path: normalise(path, 'open') })
      await write((opened) => append(opened, path, end))
    },
    async writeStream(path, value, options = {}) {
      checkFileOptions('writeStream', options)
      const { mode } = options
      // Gathered outside the order of operations: the content may itself be read from these files.
      const { overlay, quotaBytes } = await read(async (opened) => ({
        ...opened,
        ...(await opened.overlay.source.usage()),
      }))
      const operation = { syscall: 'write', path: normalise(path, 'open') }
      const onGrowth = (bytes: number): void => {
        if (bytes > quotaBytes)
          throw fileError('EDQUOT', operation, `the files of this thread may take ${quotaBytes} bytes`)
      }
      const content = await gather(overlay.source, value, { operation, onGrowth })
      await write((opened) => put(opened, path, { ...content, mode }))
    },
    async mkdir(path, options = {}) {
      checkFileOptions('mkdir', options)
      const { recursive = false, mode } = options
      await write(({ overlay }) => (recursive ? makeDirs(overlay, path, mode) : makeDir(overlay, path, mode)))
    },
    async rm(path, options) {
      checkFileOptions('rm', options)
      await write(({ overlay }) => remove(overlay, path, options))
    },
    move: (from, to) => write(({ overlay }) => move(overlay, from, to)),
    copy: (from, to) => write(({ overlay }) => copy(overlay, from, to)),
    symlink: (target, path) => write(({ overlay }) => link(overlay, target, path)),
    chmod: (path, mode) =>
      write(async ({ overlay }) => {
        const resolved = await overlay.walk(path, { syscall: 'chmod', last: 'follow' })
        overlay.saw(resolved, 'kind')
        if (!resolved.node) throw fileError('ENOENT', { syscall: 'chmod', path: normalise(path, 'chmod') })
        overlay.setMode(resolved, mode & 0o7777)
      }),
  }
}

async function put(
  { overlay, contents }: Opened,
  path: string,
  { bytes, hash, size, mode }: Content & { mode: number | undefined },
): Promise<void> {
  const resolved = await overlay.walk(path, { syscall: 'open', last: 'follow', make: true })
  if (resolved.node?.kind === 'dir') throw wrongKind(overlay, resolved, { syscall: 'open', path })
  await overlay.admit(size, resolved.node?.kind === 'file' ? resolved.node.size : 0, {
    syscall: 'write',
    path: normalise(path, 'write'),
  })
  if (!resolved.node) await overlay.admitNames(1, { syscall: 'open', path: normalise(path, 'open') })
  overlay.putFile(resolved, { hash, size, mode: mode === undefined ? undefined : mode & 0o7777 })
  contents.keep({ hash, size, ...defined({ bytes }) })
}

async function append(opened: Opened, path: string, end: Content): Promise<void> {
  const { overlay, contents } = opened
  const resolved = await overlay.walk(path, { syscall: 'open', last: 'follow', make: true })
  if (resolved.node?.kind === 'dir') throw wrongKind(overlay, resolved, { syscall: 'open', path })
  overlay.saw(resolved, resolved.node ? 'node' : 'kind')
  if (resolved.node?.kind !== 'file') return put(opened, path, { ...end, mode: undefined })
  const { node } = resolved
  const added = end.bytes ?? new Uint8Array()
  const operation = { syscall: 'write', path: normalise(path, 'write') }
  await overlay.admit(node.size + added.length, node.size, operation)
  const parts = async function* (): AsyncGenerator<Uint8Array> {
    yield* contents.chunks(node)
    yield added
  }
  const isLarge = node.size + added.length > largeBytes
  const content = isLarge
    ? await overlay.source.store(parts())
    : contentOf(Buffer.concat([await contents.bytes(node), added]), operation)
  await put(opened, path, { ...content, mode: undefined })
}

async function makeDir(overlay: Overlay, path: string, mode: number | undefined): Promise<void> {
  const resolved = await overlay.walk(path, { syscall: 'mkdir', last: 'keep' })
  overlay.saw(resolved, 'kind')
  if (resolved.node) throw fileError('EEXIST', { syscall: 'mkdir', path: normalise(path, 'mkdir') })
  await overlay.admitNames(1, { syscall: 'mkdir', path: normalise(path, 'mkdir') })
  overlay.makeDir(resolved, mode)
}

async function makeDirs(overlay: Overlay, path: string, mode: number | undefined): Promise<void> {
  await overlay.admitNames(1, { syscall: 'mkdir', path: normalise(path, 'mkdir') })
  const named = await overlay.walk(path, { syscall: 'mkdir', last: 'keep', make: true })
  const resolved = named.node?.kind === 'link' ? await overlay.walk(path, { syscall: 'mkdir', last: 'follow' }) : named
  if (resolved.node?.kind === 'dir' || (resolved === named && !resolved.node))
    return void overlay.ensure(resolved, mode)
  overlay.saw(resolved, 'kind')
  throw fileError(resolved.node ? 'EEXIST' : 'ENOENT', { syscall: 'mkdir', path: normalise(path, 'mkdir') })
}

async function link(overlay: Overlay, target: string, path: string): Promise<void> {
  const operation = { syscall: 'symlink', path: target, dest: normalise(path, 'symlink') }
  checkText(target, operation)
  checkLength(target, operation)
  if (target === '') throw fileError('ENOENT', operation)
  const resolved = await overlay.walk(path, { syscall: 'symlink', last: 'keep', operation })
  overlay.saw(resolved, 'kind')
  if (resolved.node) throw fileError('EEXIST', operation)
  await overlay.admitNames(1, operation)
  overlay.putLink(resolved, target)
}

async function remove(
  overlay: Overlay,
  path: string,
  { recursive = false, force = false }: NonNullable<Parameters<Files['rm']>[1]> = {},
): Promise<void> {
  const operation = { syscall: 'rm', path: normalise(path, 'rm') }
  const resolved = await overlay.walk(path, { syscall: 'rm', last: 'keep' }).catch((error: unknown) => {
    if (force && isFileError(error) && error.code === 'ENOENT') return undefined
    throw error
  })
  if (!resolved) return
  if (resolved.path === '/')
    throw fileError('EBUSY', operation, 'the root of the files cannot be removed; remove what is in it')
  if (!force) overlay.saw(resolved, 'kind')
  if (!force && !resolved.node) throw fileError('ENOENT', operation)
  if (!recursive) {
    overlay.saw(resolved, 'slot')
    if (resolved.node?.kind === 'dir' && (await overlay.list(resolved)).length > 0)
      throw fileError('ENOTEMPTY', operation)
  }
  overlay.remove(resolved)
}
