/**
 * The mark of a local store, `skein.mark`: which commits and mails were acknowledged since the last checkpoint, in a
 * file beside the log. SQLite silently takes a damaged or cut log for a shorter one; with this file the loss is found.
 * Owns that file and `skein.lost`, where losses are noted until an operator removes it.
 *
 * - What was acknowledged is in the mark or in the database itself, whatever happens to the log. The mark has more than
 *   was acknowledged only when the process died in between.
 * - A line that is not byte for byte what was written is ignored.
 * - A store that had data and has none is refused before SQLite opens it: opening an empty file would delete its log.
 */
import {
  closeSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { SkeinError } from '../../../core/failure.js'
import { isObject } from '../../../core/json.js'
import { countCommits } from './log-file.js'

/** The last journal position and the last number of mail that a store has given. */
export interface MarkedPositions {
  readonly position: number
  readonly mail: number
}

export interface Loss {
  readonly commits: number
  readonly mails: number
  /** The threads that lost something, of those that were written since the last checkpoint. */
  readonly threads: readonly string[]
}

const nothing: MarkedPositions = { position: 0, mail: 0 }
const markFile = 'skein.mark'
const lostFile = 'skein.lost'

export class Mark {
  private readonly file: number
  private size = 0

  /** Overwrites the file: read it before (`lossOf`). */
  constructor(folder: string, at: MarkedPositions) {
    this.file = openSync(join(folder, markFile), 'w', 0o600)
    this.settle(at)
  }

  /** Everything up to here is in the database itself. */
  settle({ position, mail }: MarkedPositions): void {
    ftruncateSync(this.file, 0)
    this.size = 0
    this.write(line(`["at",${position},${mail}]`))
  }

  /** What could be written in part, on a disk that is full, is written over by the next lines. */
  write(lines: string): void {
    const bytes = Buffer.byteLength(lines)
    // As a text, which costs less than a buffer that is made of it.
    const written = writeSync(this.file, lines, this.size)
    if (written < bytes) this.writeRest(Buffer.from(lines).subarray(written), this.size + written)
    this.size += bytes
  }

  private writeRest(bytes: Uint8Array, at: number): void {
    for (let written = 0; written < bytes.length;)
      written += writeSync(this.file, bytes, written, bytes.length - written, at + written)
  }

  close(): void {
    closeSync(this.file)
  }
}

/** The line for a commit or a mail that is acknowledged. */
export function markNote(kind: 'commit' | 'mail', number: number, thread: string): string {
  return line(`["${kind}",${number},${JSON.stringify(thread)}]`)
}

/** A JSON list, with its sum. */
function line(text: string): string {
  return `${text} ${sum(text)}\n`
}

/** FNV-1a: enough to detect a damaged line. */
function sum(text: string): string {
  let value = 0x811c9dc5
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 0x01000193)
  return (value >>> 0).toString(36)
}

interface MarkContent {
  readonly at: MarkedPositions
  readonly commits: readonly (readonly [position: number, thread: string])[]
  readonly mails: readonly (readonly [number: number, thread: string])[]
}

function readMark(folder: string): MarkContent {
  let at = nothing
  const commits: [number, string][] = []
  const mails: [number, string][] = []
  for (const each of contentOf(join(folder, markFile)).split('\n')) {
    const end = each.lastIndexOf(' ')
    if (end < 0 || sum(each.slice(0, end)) !== each.slice(end + 1)) continue
    const words: unknown = JSON.parse(each.slice(0, end))
    if (!Array.isArray(words)) continue
    const [kind, number, thread] = words
    if (typeof number !== 'number') continue
    if (kind === 'at' && typeof thread === 'number') at = { position: number, mail: thread }
    else if (kind === 'commit' && typeof thread === 'string') commits.push([number, thread])
    else if (kind === 'mail' && typeof thread === 'string') mails.push([number, thread])
  }
  return { at, commits, mails }
}

function contentOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    if (isObject(thrown) && thrown['code'] === 'ENOENT') return ''
    throw thrown
  }
}

/** The last position and mail that were acknowledged, as far as the mark knows. */
export function markedHeights(folder: string): MarkedPositions {
  const { at, commits, mails } = readMark(folder)
  return {
    position: commits.reduce((most, [position]) => Math.max(most, position), at.position),
    mail: mails.reduce((most, [number]) => Math.max(most, number), at.mail),
  }
}

/** What was acknowledged and is not in the database; undefined when nothing is missing. */
export function lossOf(folder: string, found: MarkedPositions): Loss | undefined {
  const { commits, mails } = readMark(folder)
  const marked = markedHeights(folder)
  if (marked.position <= found.position && marked.mail <= found.mail) return undefined
  const lost = [
    ...commits.filter(([position]) => position > found.position),
    ...mails.filter(([number]) => number > found.mail),
  ]
  return {
    commits: Math.max(0, marked.position - found.position),
    mails: Math.max(0, marked.mail - found.mail),
    threads: [...new Set(lost.map(([, thread]) => thread))],
  }
}

export function lossText({ commits, mails, threads }: Loss): string {
  const what = [...(commits > 0 ? [`${commits} commits`] : []), ...(mails > 0 ? [`${mails} mails`] : [])].join(' and ')
  const whose =
    threads.length === 0
      ? ''
      : ` of ${threads.slice(0, 20).join(', ')}${threads.length > 20 ? ` and ${threads.length - 20} more threads` : ''}`
  return (
    `${what}${whose} were acknowledged and are gone: the log (skein.db-wal) was damaged or cut, or skein.db ` +
    `is an older copy`
  )
}

/** It is reported until the file is removed. */
export function noteLoss(folder: string, loss: Loss, at: number): void {
  writeFileSync(join(folder, lostFile), `${new Date(at).toISOString()} ${lossText(loss)}\n`, { flag: 'a', mode: 0o600 })
}

/** The noted losses, one line each. */
export function notedLosses(folder: string): readonly string[] {
  return contentOf(join(folder, lostFile))
    .split('\n')
    .filter((each) => each !== '')
}

export function refuseEmptied(folder: string): void {
  const database = statSync(join(folder, 'skein.db'), { throwIfNoEntry: false })
  if (database && database.size > 0) return
  const remains = [
    ...(countCommits(join(folder, 'skein.db-wal')).commits > 0 ? ['a log with commits (skein.db-wal)'] : []),
    ...(hasBlobs(folder) ? ['blobs'] : []),
    ...(markedHeights(folder).position > 0
      ? [`a mark of ${markedHeights(folder).position} commits (${markFile})`]
      : []),
  ]
  if (remains.length === 0) return
  throw new SkeinError(
    'JOURNAL_CORRUPT',
    `the store in ${folder} has lost its database: skein.db is ${database ? 'empty' : 'not there'}, and there is ` +
      `${remains.join(', ')}. Nothing was changed. Put skein.db (and skein.db-wal) back from a back-up; to begin ` +
      `anew, move what is in the folder away or name another one.`,
    { data: { folder, database: database ? 'empty' : 'missing' } },
  )
}

function hasBlobs(folder: string): boolean {
  try {
    return readdirSync(join(folder, 'blobs')).some(
      (name) => name.length === 2 && readdirSync(join(folder, 'blobs', name)).length > 0,
    )
  } catch (thrown) {
    if (isObject(thrown) && (thrown['code'] === 'ENOENT' || thrown['code'] === 'ENOTDIR')) return false
    throw thrown
  }
}
