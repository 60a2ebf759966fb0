/**
 * Files of a thread outside of its calls. What works on them is loaded when somebody first reads or changes a file:
 * few processes do, besides bodies of tools. Owns nothing.
 */
import type { Files } from './port.js'
import type { createWorkingCopy, WorkingCopy } from './working-copy.js'

export async function openWorkingCopy(...given: Parameters<typeof createWorkingCopy>): Promise<WorkingCopy> {
  const copies = await import('./working-copy.js')
  return copies.createWorkingCopy(...given)
}

export type Reading =
  | 'readFile'
  | 'readStream'
  | 'stat'
  | 'lstat'
  | 'exists'
  | 'readdir'
  | 'readlink'
  | 'realpath'
  | 'grep'
  | 'find'
  | 'usage'

/** Each asks for the files when it is called. */
export function readersOf(now: () => Promise<Files>): Pick<Files, Reading> {
  function readFile(path: string): Promise<Uint8Array>
  function readFile(path: string, encoding: 'utf8'): Promise<string>
  async function readFile(path: string, encoding?: 'utf8'): Promise<Uint8Array | string> {
    const files = await now()
    return encoding ? files.readFile(path, encoding) : files.readFile(path)
  }
  return {
    readFile,
    async *readStream(path) {
      yield* (await now()).readStream(path)
    },
    stat: async (path) => (await now()).stat(path),
    lstat: async (path) => (await now()).lstat(path),
    exists: async (path) => (await now()).exists(path),
    readdir: async (path) => (await now()).readdir(path),
    readlink: async (path) => (await now()).readlink(path),
    realpath: async (path) => (await now()).realpath(path),
    grep: async (...args) => (await now()).grep(...args),
    find: async (...args) => (await now()).find(...args),
    usage: async () => (await now()).usage(),
  }
}
