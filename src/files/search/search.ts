/**
 * `find` and `grep`: finding files by name and by content.
 *
 * - Directories are listed and files are read only as far as the search gets: the rest is not recorded as read.
 * - Links are found, not followed, except on the path at which the search starts.
 * - A very long line is searched in parts, and gives one match at most.
 * - A search yields to the event loop, and stops when its signal is aborted.
 */
import { fileError, isFileError } from '../error.js'
import type { Contents } from '../contents.js'
import { globOf } from './glob.js'
import { join, namesIn, normalise } from '../path.js'
import { patternOf } from './pattern.js'
import type { Files, Match } from '../port.js'
import { betweenPairs, linesOf, partChars } from './lines.js'
import type { ResolvedPath, Overlay } from '../overlay.js'

type FindOptions = NonNullable<Parameters<Files['find']>[1]>
type GrepOptions = NonNullable<Parameters<Files['grep']>[1]>

interface Found {
  readonly resolved: ResolvedPath
  /** Its path from where the search began. */
  readonly name: string
}

/** Everything below a directory; a directory before its entries. */
async function* below(overlay: Overlay, start: ResolvedPath, depth: number): AsyncGenerator<Found> {
  const next = async ({ resolved, name }: Found): Promise<Found[]> =>
    (await overlay.list(resolved))
      .map((child) => ({
        resolved: child,
        name: join(name, child.path.slice(child.path.lastIndexOf('/') + 1)).replace(/^\//, ''),
      }))
      .reverse()
  const pending = await next({ resolved: start, name: '' })
  for (let found = pending.pop(); found; found = pending.pop()) {
    yield found
    if (found.resolved.node?.kind === 'dir' && namesIn(found.name).length < depth) pending.push(...(await next(found)))
  }
}

export async function find(
  overlay: Overlay,
  glob: string,
  { path = '/', limit = Infinity, signal }: FindOptions = {},
): Promise<readonly string[]> {
  const pause = createPause(signal)
  const fromRoot = glob.startsWith('/')
  const top = fromRoot ? '/' : normalise(path, 'scandir')
  await dirAt(overlay, top)
  const { names, pattern } = splitGlob(glob)
  const base = names.reduce(join, top)
  const matches = await globOf(pattern)
  const found: string[] = []
  const start = await dirAt(overlay, base).catch((thrown: unknown) => {
    if (isFileError(thrown)) return undefined
    throw thrown
  })
  if (!start || limit <= 0) return found
  for await (const { name } of below(overlay, start, depthOf(pattern))) {
    await pause(name.length)
    if (matches(name)) found.push(join(base, name))
    if (found.length >= limit) break
  }
  return found
}

async function dirAt(overlay: Overlay, path: string): Promise<ResolvedPath> {
  const resolved = await overlay.walk(path, { syscall: 'scandir', last: 'follow' })
  overlay.saw(resolved, 'kind')
  if (resolved.node?.kind !== 'dir') throw fileError(resolved.node ? 'ENOTDIR' : 'ENOENT', { syscall: 'scandir', path })
  return resolved
}

/** The literal names that a glob begins with, and the rest, which is at least one name. */
function splitGlob(glob: string): { names: readonly string[]; pattern: string } {
  const parts = namesIn(glob)
  const wild = parts.findIndex((name) => name === '..' || /[*?[\]{}\\]/.test(name))
  const cut = Math.min(wild === -1 ? parts.length : wild, Math.max(parts.length - 1, 0))
  return { names: parts.slice(0, cut), pattern: parts.slice(cut).join('/') }
}

/** How deep a match may be. Braces may contain a slash. */
function depthOf(pattern: string): number {
  return /\*\*|[{}\\]/.test(pattern) ? Infinity : namesIn(pattern).length
}

interface SearchedFiles {
  readonly overlay: Overlay
  readonly contents: Contents
}

export async function grep(
  { overlay, contents }: SearchedFiles,
  searched: RegExp | string,
  options: GrepOptions = {},
): Promise<readonly Match[]> {
  const { path = '/', glob, limit = Infinity, maxChars = Infinity, signal } = options
  const pattern = await patternOf(searched)
  const fits = await fitting(glob)
  const top = normalise(path, 'open')
  const start = await overlay.walk(top, { syscall: 'open', last: 'follow' })
  const pause = createPause(signal)
  const matches: Match[] = []
  const add = async (resolved: ResolvedPath, shown: string): Promise<void> => {
    if (resolved.node?.kind !== 'file') return
    overlay.sawNode(resolved)
    let found = 0
    for await (const { line, text } of linesOf(contents.chunks(resolved.node))) {
      await pause(text.length)
      if (line === found || !pattern.test(text)) continue
      found = line
      matches.push({
        path: shown,
        line,
        text: text.length > maxChars ? around(text, pattern.locate(text), maxChars) : text,
      })
      if (matches.length >= limit) return
    }
  }
  overlay.saw(start, 'kind')
  if (!start.node) throw fileError('ENOENT', { syscall: 'open', path: top })
  if (limit <= 0) return matches
  if (start.node.kind === 'file') {
    if (fits(top.slice(top.lastIndexOf('/') + 1))) await add(start, top)
    return matches
  }
  for await (const { resolved, name } of below(overlay, start, Infinity)) {
    if (fits(name)) await add(resolved, join(top, name))
    if (matches.length >= limit) break
  }
  return matches
}

async function fitting(glob: string | undefined): Promise<(name: string) => boolean> {
  if (glob === undefined) return () => true
  const matches = await globOf(namesIn(glob).join('/'))
  return glob.includes('/') ? matches : (name) => matches(name.slice(name.lastIndexOf('/') + 1))
}

/** Yields to the event loop when much has been searched since the last time; throws if the signal is aborted. */
function createPause(signal: AbortSignal | undefined): (chars: number) => Promise<void> {
  let charsSincePause = 0
  signal?.throwIfAborted()
  return async (chars) => {
    charsSincePause += chars
    if (charsSincePause < partChars) return
    charsSincePause = 0
    await new Promise((resolve) => setImmediate(resolve))
    signal?.throwIfAborted()
  }
}

/** So many characters of a text, with a resolved in their middle. */
function around(text: string, [start, end]: readonly [number, number], maxChars: number): string {
  const before = Math.max(0, maxChars - (end - start)) >> 1
  const from = betweenPairs(text, Math.max(0, Math.min(start - before, text.length - maxChars)))
  const to = betweenPairs(text, from + maxChars)
  return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`
}
