/** Heads, commits and blobs for tests of backends; a field that a test does not name has a plain value. */
import { createHash } from 'node:crypto'
import type { Commit, Head } from '../../src/backend/port.js'

export function head(thread: string, fields: Partial<Head> = {}): Head {
  return {
    agent: 'writer',
    status: 'idle',
    root: thread,
    path: ['writer'],
    tags: [],
    rest: true,
    createdAt: 1_767_225_600_123,
    updatedAt: 1_767_225_600_456,
    ...fields,
  }
}

export function commit(thread: string, expected: number, fields: Partial<Commit> = {}): Commit {
  return {
    thread,
    expected,
    epoch: 1,
    entry: { first: expected + 1, count: 1, body: `["${thread} ${expected + 1}"]`, hash: `h${expected + 1}` },
    head: head(thread),
    sends: [],
    done: [],
    ...fields,
  }
}

/** A commit that only finishes mail or sends, of a thread that does not exist. */
export function withoutRecords(thread: string, fields: Partial<Commit>): Commit {
  return { thread, expected: 0, epoch: 1, sends: [], done: [], ...fields }
}

export function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** A stream that fills the same buffer for each part, as a source may. */
export async function* streamOf(bytes: Uint8Array, ...lengths: readonly number[]): AsyncGenerator<Uint8Array> {
  const buffer = new Uint8Array(Math.max(bytes.length, 1))
  let at = 0
  for (const length of [...lengths, bytes.length]) {
    const part = bytes.subarray(at, at + length)
    at += part.length
    buffer.set(part)
    yield buffer.subarray(0, part.length)
  }
}

export async function bytesOf(stream: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of stream) parts.push(part)
  return Buffer.concat(parts)
}
