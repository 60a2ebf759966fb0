/**
 * Finding files by name and by content.
 *
 * - Directories are listed and files are read only as far as the search gets: what it did not look at is no read.
 * - Links are found, not followed, except those that the start of a search names.
 * - A line that is too long to be held is searched in parts, and is one match at most.
 * - A search lets others have their turn, and stops when it is told to.
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
  readonly place: ResolvedPath
  /** From where the search began. */
  readonly name: string
}

/** All below, a directory before what it holds. */
async function* below(view: Overlay, start: ResolvedPath, depth: number): AsyncGenerator<Found> {
  const next = async ({ place, name }: Found): Promise<Found[]> =>
    (await view.list(place))
      .map((child) => ({
        place: child,
        name: join(name, child.path.slice(child.path.lastIndexOf('/') + 1)).replace(/^\//, ''),
      }))
      .reverse()
  const ahead = await next({ place: start, name: '' })
  for (let found = ahead.pop(); found; found = ahead.pop()) {
    yield found
    if (found.place.node?.kind === 'dir' && namesIn(found.name).length < depth) ahead.push(...(await next(found)))
  }
}

export async function find(
  view: Overlay,
  glob: string,
  { path = '/', limit = Infinity, signal }: FindOptions = {},
): Promise<readonly string[]> {
  const breath = createBreath(signal)
  const fromRoot = glob.startsWith('/')
  const top = fromRoot ? '/' : normalise(path, 'scandir')
  await dirAt(view, top)
  const { names, pattern } = splitGlob(glob)
  const base = names.reduce(join, top)
  const matches = await globOf(pattern)
  const found: string[] = []
  const start = await dirAt(view, base).catch((thrown: unknown) => {
    if (isFileError(thrown)) return undefined
    throw thrown
  })
  if (!start || limit <= 0) return found
  for await (const { name } of below(view, start, depthOf(pattern))) {
    await breath(name.length)
    if (matches(name)) found.push(join(base, name))
    if (found.length >= limit) break
  }
  return found
}

async function dirAt(view: Overlay, path: string): Promise<ResolvedPath> {
  const place = await view.walk(path, { syscall: 'scandir', last: 'follow' })
  view.saw(place, 'kind')
  if (place.node?.kind !== 'dir') throw fileError(place.node ? 'ENOTDIR' : 'ENOENT', { syscall: 'scandir', path })
  return place
}

/** The names that a glob begins with, and the rest, which is one name at least. */
function splitGlob(glob: string): { names: readonly string[]; pattern: string } {
  const parts = namesIn(glob)
  const wild = parts.findIndex((name) => name === '..' || /[*?[\]{}\\]/.test(name))
  const cut = Math.min(wild === -1 ? parts.length : wild, Math.max(parts.length - 1, 0))
  return { names: parts.slice(0, cut), pattern: parts.slice(cut).join('/') }
}

/** How deep a match may lie. Braces may hold a slash. */
function depthOf(pattern: string): number {
  return /\*\*|[{}\\]/.test(pattern) ? Infinity : namesIn(pattern).length
}

interface Searched {
  readonly view: Overlay
  readonly contents: Contents
}

export async function grep(
  { view, contents }: Searched,
  given: RegExp | string,
  options: GrepOptions = {},
): Promise<readonly Match[]> {
  const { path = '/', glob, limit = Infinity, maxChars = Infinity, signal } = options
  const pattern = await patternOf(given)
  const fits = await fitting(glob)
  const top = normalise(path, 'open')
  const start = await view.walk(top, { syscall: 'open', last: 'follow' })
  const breath = createBreath(signal)
  const matches: Match[] = []
  const add = async (place: ResolvedPath, shown: string): Promise<void> => {
    if (place.node?.kind !== 'file') return
    view.sawNode(place)
    let found = 0
    for await (const { line, text } of linesOf(contents.chunks(place.node))) {
      await breath(text.length)
      if (line === found || !pattern.test(text)) continue
      found = line
      matches.push({
        path: shown,
        line,
        text: text.length > maxChars ? around(text, pattern.place(text), maxChars) : text,
      })
      if (matches.length >= limit) return
    }
  }
  view.saw(start, 'kind')
  if (!start.node) throw fileError('ENOENT', { syscall: 'open', path: top })
  if (limit <= 0) return matches
  if (start.node.kind === 'file') {
    if (fits(top.slice(top.lastIndexOf('/') + 1))) await add(start, top)
    return matches
  }
  for await (const { place, name } of below(view, start, Infinity)) {
    if (fits(name)) await add(place, join(top, name))
    if (matches.length >= limit) break
  }
  return matches
}

async function fitting(glob: string | undefined): Promise<(name: string) => boolean> {
  if (glob === undefined) return () => true
  const matches = await globOf(namesIn(glob).join('/'))
  return glob.includes('/') ? matches : (name) => matches(name.slice(name.lastIndexOf('/') + 1))
}

/** Waits for its turn whenever much has been searched since, and throws when it was told to stop. */
function createBreath(signal: AbortSignal | undefined): (chars: number) => Promise<void> {
  let since = 0
  signal?.throwIfAborted()
  return async (chars) => {
    since += chars
    if (since < partChars) return
    since = 0
    await new Promise((resolve) => setImmediate(resolve))
    signal?.throwIfAborted()
  }
}

/** So many characters of a text, with a place in their middle. */
function around(text: string, [start, end]: readonly [number, number], maxChars: number): string {
  const before = Math.max(0, maxChars - (end - start)) >> 1
  const from = betweenPairs(text, Math.max(0, Math.min(start - before, text.length - maxChars)))
  const to = betweenPairs(text, from + maxChars)
  return `${from > 0 ? '…' : ''}${text.slice(from, to)}${to < text.length ? '…' : ''}`
}
