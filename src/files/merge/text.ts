/**
 * A three-way merge of one text by its lines.
 *
 * - Lines keep their ends, so CRLF, a missing last newline and a byte order mark are preserved.
 * - Two changes merge only if they are equal, or if at least one line that neither touched is between them: no order
 *   is guessed, and swapping the sides gives the same text. A change whose position is ambiguous, such as a blank
 *   line among others, touches all of its positions; otherwise an equal change of both could appear twice.
 * - If the smallest difference would take too long to find, everything between the first and the last difference is
 *   one change: that may give a conflict too many, never a wrong merge.
 * - It runs in slices of at most linear work and yields in between, because threads share the process.
 */
import { matchLines } from './match-lines.js'

/** Without a base both sides have created the file. */
export interface TextVersions {
  readonly base: Uint8Array | undefined
  readonly ours: Uint8Array
  readonly theirs: Uint8Array
}

/** The merged text, or why there is none. */
export async function mergeText({ base, ours, theirs }: TextVersions): Promise<Uint8Array | 'content' | 'binary'> {
  const [baseText, ourText, theirText] = [base && decode(base), decode(ours), decode(theirs)]
  if (ourText === undefined || theirText === undefined) return 'binary'
  if (base && baseText === undefined) return 'binary'
  const merged = baseText === undefined ? undefined : await mergeLines(baseText, ourText, theirText)
  return merged === undefined ? 'content' : new TextEncoder().encode(merged)
}

/** Undefined if the bytes are not text: UTF-8 without NUL. */
function decode(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}

/** Lines `from` to `to` (without it) of the base became these. */
interface Hunk {
  readonly from: number
  readonly to: number
  readonly lines: readonly string[]
}

interface Group {
  readonly from: number
  to: number
  readonly ours: Hunk[]
  readonly theirs: Hunk[]
}

async function mergeLines(base: string, ours: string, theirs: string): Promise<string | undefined> {
  const lines = linesOf(base)
  const numberOf = createNumbering()
  const before = Int32Array.from(lines, numberOf)
  const hunks = async (side: string): Promise<readonly Hunk[]> => {
    await yieldToOthers()
    const own = linesOf(side)
    const after = Int32Array.from(own, numberOf)
    await yieldToOthers()
    return hunksOf(own, await keptLines(before, after))
  }
  const groups = groupsOf(await hunks(ours), await hunks(theirs))
  await yieldToOthers()
  let merged = ''
  let next = 0
  for (const group of groups) {
    const ourText = textOf(lines, group, group.ours)
    const theirText = textOf(lines, group, group.theirs)
    if (group.ours.length > 0 && group.theirs.length > 0 && ourText !== theirText) return undefined
    merged += lines.slice(next, group.from).join('') + (group.ours.length > 0 ? ourText : theirText)
    next = group.to
  }
  return merged + lines.slice(next).join('')
}

function yieldToOthers(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** Equal lines get equal numbers, so that comparing them costs the same however long they are. */
function createNumbering(): (line: string) => number {
  const known = new Map<string, number>()
  return (line) => {
    const number = known.get(line)
    if (number !== undefined) return number
    known.set(line, known.size)
    return known.size - 1
  }
}

function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

/** Hunks that touch are one group. */
function groupsOf(ours: readonly Hunk[], theirs: readonly Hunk[]): readonly Group[] {
  const groups: Group[] = []
  const all = [
    ...ours.map((hunk) => ({ hunk, side: 'ours' as const })),
    ...theirs.map((hunk) => ({ hunk, side: 'theirs' as const })),
  ]
  for (const { hunk, side } of all.sort((a, b) => a.hunk.from - b.hunk.from)) {
    let group = groups.at(-1)
    if (!group || hunk.from > group.to) {
      group = { from: hunk.from, to: hunk.to, ours: [], theirs: [] }
      groups.push(group)
    }
    group.to = Math.max(group.to, hunk.to)
    group[side].push(hunk)
  }
  return groups
}

/** The lines of a group as one side has them. */
function textOf(base: readonly string[], { from, to }: Group, hunks: readonly Hunk[]): string {
  let text = ''
  let next = from
  for (const hunk of hunks) {
    text += base.slice(next, hunk.from).join('') + hunk.lines.join('')
    next = hunk.to
  }
  return text + base.slice(next, to).join('')
}

/** What lies between the lines of the base that the side certainly kept. */
function hunksOf(side: readonly string[], kept: Int32Array): readonly Hunk[] {
  const hunks: Hunk[] = []
  let from = 0
  let next = 0
  const keep = (line: number, at: number): void => {
    if (line > from || at > next) hunks.push({ from, to: line, lines: side.slice(next, at) })
    from = line + 1
    next = at + 1
  }
  for (const [line, at] of kept.entries()) if (at >= 0) keep(line, at)
  keep(kept.length, side.length)
  return hunks
}

/** The index of each line of the base in the side; -1 unless matching from the front and from the back agree. */
async function keptLines(base: Int32Array, side: Int32Array): Promise<Int32Array> {
  const front = matchLines(base, side)
  await yieldToOthers()
  const back = front && matchLines(base.toReversed(), side.toReversed())
  if (!back) return sameEnds(base, side)
  return front.map((at, line) => {
    const other = back[base.length - 1 - line] ?? -1
    return at >= 0 && other >= 0 && side.length - 1 - other === at ? at : -1
  })
}

function sameEnds(base: Int32Array, side: Int32Array): Int32Array {
  const shorter = Math.min(base.length, side.length)
  let head = 0
  while (head < shorter && base[head] === side[head]) head++
  let tail = 0
  while (tail < shorter - head && base[base.length - 1 - tail] === side[side.length - 1 - tail]) tail++
  return base.map((_, line) => {
    if (line < head) return line
    return line >= base.length - tail ? line + side.length - base.length : -1
  })
}
