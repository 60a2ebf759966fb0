/**
 * Finding files by name and by content.
 *
 * SE1 Directories are listed and files are read only as far as the search gets: what it did not look at is no read.
 * SE2 Links are found, not followed, except those that the start of a search names.
 */
import picomatch from 'picomatch'
import { fileError, isFileError } from './error.js'
import type { Contents } from './contents.js'
import { join, namesIn, normalise } from './path.js'
import type { Files, Match } from './port.js'
import type { Place, View } from './view.js'

type FindOptions = NonNullable<Parameters<Files['find']>[1]>
type GrepOptions = NonNullable<Parameters<Files['grep']>[1]>

interface Found {
  readonly place: Place
  /** From where the search began. */
  readonly name: string
}

/** All below, a directory before what it holds. */
async function* below(view: View, start: Place, depth: number): AsyncGenerator<Found> {
  const next = async ({ place, name }: Found): Promise<Found[]> =>
    (await view.list(place)).map((child) => ({ place: child, name: join(name, child.path.slice(child.path.lastIndexOf('/') + 1)).replace(/^\//, '') })).reverse()
  const ahead = await next({ place: start, name: '' })
  for (let found = ahead.pop(); found; found = ahead.pop()) {
    yield found
    if (found.place.node?.kind === 'dir' && namesIn(found.name).length < depth) ahead.push(...(await next(found)))
  }
}

export async function find(view: View, glob: string, { path = '/', limit = Infinity }: FindOptions = {}): Promise<readonly string[]> {
  const fromRoot = glob.startsWith('/')
  const top = fromRoot ? '/' : normalise(path, 'scandir')
  await dirAt(view, top)
  const { names, pattern } = splitGlob(glob)
  const base = names.reduce(join, top)
  const matches = compile(pattern)
  const found: string[] = []
  const start = await dirAt(view, base).catch((thrown: unknown) => {
    if (isFileError(thrown)) return undefined
    throw thrown
  })
  if (!start || limit <= 0) return found
  for await (const { name } of below(view, start, depthOf(pattern))) {
    if (matches(name)) found.push(join(base, name))
    if (found.length >= limit) break
  }
  return found
}

async function dirAt(view: View, path: string): Promise<Place> {
  const place = await view.walk(path, { syscall: 'scandir', last: 'follow' })
  view.saw(place, 'kind')
  if (place.node?.kind !== 'dir') throw fileError(place.node ? 'ENOTDIR' : 'ENOENT', { syscall: 'scandir', path })
  return place
}

/** The names that a glob begins with, and the rest, which is one name at least. */
function splitGlob(glob: string): { names: readonly string[]; pattern: string } {
  const parts = namesIn(glob)
  const wild = parts.findIndex((name) => name === '..' || /[*?[\]{}()!+@\\]/.test(name))
  const cut = Math.min(wild === -1 ? parts.length : wild, Math.max(parts.length - 1, 0))
  return { names: parts.slice(0, cut), pattern: parts.slice(cut).join('/') }
}

/** How deep a match may lie. Braces and brackets may hold a slash. */
function depthOf(pattern: string): number {
  return /\*\*|[{}()\\]/.test(pattern) ? Infinity : namesIn(pattern).length
}

function compile(pattern: string, options: picomatch.PicomatchOptions = {}): (name: string) => boolean {
  try {
    return picomatch(pattern, { dot: true, nonegate: true, windows: false, ...options })
  } catch (error) {
    throw fileError('EINVAL', { syscall: 'glob', path: pattern }, error instanceof Error ? error.message : 'it is no glob')
  }
}

interface Searched {
  readonly view: View
  readonly contents: Contents
}

export async function grep({ view, contents }: Searched, pattern: RegExp | string, options: GrepOptions = {}): Promise<readonly Match[]> {
  const { path = '/', glob, limit = Infinity } = options
  const expression = expressionOf(pattern)
  const fits = glob === undefined ? () => true : compile(namesIn(glob).join('/'), { basename: !glob.includes('/') })
  const top = normalise(path, 'open')
  const start = await view.walk(top, { syscall: 'open', last: 'follow' })
  const matches: Match[] = []
  const add = async (place: Place, shown: string): Promise<void> => {
    if (place.node?.kind !== 'file') return
    view.sawNode(place)
    let line = 0
    for await (const text of linesOf(contents.chunks(place.node))) {
      line += 1
      if (expression.test(text)) matches.push({ path: shown, line, text })
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

/** Without the flags that would remember where the last match was. */
function expressionOf(pattern: RegExp | string): RegExp {
  if (pattern instanceof RegExp) return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ''))
  try {
    return new RegExp(pattern)
  } catch (error) {
    throw fileError('EINVAL', { syscall: 'grep', path: pattern }, error instanceof Error ? error.message : 'it is no regular expression')
  }
}

/** How far a file is looked at to see whether it is text. */
const probed = 8192

/** Nothing of a file that is not text. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let seen = 0
  let rest = ''
  for await (const chunk of chunks) {
    if (seen < probed && chunk.subarray(0, probed - seen).includes(0)) return
    seen += chunk.length
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield withoutReturn(line)
  }
  rest += decoder.decode()
  if (rest !== '') yield withoutReturn(rest)
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line
}
