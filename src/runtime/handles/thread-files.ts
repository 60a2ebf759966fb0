/**
 * A thread's files from outside its calls: read as they are now, changed by a command, so that every change is a
 * record among the thread's own.
 *
 * - A write is durable when its promise resolves, and applies at once, also while a step runs: calls that have read
 *   what it changes and may run again do so.
 * - Concurrent writes, here or in another process, are applied one after the other: none is lost.
 * - A read costs what has changed since the last one.
 * - A snapshot shows one instant for ever and is read-only.
 */
import type { Backend } from '../../backend/port.js'
import type { Command } from '../../core/records/command.js'
import type { FileChange, FileRead } from '../../core/records/change.js'
import { SkeinError } from '../../core/failure.js'
import { checkOptions } from '../../core/options.js'
import { emptyTree } from '../../core/tree.js'
import type { DirNode } from '../../core/tree.js'
import { fileError } from '../../files/error.js'
import type { FileOperation } from '../../files/error.js'
import type { Files } from '../../files/port.js'
import { openWorkingCopy, readersOf } from '../../files/opened-later.js'
import type { Reading } from '../../files/opened-later.js'
import { createTreeSource } from '../../files/tree-source.js'
import type { loadVolume } from '../../files/volume.js'
import type { WorkingCopy } from '../../files/working-copy.js'
import { sendCommand } from './send-command.js'
import type { ThreadServices } from './services.js'
import type { StateWaker } from '../journal/wake.js'
import { pointSchema } from './travel/points.js'
import type { Point } from './travel/points.js'

/** Writers in other processes may win again and again, but not that often. */
const mostTries = 50

/** A thread's files from outside. */
export interface ThreadFiles extends Files {
  /** The files as they are now, to be read: every answer is of this one instant, and costs no look at the thread. */
  snapshot(): Promise<Files>
  /** The files as they were at a point, to be read. */
  at(point: Point): Promise<Files>
}

export function createThreadFiles(services: ThreadServices, thread: string, waker: StateWaker): ThreadFiles {
  const { backend, clock, random } = services
  const wakeFiles = (): Promise<DirNode> => waker.look(({ files }) => files)
  const copyOf = (tree: DirNode): Promise<WorkingCopy> =>
    openWorkingCopy(async () => createTreeSource({ tree, at: clock.now(), quotaBytes: Infinity, blobs: backend.blobs }))
  /** Read-only copies, shared by all readers of the same instant. */
  const copies = new WeakMap<DirNode, Files>()
  async function now(): Promise<Files> {
    const tree = await wakeFiles()
    const files = copies.get(tree) ?? (await copyOf(tree)).files
    copies.set(tree, files)
    return files
  }
  /** Optimistic: where what it read has changed before the command arrives, the work is done again. */
  const change: Change = async (work) => {
    let before: readonly FileChange[] | undefined
    for (let tries = 1; ; tries++) {
      const copy = await copyOf(await wakeFiles())
      const value = await work(copy.files, before)
      const { changes, reads } = await store(services, copy)
      before = changes
      if (changes.length === 0) return value
      try {
        const { seq } = await sendCommand(backend, clock, {
          thread,
          id: random.id(),
          command: { kind: 'change', changes: { files: changes }, reads },
        })
        waker.wrote(seq)
        return value
      } catch (thrown) {
        if (tries === mostTries || !SkeinError.is(thrown) || thrown.data?.['stale'] !== true) throw thrown
      }
    }
  }
  const files: Files = {
    ...readersOf(now),
    ...writers(change),
    // The caller's stream can be read only once: a second attempt reads the blob that the first one stored.
    writeStream: (path, content, options) =>
      change((each, before) => each.writeStream(path, streamOf(backend, before) ?? content, options), {
        syscall: 'open',
        path,
      }),
    volume: async (path) => volumeOf(files, path, await now()),
  }
  return {
    ...files,
    snapshot: async () => frozen(await now()),
    async at(point) {
      const checked = checkOptions(pointSchema(), point, 'files.at')
      const { stateAtPoint } = await import('./travel/diff.js')
      const { files: then } = await stateAtPoint(backend, thread, checked)
      return frozen((await copyOf(then)).files)
    },
  }
}

async function volumeOf(...given: Parameters<typeof loadVolume>): ReturnType<typeof loadVolume> {
  const volume = await import('../../files/volume.js')
  return volume.loadVolume(...given)
}

function frozen(then: Files): Files {
  const snapshot: Files = {
    ...readersOf(async () => then),
    ...writers(refuse),
    volume: (path) => volumeOf(snapshot, path),
  }
  return snapshot
}

type Writing = Exclude<keyof Files, Reading | 'volume'>

/** `before`: the changes of an attempt that came too late. */
type Work<Value> = (files: Files, before?: readonly FileChange[]) => Promise<Value>
type Change = <Value>(work: Work<Value>, doing: FileOperation) => Promise<Value>

function writers(change: Change): Pick<Files, Writing> {
  return {
    writeFile: (path, ...rest) => change((files) => files.writeFile(path, ...rest), { syscall: 'open', path }),
    appendFile: (path, content) => change((files) => files.appendFile(path, content), { syscall: 'open', path }),
    writeStream: (path, ...rest) => change((files) => files.writeStream(path, ...rest), { syscall: 'open', path }),
    mkdir: (path, options) => change((files) => files.mkdir(path, options), { syscall: 'mkdir', path }),
    rm: (path, options) => change((files) => files.rm(path, options), { syscall: 'rm', path }),
    move: (path, dest) => change((files) => files.move(path, dest), { syscall: 'rename', path, dest }),
    copy: (path, dest) => change((files) => files.copy(path, dest), { syscall: 'copyfile', path, dest }),
    symlink: (target, path) => change((files) => files.symlink(target, path), { syscall: 'symlink', path }),
    chmod: (path, mode) => change((files) => files.chmod(path, mode), { syscall: 'chmod', path }),
  }
}

const refuse: Change = async (_, doing) => {
  throw fileError('EROFS', doing, "this is a snapshot; change the thread's files themselves")
}

function streamOf({ blobs }: Backend, changes: readonly FileChange[] = []): AsyncIterable<Uint8Array> | undefined {
  const file = changes.find((change) => change.op === 'file')
  return file && blobs.get(file.hash)
}

/** The changes of a working copy, their contents stored. */
async function store(
  { backend }: Pick<ThreadServices, 'backend'>,
  copy: WorkingCopy,
): Promise<{ changes: FileChange[]; reads: FileRead[] }> {
  const { changes, reads, contents } = await copy.done()
  await Promise.all([...contents.values()].map((bytes) => backend.blobs.put(bytes)))
  return { changes: [...changes], reads: [...reads] }
}

/** The files that a new thread begins with. */
export async function firstFiles(
  services: Pick<ThreadServices, 'backend' | 'clock'>,
  contents: Readonly<Record<string, string | Uint8Array>>,
): Promise<Extract<Command, { kind: 'change' }>['changes']> {
  const { backend, clock } = services
  const copy = await openWorkingCopy(async () =>
    createTreeSource({ tree: emptyTree, at: clock.now(), quotaBytes: Infinity, blobs: backend.blobs }),
  )
  for (const [path, content] of Object.entries(contents)) await copy.files.writeFile(path, content)
  return { files: (await store(services, copy)).changes }
}
