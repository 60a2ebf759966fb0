/**
 * The mark of a local store, `skein.mark`: which commits and mails were acknowledged since the last checkpoint, in a
 * file beside the log. Owns that file and `skein.lost`, where losses are noted until an operator removes it.
 *
 * - A commit that only goes on with a thread is in the mark as a whole when it is acknowledged, and in the tables a
 *   little later (writer.ts). Who opens the store after a crash writes it there (`unwrittenIn`).
 * - SQLite silently takes a damaged or cut log for a shorter one; with this file the loss is found.
 * - What was acknowledged is in the mark or in the database itself, whatever happens to the log. The mark has more than
 *   was acknowledged only when the process died in between.
 * - A line that is not byte for byte what was written is ignored.
 * - A store that had data and has none is refused before SQLite opens it: opening an empty file would delete its log.
 */
import {
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readdirSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { SkeinError } from '../../../core/failure.js'
import { isObject } from '../../../core/json.js'
import type { Commit, Head } from '../../port.js'
import type { Durability } from '../database/schema.js'
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
  private readonly durability: Durability
  private size = 0

  /** Overwrites the file: read it before (`lossOf`, `unwrittenIn`). */
  constructor(folder: string, durability: Durability, at: MarkedPositions) {
    this.file = openSync(join(folder, markFile), 'w', 0o600)
    this.durability = durability
    this.settle(at)
  }

  /** Everything up to here is in the database itself. */
  settle({ position, mail }: MarkedPositions): void {
    ftruncateSync(this.file, 0)
    this.size = 0
    this.write(line('at', position, mail))
  }

  write(lines: string): void {
    this.size += writeSync(this.file, lines, this.size)
  }

  /** What is durable by being here: all of it, or it throws and none is here. */
  log(lines: string): void {
    const bytes = Buffer.from(lines)
    try {
      for (let written = 0; written < bytes.length;)
        written += writeSync(this.file, bytes, written, bytes.length - written, this.size + written)
      if (this.durability === 'power') fdatasyncSync(this.file)
    } catch (thrown) {
      ftruncateSync(this.file, this.size)
      throw thrown
    }
    this.size += bytes.length
  }

  close(): void {
    closeSync(this.file)
  }
}

/** The line for a commit or a mail that is acknowledged. */
export function markNote(kind: 'commit' | 'mail', number: number, thread: string): string {
  return line(kind, number, thread)
}

/** The line for commits up to a position that are in the tables now. */
export function writtenNote(position: number): string {
  return line('written', position, '')
}

/** A commit as a whole, with its position. */
export interface LoggedCommit {
  readonly position: number
  readonly commit: LoggableCommit
}

/** One that only goes on with a thread that is there. */
export type LoggableCommit = Commit & Required<Pick<Commit, 'entry' | 'head'>>

/** The line for a commit that is not in the tables yet. */
export function loggedLine({ position, commit }: LoggedCommit): string {
  const { thread, expected, epoch, head, done, entry } = commit
  const words = JSON.stringify(['logged', position, thread, expected, epoch, entry.first, entry.count, done, head])
  // A body has no NUL, and the words have no tab.
  const text = `${words}\t${entry.hash}\t${entry.body.includes('\n') ? entry.body.replaceAll('\n', '\0') : entry.body}`
  return `${text} ${sum(text)}\n`
}

const loggedWords = z.tuple([
  z.literal('logged'),
  z.number(),
  z.string(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.array(z.number()),
  z.custom<Head>(isObject),
])

function readLogged(text: string): LoggedCommit {
  const [words = '', hash = '', ...rest] = text.split('\t')
  const [, position, thread, expected, epoch, first, count, done, head] = loggedWords.parse(JSON.parse(words))
  const body = rest.join('\t').replaceAll('\0', '\n')
  return { position, commit: { thread, expected, epoch, entry: { first, count, hash, body }, head, sends: [], done } }
}

function line(...words: readonly (string | number)[]): string {
  const text = JSON.stringify(words)
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
  /** The last commit that was in the tables, of those that were logged first. */
  readonly written: number
  readonly logged: readonly LoggedCommit[]
  readonly commits: readonly (readonly [position: number, thread: string])[]
  readonly mails: readonly (readonly [number: number, thread: string])[]
}

function readMark(folder: string): MarkContent {
  let at = nothing
  let written = 0
  const logged: LoggedCommit[] = []
  const commits: [number, string][] = []
  const mails: [number, string][] = []
  for (const each of contentOf(join(folder, markFile)).split('\n')) {
    const end = each.lastIndexOf(' ')
    if (end < 0 || sum(each.slice(0, end)) !== each.slice(end + 1)) continue
    if (each.startsWith('["logged",')) {
      logged.push(readLogged(each.slice(0, end)))
      continue
    }
    const words: unknown = JSON.parse(each.slice(0, end))
    if (!Array.isArray(words)) continue
    const [kind, number, thread] = words
    if (typeof number !== 'number') continue
    if (kind === 'at' && typeof thread === 'number') at = { position: number, mail: thread }
    else if (kind === 'written') written = number
    else if (kind === 'commit' && typeof thread === 'string') commits.push([number, thread])
    else if (kind === 'mail' && typeof thread === 'string') mails.push([number, thread])
  }
  return { at, written, logged, commits, mails }
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
  const { logged, ...content } = readMark(folder)
  const { position, mail } = writtenHeights(content)
  return { position: logged.reduce((most, each) => Math.max(most, each.position), position), mail }
}

/** The last ones that the tables had. */
function writtenHeights({ at, written, commits, mails }: Omit<MarkContent, 'logged'>): MarkedPositions {
  return {
    position: commits.reduce((most, [position]) => Math.max(most, position), Math.max(at.position, written)),
    mail: mails.reduce((most, [number]) => Math.max(most, number), at.mail),
  }
}

/**
 * Commits that were acknowledged and are not in the tables yet, in their order. None where the tables have lost some
 * that they had: what came after those does not fit.
 */
export function unwrittenIn(folder: string, found: MarkedPositions): readonly LoggedCommit[] {
  const { logged, ...content } = readMark(folder)
  const { position, mail } = writtenHeights(content)
  if (position > found.position || mail > found.mail) return []
  const left = logged.filter((each) => each.position > found.position)
  const hole = left.findIndex((each, index) => each.position !== found.position + index + 1)
  return hole < 0 ? left : left.slice(0, hole)
}

/** Whether the last owner may have left commits that the tables do not have. */
export function hasUnwritten(folder: string): boolean {
  const { logged, ...content } = readMark(folder)
  const { position } = writtenHeights(content)
  return logged.some((each) => each.position > position)
}

/** What was acknowledged and is not in the database; undefined when nothing is missing. */
export function lossOf(folder: string, found: MarkedPositions): Loss | undefined {
  const { commits, logged, mails } = readMark(folder)
  const marked = markedHeights(folder)
  if (marked.position <= found.position && marked.mail <= found.mail) return undefined
  const lost = [
    ...commits.filter(([position]) => position > found.position),
    ...logged.flatMap(({ position, commit }) =>
      position > found.position ? [[position, commit.thread] as const] : [],
    ),
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
