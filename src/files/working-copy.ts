/**
 * A call's working copy of its thread's files: what a body reads is noted, what it writes is kept for its outcome.
 *
 * - The source is opened when a file is first looked at, once.
 * - After `done` nothing is read or written any more: an operation that a body did not wait for fails.
 */
import { Buffer } from 'node:buffer'
import { defined } from '../core/defined.js'
import type { Changes, Reads } from '../core/records/change.js'
import type { FileNode } from '../core/tree.js'
import { contentOf, createContents, gather, largeBytes } from './contents.js'
import type { Content, Contents } from './contents.js'
import { fileError, isFileError } from './error.js'
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
  /** What the body saw and did; `contents` are the bytes of new files, by hash, that were not stored yet. */
  done(): Promise<{
    readonly reads: NonNullable<Reads['files']>
    readonly changes: NonNullable<Changes['files']>
    readonly contents: ReadonlyMap<string, Uint8Array>
  }>
}

/** What an operation works on. */
interface Opened {
  readonly view: Overlay
  readonly contents: Contents
}

type Run<Value> = (opened: Opened) => Promise<Value>
type Access = <Value>(run: Run<Value>) => Promise<Value>

/** `open` is asked when a file is first looked at, once. */
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
    find: (glob, options) => read(({ view }) => find(view, glob, options)),
    grep: (pattern, options) => read((opened) => grep(opened, pattern, options)),
    usage: () => read(({ view }) => view.usage()),
    volume: (path) => loadVolume(files, path),
  }
  return {
    files,
    done: () =>
      order.write(async () => {
        isDone = true
        if (!opening) return { reads: [], changes: [], contents: new Map() }
        const { view, contents } = await opening
        const changes = view.changes()
        return { reads: await view.reads(), changes, contents: contents.named(changes) }
      }),
  }
}

async function openFiles(open: () => Promise<FileSource>): Promise<Opened> {
  const view = await openOverlay(await open())
  return { view, contents: createContents(view.source, () => view.changes()) }
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
    const bytes = await read(async ({ view, contents }) => contents.bytes(await fileAt(view, path)))
    return encoding === undefined
      ? bytes
      : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(encoding)
  }
  return {
    readFile,
    async *readStream(path) {
      // Opened in its turn; a content that has been found does not change any more.
      yield* await read(async ({ view, contents }) => contents.chunks(await fileAt(view, path)))
    },
    stat: (path) => read(({ view }) => statOf(view, path, 'follow')),
    lstat: (path) => read(({ view }) => statOf(view, path, 'keep')),
    exists: (path) => read(({ view }) => exists(view, path)),
    readdir: (path) =>
      read(async ({ view }) => {
        const place = await view.walk(path, { syscall: 'scandir', last: 'follow' })
        if (place.node?.kind !== 'dir') throw wrongKind(view, place, { syscall: 'scandir', path })
        return (await view.list(place)).map((child) => child.path.slice(child.path.lastIndexOf('/') + 1))
      }),
    readlink: (path) =>
      read(async ({ view }) => {
        const place = await view.walk(path, { syscall: 'readlink', last: 'keep' })
        view.saw(place, 'kind')
        if (place.node?.kind === 'link') return place.node.target
        throw fileError(place.node ? 'EINVAL' : 'ENOENT', { syscall: 'readlink', path: normalise(path, 'readlink') })
      }),
    realpath: (path) =>
      read(async ({ view }) => {
        const place = await view.walk(path, { syscall: 'realpath', last: 'follow' })
        view.saw(place, 'kind')
        if (!place.node) throw fileError('ENOENT', { syscall: 'realpath', path: normalise(path, 'realpath') })
        return place.path
      }),
  }
}

/** The error of something that stands where a file or a directory should, or of nothing. */
function wrongKind(view: Overlay, place: ResolvedPath, { syscall, path }: { syscall: string; path: string }): Error {
  view.saw(place, 'kind')
  const wrong = place.node?.kind === 'dir' ? 'EISDIR' : 'ENOTDIR'
  return fileError(place.node ? wrong : 'ENOENT', { syscall, path: normalise(path, syscall) })
}

async function fileAt(view: Overlay, path: string): Promise<FileNode> {
  const place = await view.walk(path, { syscall: 'open', last: 'follow' })
  if (place.node?.kind !== 'file') throw wrongKind(view, place, { syscall: 'open', path })
  // The content alone: an own file has it, whatever its mode.
  view.saw(place, 'node')
  return place.node
}

async function statOf(view: Overlay, path: string, last: 'follow' | 'keep'): Promise<FileStat> {
  const syscall = last === 'follow' ? 'stat' : 'lstat'
  const place = await view.walk(path, { syscall, last })
  view.sawNode(place)
  const { node } = place
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

async function exists(view: Overlay, path: string): Promise<boolean> {
  try {
    const place = await view.walk(path, { syscall: 'access', last: 'follow' })
    view.saw(place, 'kind')
    return place.node !== undefined
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
    async writeFile(path, value, { mode } = {}) {
      const content = contentOf(value, { syscall: 'write', path: normalise(path, 'open') }) // As it is now
      await write((opened) => put(opened, path, { ...content, mode }))
    },
    async appendFile(path, value) {
      const end = contentOf(value, { syscall: 'write', path: normalise(path, 'open') })
      await write((opened) => append(opened, path, end))
    },
    async writeStream(path, value, { mode } = {}) {
      // The content may itself be read from here, so that nothing may wait for it.
      const { view, quotaBytes } = await read(async (opened) => ({ ...opened, ...(await opened.view.source.usage()) }))
      const doing = { syscall: 'write', path: normalise(path, 'open') }
      const grown = (bytes: number): void => {
        if (bytes > quotaBytes)
          throw fileError('EDQUOT', doing, `the files of this thread may take ${quotaBytes} bytes`)
      }
      const content = await gather(view.source, value, { doing, grown })
      await write((opened) => put(opened, path, { ...content, mode }))
    },
    mkdir: (path, { recursive = false, mode } = {}) =>
      write(({ view }) => (recursive ? makeDirs(view, path, mode) : makeDir(view, path, mode))),
    rm: (path, options) => write(({ view }) => remove(view, path, options)),
    move: (from, to) => write(({ view }) => move(view, from, to)),
    copy: (from, to) => write(({ view }) => copy(view, from, to)),
    symlink: (target, path) => write(({ view }) => link(view, target, path)),
    chmod: (path, mode) =>
      write(async ({ view }) => {
        const place = await view.walk(path, { syscall: 'chmod', last: 'follow' })
        view.saw(place, 'kind')
        if (!place.node) throw fileError('ENOENT', { syscall: 'chmod', path: normalise(path, 'chmod') })
        view.setMode(place, mode & 0o7777)
      }),
  }
}

async function put(
  { view, contents }: Opened,
  path: string,
  { bytes, hash, size, mode }: Content & { mode: number | undefined },
): Promise<void> {
  const place = await view.walk(path, { syscall: 'open', last: 'follow', make: true })
  if (place.node?.kind === 'dir') throw wrongKind(view, place, { syscall: 'open', path })
  await view.admit(size, place.node?.kind === 'file' ? place.node.size : 0, {
    syscall: 'write',
    path: normalise(path, 'write'),
  })
  if (!place.node) await view.admitNames(1, { syscall: 'open', path: normalise(path, 'open') })
  view.putFile(place, { hash, size, mode: mode === undefined ? undefined : mode & 0o7777 })
  contents.keep({ hash, size, ...defined({ bytes }) })
}

async function append(opened: Opened, path: string, end: Content): Promise<void> {
  const { view, contents } = opened
  const place = await view.walk(path, { syscall: 'open', last: 'follow', make: true })
  if (place.node?.kind === 'dir') throw wrongKind(view, place, { syscall: 'open', path })
  view.saw(place, place.node ? 'node' : 'kind')
  if (place.node?.kind !== 'file') return put(opened, path, { ...end, mode: undefined })
  const { node } = place
  const added = end.bytes ?? new Uint8Array()
  const doing = { syscall: 'write', path: normalise(path, 'write') }
  await view.admit(node.size + added.length, node.size, doing)
  const parts = async function* (): AsyncGenerator<Uint8Array> {
    yield* contents.chunks(node)
    yield added
  }
  const isLarge = node.size + added.length > largeBytes
  const content = isLarge
    ? await view.source.store(parts())
    : contentOf(Buffer.concat([await contents.bytes(node), added]), doing)
  await put(opened, path, { ...content, mode: undefined })
}

async function makeDir(view: Overlay, path: string, mode: number | undefined): Promise<void> {
  const place = await view.walk(path, { syscall: 'mkdir', last: 'keep' })
  view.saw(place, 'kind')
  if (place.node) throw fileError('EEXIST', { syscall: 'mkdir', path: normalise(path, 'mkdir') })
  await view.admitNames(1, { syscall: 'mkdir', path: normalise(path, 'mkdir') })
  view.makeDir(place, mode)
}

async function makeDirs(view: Overlay, path: string, mode: number | undefined): Promise<void> {
  await view.admitNames(1, { syscall: 'mkdir', path: normalise(path, 'mkdir') })
  const named = await view.walk(path, { syscall: 'mkdir', last: 'keep', make: true })
  const place = named.node?.kind === 'link' ? await view.walk(path, { syscall: 'mkdir', last: 'follow' }) : named
  if (place.node?.kind === 'dir' || (place === named && !place.node)) return void view.ensure(place, mode)
  view.saw(place, 'kind')
  throw fileError(place.node ? 'EEXIST' : 'ENOENT', { syscall: 'mkdir', path: normalise(path, 'mkdir') })
}

async function link(view: Overlay, target: string, path: string): Promise<void> {
  const doing = { syscall: 'symlink', path: target, dest: normalise(path, 'symlink') }
  checkText(target, doing)
  checkLength(target, doing)
  if (target === '') throw fileError('ENOENT', doing)
  const place = await view.walk(path, { syscall: 'symlink', last: 'keep', doing })
  view.saw(place, 'kind')
  if (place.node) throw fileError('EEXIST', doing)
  await view.admitNames(1, doing)
  view.putLink(place, target)
}

async function remove(
  view: Overlay,
  path: string,
  { recursive = false, force = false }: NonNullable<Parameters<Files['rm']>[1]> = {},
): Promise<void> {
  const doing = { syscall: 'rm', path: normalise(path, 'rm') }
  let place
  try {
    place = await view.walk(path, { syscall: 'rm', last: 'keep' })
  } catch (error) {
    if (force && isFileError(error) && error.code === 'ENOENT') return
    throw error
  }
  if (place.path === '/')
    throw fileError('EBUSY', doing, 'the root of the files cannot be removed; remove what is in it')
  if (!force) view.saw(place, 'kind')
  if (!force && !place.node) throw fileError('ENOENT', doing)
  if (!recursive) {
    view.saw(place, 'slot')
    if (place.node?.kind === 'dir' && (await view.list(place)).length > 0) throw fileError('ENOTEMPTY', doing)
  }
  view.remove(place)
}
