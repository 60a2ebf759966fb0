/**
 * A thread's files from outside its calls: read as they are now, changed by a command, so that every change is in the
 * journal, in its place among the thread's own.
 *
 * TF1 What is written is durable when the promise resolves, and applies at once, also while a step runs: calls that have
 *     read it and may run again do so.
 * TF2 Two changes at once, here or in another process, are one after the other: none is lost.
 */
import type { Command } from '../core/command.js'
import type { FileChange, FileRead } from '../core/change.js'
import { isSkeinError } from '../core/failure.js'
import { emptyTree } from '../core/tree.js'
import type { Files } from '../files/port.js'
import { createTreeSource } from '../files/tree-source.js'
import { loadVolume } from '../files/volume.js'
import { createWorkingCopy } from '../files/working-copy.js'
import type { WorkingCopy } from '../files/working-copy.js'
import { post } from './post.js'
import type { ThreadMeans } from './thread.js'
import { wake } from './wake.js'

/** Others may always be faster; not that often. */
const mostTries = 50

export function createThreadFiles(means: ThreadMeans, thread: string): Files {
  const { backend, clock, chance } = means
  const copyNow = (): WorkingCopy =>
    createWorkingCopy(async () => {
      const { state } = await wake(backend, thread)
      return createTreeSource({ tree: state.files, at: clock.now(), quotaBytes: Infinity, blobs: backend.blobs })
    })
  /** What was read may have changed before the change arrives: then it is done again (TF2). */
  async function using<Value>(work: (files: Files) => Promise<Value>): Promise<Value> {
    for (let tries = 1; ; tries++) {
      const copy = copyNow()
      const value = await work(copy.files)
      const { changes, reads } = await stored(means, copy)
      if (changes.length === 0) return value
      try {
        await post(backend, clock, { thread, id: chance.id(), command: { kind: 'change', changes: { files: changes }, reads } })
        return value
      } catch (thrown) {
        if (tries === mostTries || !isSkeinError(thrown) || thrown.data?.['stale'] !== true) throw thrown
      }
    }
  }
  function readFile(path: string): Promise<Uint8Array>
  function readFile(path: string, encoding: 'utf8'): Promise<string>
  function readFile(path: string, encoding?: 'utf8'): Promise<Uint8Array | string> {
    return using<Uint8Array | string>((files) => (encoding ? files.readFile(path, encoding) : files.readFile(path)))
  }
  const threadFiles: Files = {
    readFile,
    writeFile: (...args) => using((files) => files.writeFile(...args)),
    appendFile: (...args) => using((files) => files.appendFile(...args)),
    readStream: (path) => copyNow().files.readStream(path),
    writeStream: (...args) => using((files) => files.writeStream(...args)),
    stat: (path) => using((files) => files.stat(path)),
    lstat: (path) => using((files) => files.lstat(path)),
    exists: (path) => using((files) => files.exists(path)),
    readdir: (path) => using((files) => files.readdir(path)),
    mkdir: (...args) => using((files) => files.mkdir(...args)),
    rm: (...args) => using((files) => files.rm(...args)),
    move: (...args) => using((files) => files.move(...args)),
    copy: (...args) => using((files) => files.copy(...args)),
    symlink: (...args) => using((files) => files.symlink(...args)),
    readlink: (path) => using((files) => files.readlink(path)),
    realpath: (path) => using((files) => files.realpath(path)),
    chmod: (...args) => using((files) => files.chmod(...args)),
    grep: (...args) => using((files) => files.grep(...args)),
    find: (...args) => using((files) => files.find(...args)),
    usage: () => using((files) => files.usage()),
    volume: (path) => loadVolume(threadFiles, path),
  }
  return threadFiles
}

/** The changes of a working copy, their contents stored (CS3). */
async function stored({ backend }: Pick<ThreadMeans, 'backend'>, copy: WorkingCopy): Promise<{ changes: FileChange[]; reads: FileRead[] }> {
  const { changes, reads, contents } = await copy.done()
  await Promise.all([...contents.values()].map((bytes) => backend.blobs.put(bytes)))
  return { changes: [...changes], reads: [...reads] }
}

/** What a new thread begins with. */
export async function firstFiles(means: Pick<ThreadMeans, 'backend' | 'clock'>, given: Readonly<Record<string, string | Uint8Array>>): Promise<Extract<Command, { kind: 'change' }>['changes']> {
  const { backend, clock } = means
  const copy = createWorkingCopy(async () => createTreeSource({ tree: emptyTree, at: clock.now(), quotaBytes: Infinity, blobs: backend.blobs }))
  for (const [path, content] of Object.entries(given)) await copy.files.writeFile(path, content)
  return { files: (await stored(means, copy)).changes }
}
