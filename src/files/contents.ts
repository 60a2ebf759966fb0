/**
 * Contents of files for a call: those that it wrote are kept until it ends, all others come from the source.
 *
 * - Bytes are copied on their way in and out: a body that changes them changes no file.
 * - Contents that were overwritten or removed are dropped when many have gathered, and are not part of the outcome.
 * - What is neither text nor bytes is refused, never converted.
 */
import { Buffer } from 'node:buffer'
import { createHash } from 'node:crypto'
import { types } from 'node:util'
import type { FileChange } from '../core/records/change.js'
import type { FileNode } from '../core/tree.js'
import { fileError } from './error.js'
import type { FileOperation } from './error.js'
import type { FileSource } from './port.js'

export interface Content {
  readonly hash: string
  readonly size: number
  /** Absent if the source has stored it. */
  readonly bytes?: Uint8Array
}

export interface Contents {
  keep(content: Content): void
  bytes(file: Pick<FileNode, 'hash'>): Promise<Uint8Array>
  /** In several chunks if it is large. */
  chunks(file: Pick<FileNode, 'hash' | 'size'>): AsyncIterable<Uint8Array>
  /** The bytes that these changes refer to and that are not stored yet. */
  named(changes: readonly FileChange[]): ReadonlyMap<string, Uint8Array>
}

/** Larger contents are streamed where possible. */
export const largeBytes = 2 ** 20
/** From so many bytes on, unused contents are dropped. */
const sweptBytes = 64 * largeBytes

/** `changes`: the changes so far, which tell which contents are still used. */
export function createContents(source: FileSource, changes: () => readonly FileChange[]): Contents {
  let kept = new Map<string, Uint8Array>()
  let keptBytes = 0
  let sweepAt = sweptBytes
  const named = (needed: readonly FileChange[]): Map<string, Uint8Array> => {
    const found = new Map<string, Uint8Array>()
    for (const change of needed) {
      const bytes = change.op === 'file' ? kept.get(change.hash) : undefined
      if (change.op === 'file' && bytes) found.set(change.hash, bytes)
    }
    return found
  }
  return {
    named,
    keep({ hash, bytes }) {
      if (!bytes || kept.has(hash)) return
      kept.set(hash, bytes)
      keptBytes += bytes.length
      if (keptBytes < sweepAt) return
      kept = named(changes())
      keptBytes = [...kept.values()].reduce((sum, { length }) => sum + length, 0)
      sweepAt = Math.max(sweptBytes, keptBytes * 2)
    },
    async bytes({ hash }) {
      const own = kept.get(hash)
      return own ? Uint8Array.from(own) : source.bytes(hash)
    },
    async *chunks({ hash, size }) {
      const own = kept.get(hash)
      if (own) yield Uint8Array.from(own)
      else if (size > largeBytes) yield* source.stream(hash)
      else yield await source.bytes(hash)
    },
  }
}

/** A content of bytes, copied. */
export function contentOf(value: string | Uint8Array, operation: FileOperation): Content {
  const bytes = bytesOf(value, operation)
  return { hash: createHash('sha256').update(bytes).digest('hex'), size: bytes.length, bytes }
}

function bytesOf(value: string | Uint8Array, operation: FileOperation): Uint8Array {
  return Uint8Array.from(bytesIn(value, operation, 'content'))
}

/** Not copied. */
function bytesIn(value: string | Uint8Array, operation: FileOperation, what: string): Uint8Array {
  const wrong = noContent(value, what)
  if (wrong !== undefined) throw fileError('EINVAL', operation, wrong)
  return typeof value === 'string' ? Buffer.from(value) : value
}

/** Why a value is not a content; undefined if it is one. */
export function noContent(value: unknown, what = 'content'): string | undefined {
  return typeof value === 'string' || types.isUint8Array(value)
    ? undefined
    : `${what} must be a text or bytes (Uint8Array); it is ${describe(value)}`
}

/** What a value is, and what its author may have meant. */
function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value)
  if (typeof value === 'string' || types.isUint8Array(value)) return 'a text or bytes (writeFile takes them)'
  if (typeof value === 'object') {
    if (types.isPromise(value)) return 'a Promise (await it?)'
    if (types.isAnyArrayBuffer(value)) return 'an ArrayBuffer (new Uint8Array of it?)'
    if (types.isDate(value)) return 'a Date'
    if (types.isArrayBufferView(value)) return `a ${value.constructor.name}`
    return `${Array.isArray(value) ? 'an array' : 'an object'} (JSON.stringify it?)`
  }
  return `a ${typeof value}${typeof value === 'function' || typeof value === 'symbol' ? '' : ' (String of it?)'}`
}

interface Gathering {
  readonly operation: FileOperation
  /** Called with the bytes so far; it may throw. */
  readonly onGrowth: (bytes: number) => void
}

/** Stores a content while it arrives, unless it turns out to be small. */
export async function gather(
  source: FileSource,
  content: AsyncIterable<string | Uint8Array>,
  { operation, onGrowth }: Gathering,
): Promise<Content> {
  if (!isIterable(content))
    throw fileError(
      'EINVAL',
      operation,
      `content must be an async iterable of texts or bytes; it is ${describe(content)}`,
    )
  const first: Uint8Array[] = []
  let size = 0
  let isLarge = false
  let copy = new Uint8Array()
  const parts = (async function* () {
    for await (const part of content) {
      const bytes = bytesIn(part, operation, 'each part of the content')
      size += bytes.length
      onGrowth(size)
      // Parts of a large content follow each other through one copy: memory that is new takes several times as long to
      // fill, and whoever stores a stream has done with a part when it asks for the next.
      if (!isLarge || copy.length < bytes.length) copy = new Uint8Array(bytes.length)
      copy.set(bytes)
      yield copy.subarray(0, bytes.length)
    }
  })()
  while (size <= largeBytes) {
    const part = await parts.next()
    if (part.done) return contentOf(Buffer.concat(first), operation)
    first.push(part.value)
  }
  isLarge = true
  copy = new Uint8Array() // the last one is still to be stored
  const whole = (async function* () {
    yield* first
    yield* parts
  })()
  return source.store(whole)
}

function isIterable(content: unknown): boolean {
  return (
    typeof content === 'object' &&
    content !== null &&
    (Symbol.asyncIterator in content || Symbol.iterator in content) &&
    !types.isUint8Array(content)
  )
}
