/**
 * What differs between two threads, or two points of one: messages, files and values. Both sides are folded; nothing
 * is written.
 *
 * - Messages have a common beginning, by id and content; after it each side has its own.
 * - Files are compared by hash; a patch is made only where it is asked for, of texts that are not too long.
 */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { ThreadState } from '../../../../actors/thread/state.js'
import type { Backend, Blobs } from '../../../backend/port.js'
import { defined } from '../../../core/defined.js'
import type { Json } from '../../../core/json.js'
import { checkOptions } from '../../../core/options.js'
import type { Message } from '../../../core/records/message.js'
import { sortedEntries } from '../../../core/tree.js'
import type { DirNode } from '../../../core/tree.js'
import { foldTo } from '../../journal/wake.js'
import { messagesOf } from '../../watch/projection.js'
import { threadMissing } from '../services.js'
import { pointSchema, seqAt } from './points.js'
import type { Point } from './points.js'
import { lazy } from '../../../core/schema.js'

/** A thread as it is now, or as it was. */
export type ThreadAt = string | { readonly thread: string; readonly at?: Point }

export interface DiffOptions {
  /** Default: all of them. */
  readonly of?: readonly ('messages' | 'files' | 'values')[]
  /** Changed text files with a patch. Default false. */
  readonly patches?: boolean
}

export interface FileDifference {
  readonly path: string
  /** `changed`: other bytes, another mode, or a link to elsewhere. */
  readonly change: 'added' | 'removed' | 'changed'
  readonly sizes: { readonly a?: number; readonly b?: number }
  /** A unified patch from `a` to `b`; absent of bytes that are no text, or of too many. */
  readonly patch?: string
}

export interface ValueDifference {
  /** `kv/<key>`, `context/<tool>`, `shared` or `schedules`. */
  readonly key: string
  readonly a?: Json
  readonly b?: Json
}

export interface ThreadDiff {
  readonly a: { readonly thread: string; readonly seq: number }
  readonly b: { readonly thread: string; readonly seq: number }
  /** Messages that both begin with, and those that each has after them. */
  readonly messages?: { readonly common: number; readonly a: readonly Message[]; readonly b: readonly Message[] }
  readonly files?: readonly FileDifference[]
  readonly values?: readonly ValueDifference[]
}

const sideSchema = lazy(() =>
  z.union([z.string().min(1), z.strictObject({ thread: z.string().min(1), at: pointSchema().optional() })]),
)
const optionsSchema = lazy(() =>
  z.strictObject({
    of: z.array(z.enum(['messages', 'files', 'values'])).optional(),
    patches: z.boolean().optional(),
  }),
)

const longestPatched = 256 * 1024

export async function diffThreads(
  backend: Backend,
  sides: { readonly a: ThreadAt; readonly b: ThreadAt },
  options: DiffOptions = {},
): Promise<ThreadDiff> {
  const { of = ['messages', 'files', 'values'], patches = false } = checkOptions(optionsSchema(), options, 'diff')
  const [a, b] = [await stateAt(backend, sides.a), await stateAt(backend, sides.b)]
  return {
    a: { thread: a.id, seq: a.seq },
    b: { thread: b.id, seq: b.seq },
    ...(of.includes('messages') && { messages: diffMessages(messagesOf(a), messagesOf(b)) }),
    ...(of.includes('files') && { files: await diffFiles(backend.blobs, [a.files, b.files], patches) }),
    ...(of.includes('values') && { values: diffValues(a, b) }),
  }
}

async function stateAt(backend: Backend, side: ThreadAt): Promise<ThreadState> {
  const checked = checkOptions(sideSchema(), side, 'diff')
  const { thread, at } = typeof checked === 'string' ? { thread: checked } : { at: undefined, ...checked }
  return stateAtPoint(backend, thread, at)
}

/** The whole state of a thread at a point. */
export async function stateAtPoint(backend: Backend, thread: string, at: Point | undefined): Promise<ThreadState> {
  const seq = at && seqAt({ thread, entries: await backend.journal.read(thread) }, at)
  const state = await foldTo(backend, thread, seq)
  if (state.seq === 0 && (await backend.heads.get(thread)) === undefined) threadMissing(thread)
  return state
}

function diffMessages(a: readonly Message[], b: readonly Message[]): NonNullable<ThreadDiff['messages']> {
  let common = 0
  while (common < a.length && common < b.length && isDeepStrictEqual(a[common], b[common])) common++
  return { common, a: a.slice(common), b: b.slice(common) }
}

type Leaf = { readonly token: string; readonly size?: number; readonly hash?: string }

function leavesOf(tree: DirNode, path = '', found = new Map<string, Leaf>()): Map<string, Leaf> {
  for (const [name, node] of sortedEntries(tree.entries)) {
    const at = `${path}/${name}`
    if (node.kind === 'dir') leavesOf(node, at, found)
    else if (node.kind === 'link') found.set(at, { token: `link ${node.target}` })
    else found.set(at, { token: `${node.hash} ${node.mode}`, size: node.size, hash: node.hash })
  }
  return found
}

async function diffFiles(
  blobs: Blobs,
  trees: readonly [DirNode, DirNode],
  patches: boolean,
): Promise<readonly FileDifference[]> {
  const [a, b] = [leavesOf(trees[0]), leavesOf(trees[1])]
  const differences: FileDifference[] = []
  for (const path of [...new Set([...a.keys(), ...b.keys()])].toSorted()) {
    const [before, after] = [a.get(path), b.get(path)]
    if (before?.token === after?.token) continue
    const patch = patches ? await patchOf(blobs, path, [before, after]) : undefined
    differences.push({
      path,
      change: changeOf(before, after),
      sizes: defined({ a: before?.size, b: after?.size }),
      ...defined({ patch }),
    })
  }
  return differences
}

function changeOf(before: Leaf | undefined, after: Leaf | undefined): FileDifference['change'] {
  if (!before) return 'added'
  return after ? 'changed' : 'removed'
}

async function patchOf(blobs: Blobs, path: string, leaves: readonly (Leaf | undefined)[]): Promise<string | undefined> {
  const texts: string[] = []
  for (const leaf of leaves) {
    const text = leaf ? await textOf(blobs, leaf) : ''
    if (text === undefined) return undefined
    texts.push(text)
  }
  const { createTwoFilesPatch } = await import('diff') // who compares no files needs it never
  // Of texts that have little in common there is no patch: finding the shortest takes the square of their length.
  return createTwoFilesPatch(`a${path}`, `b${path}`, texts[0] ?? '', texts[1] ?? '', '', '', { maxEditLength: 2_000 })
}

/** Undefined where it is no text, or too long. */
async function textOf(blobs: Blobs, { hash, size = 0 }: Leaf): Promise<string | undefined> {
  if (hash === undefined || size > longestPatched) return undefined
  const chunks: Uint8Array[] = []
  for await (const chunk of blobs.get(hash)) chunks.push(chunk)
  const bytes = Buffer.concat(chunks)
  const text = bytes.toString('utf8')
  return text.includes('\0') || !Buffer.from(text).equals(bytes) ? undefined : text
}

/** Which blob has the rest of a long result is no value of the thread's own. */
const isShown = (key: string): boolean => !key.startsWith('archive/')

function diffValues({ values: a }: ThreadState, { values: b }: ThreadState): readonly ValueDifference[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])]
    .filter(isShown)
    .toSorted()
    .flatMap((key): ValueDifference[] => {
      const [before, after] = [a[key]?.value, b[key]?.value]
      return isDeepStrictEqual(before, after) ? [] : [{ key, ...defined({ a: before, b: after }) }]
    })
}
