/**
 * The reads of a call, as its outcome lists them.
 *
 * - Tokens are those of the base tree, never of what the call made of it.
 * - There are at most 256 reads: past that, those of the fullest directories become one read of all below. A read may
 *   become one that sees more, never one that sees less.
 */
import type { FileRead, Look } from '../core/records/change.js'
import { parentOf } from './path.js'

const mostReads = 256

/** The weaker looks that each look includes. */
const covered: Readonly<Record<Look, readonly Look[]>> = {
  slot: [],
  room: [],
  kind: ['slot', 'room'],
  node: ['kind', 'slot', 'room'],
  list: ['kind', 'slot', 'room'],
  deep: ['list', 'node', 'kind', 'slot', 'room'],
}

type Seen = Omit<FileRead, 'token'>

export interface ReadSet {
  add(path: string, look: Look): void
  reads(token: (seen: Seen) => string | Promise<string>): Promise<readonly FileRead[]>
}

export function createReadSet(): ReadSet {
  const looks = new Map<string, Set<Look>>()
  return {
    add(path, look) {
      const known = looks.get(path) ?? new Set()
      if ([...known].some((other) => covered[other].includes(look))) return
      for (const weaker of covered[look]) known.delete(weaker)
      looks.set(path, known.add(look))
    },
    async reads(token) {
      const seen = [...looks].flatMap(([path, known]) => [...known].map((look) => ({ path, look })))
      const deep = seen.filter(({ look }) => look === 'deep').map(({ path }) => path)
      // Sorted, so that the order does not depend on which of several reads came back first.
      const needed = [...collapse(swallow(seen, deep))].sort((a, b) =>
        `${a.path} ${a.look}` < `${b.path} ${b.look}` ? -1 : 1,
      )
      return Promise.all(needed.map(async (read) => ({ ...read, token: await token(read) })))
    },
  }
}

/** One read of each of these directories, instead of those of everything in it. */
function swallow(seen: readonly Seen[], dirs: readonly string[]): readonly Seen[] {
  if (dirs.length === 0) return seen
  const isBelow = belowAny(dirs)
  const within = new Set(dirs)
  const outside = seen.filter(({ path }) => !within.has(path) && !isBelow(path))
  return [...outside, ...[...within].filter((dir) => !isBelow(dir)).map((path) => ({ path, look: 'deep' as const }))]
}

/** Whether a path is below one of these, by the lengths that they have: there are few, and paths may be long. */
function belowAny(dirs: Iterable<string>): (path: string) => boolean {
  const known = new Set(dirs)
  const lengths = new Set([...known].map(({ length }) => length))
  return (path) => {
    if (known.has('/') && path !== '/') return true
    for (const length of lengths) if (path[length] === '/' && known.has(path.slice(0, length))) return true
    return false
  }
}

/** First the fullest directories; where that is not enough, all that is deeper than the reads may be. */
function collapse(seen: readonly Seen[]): readonly Seen[] {
  if (seen.length <= mostReads) return seen
  const fewer = swallow(seen, fullest(seen))
  if (fewer.length <= mostReads) return fewer
  let depth = Math.max(...fewer.map(({ path }) => depthOf(path)))
  let reduced = fewer
  while (reduced.length > mostReads) {
    depth = Math.floor(depth / 2)
    reduced = cut(fewer, depth)
  }
  return reduced
}

/** As many of the directories with the most reads right in them as are needed. */
function fullest(seen: readonly Seen[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const { path } of seen) counts.set(parentOf(path), (counts.get(parentOf(path)) ?? 0) + 1)
  const many = [...counts].filter(([, reads]) => reads > 1)
  // The root last: it stands for everything.
  const ranked = many.sort(
    ([a, most], [b, more]) => Number(a === '/') - Number(b === '/') || more - most || b.length - a.length,
  )
  let surplus = seen.length - mostReads
  const chosen: string[] = []
  for (const [dir, reads] of ranked) {
    if (surplus <= 0) break
    chosen.push(dir)
    surplus -= reads - 1
  }
  return chosen
}

function depthOf(path: string): number {
  return path === '/' ? 0 : path.split('/').length - 1
}

function cut(seen: readonly Seen[], depth: number): readonly Seen[] {
  const deeper = seen.filter(({ path }) => depthOf(path) > depth)
  return swallow(
    seen,
    deeper.map(
      ({ path }) =>
        path
          .split('/')
          .slice(0, depth + 1)
          .join('/') || '/',
    ),
  )
}
