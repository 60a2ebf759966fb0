/** The files of a thread over HTTP. Errors have the codes of Node, as in the local API. */
import { pointText } from '../core/point.js'
import type { FileStat, Files, Point } from '../index.js'
import { at } from './transport.js'
import type { Transport } from './transport.js'

/** Files to be read. */
export type RemoteFilesThen = Pick<
  Files,
  'readFile' | 'readStream' | 'stat' | 'lstat' | 'readlink' | 'realpath' | 'exists' | 'readdir' | 'usage'
>

export type RemoteFiles = RemoteFilesThen &
  Pick<Files, 'writeStream' | 'rm'> & {
    /** Makes the directories above it. */
    writeFile(path: string, content: string | Uint8Array): Promise<void>
    /** The files as they were at a point, to be read. */
    at(point: Point): Promise<RemoteFilesThen>
  }

type Address = (path: string) => string

export function createFiles(transport: Transport, thread: string): RemoteFiles {
  const base = at`/threads/${thread}/files/`
  const address: Address = (path) => base + resolved(path).map(encodeURIComponent).join('/')
  return {
    ...createReading(transport, address, {}),
    async at(point) {
      const then = createReading(transport, address, { at: pointText(point) })
      // A point that is not there is told at once, as in the local API.
      await then.usage()
      return then
    },
    writeFile: (path, content) =>
      transport.done(address(path), {
        method: 'PUT',
        bytes: typeof content === 'string' ? content : new Uint8Array(content),
      }),
    writeStream: (path, content, { mode } = {}) =>
      transport.done(address(path), { method: 'PUT', query: { mode }, bytes: toStream(content), again: false }),
    rm: (path, { recursive, force } = {}) =>
      transport.done(address(path), { method: 'DELETE', query: { recursive, force } }),
  }
}

type Then = { readonly at?: string }

function createReading(transport: Transport, address: Address, then: Then): RemoteFilesThen {
  const read = async (path: string): Promise<Response> => {
    // A directory would be listed, which is no content.
    const { kind } = await stat(path)
    if (kind === 'dir') throw fileError('EISDIR', `EISDIR: illegal operation on a directory, read '${path}'`)
    return transport.ask(address(path), { query: then })
  }
  const stat = (path: string): Promise<FileStat> => transport.json(address(path), { query: { stat: true, ...then } })
  function readFile(path: string): Promise<Uint8Array>
  function readFile(path: string, encoding: 'utf8'): Promise<string>
  async function readFile(path: string, encoding?: 'utf8'): Promise<Uint8Array | string> {
    const response = await read(path)
    return encoding ? response.text() : new Uint8Array(await response.arrayBuffer())
  }
  return {
    readFile,
    async *readStream(path) {
      const reader = (await read(path)).body?.getReader()
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true, value: undefined }
        if (done || !value) return
        yield value
      }
    },
    stat,
    ...createLinks(transport, address, then),
    usage: () => transport.json(address('/'), { query: { usage: true, ...then } }),
    exists: (path) =>
      stat(path).then(
        () => true,
        (thrown: unknown) => (isMissing(thrown) ? false : Promise.reject(thrown)),
      ),
    async readdir(path) {
      const listing = { query: { list: true, ...then } }
      const { entries } = await transport.json<{ entries: readonly { readonly name: string }[] }>(
        address(path),
        listing,
      )
      return entries.map(({ name }) => name)
    },
  }
}

function createLinks(
  transport: Transport,
  address: Address,
  then: Then,
): Pick<Files, 'lstat' | 'readlink' | 'realpath'> {
  const link = (path: string): Promise<FileStat & Link> =>
    transport.json(address(path), { query: { link: true, ...then } })
  return {
    async lstat(path) {
      const { target: _, real: __, ...rest } = await link(path)
      return rest
    },
    async readlink(path) {
      const { target } = await link(path)
      if (target !== undefined) return target
      throw fileError('EINVAL', `EINVAL: invalid argument, readlink '${path}'`)
    },
    async realpath(path) {
      const { real } = await link(path)
      if (real !== undefined) return real
      throw fileError('ENOENT', `ENOENT: no such file or directory, realpath '${path}'`)
    },
  }
}

interface Link {
  readonly target?: string
  readonly real?: string
}

/** Sent as it comes. */
function toStream(content: AsyncIterable<string | Uint8Array>): ReadableStream<Uint8Array> {
  const chunks = content[Symbol.asyncIterator]()
  const encoder = new TextEncoder()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (done) controller.close()
      else controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value)
    },
    async cancel() {
      await chunks.return?.()
    },
  })
}

function fileError(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && (thrown.code === 'ENOENT' || thrown.code === 'ENOTDIR')
}

/** `.` and `..` would be taken for parts of the address. */
function resolved(path: string): readonly string[] {
  const parts: string[] = []
  for (const each of path.split('/')) {
    if (each === '..') parts.pop()
    else if (each !== '' && each !== '.') parts.push(each)
  }
  return parts
}
