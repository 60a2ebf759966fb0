/**
 * A three-way merge of one text by its lines.
 *
 * - Lines keep their ends, so CRLF, a missing last newline and a byte order mark come out as they went in.
 * - Two changes merge only if at least one line that neither touched is between them, or if they are equal: no
 *   order has to be guessed, and which side is whose makes no difference. Where a change may be thought in several
 *   places, as a blank line among others, it touches all of them: else what both did alike could come out twice.
 * - Where finding the smallest difference would cost too much, all between the first and the last difference counts
 *   as one change: that may give a conflict too many, never a wrong merge.
 * - It is done in slices, none of which is more than linear: threads that share the process go on in between.
 */
import { matchLines } from './match-lines.js'

/** What a merge starts from; without a base, both have made the file. */
export interface TextVersions {
  readonly base: Uint8Array | undefined
  readonly ours: Uint8Array
  readonly theirs: Uint8Array
}

/** The merged text, or why there is none. */
export async function mergeText({ base, ours, theirs }: TextVersions): Promise<Uint8Array | 'content' | 'binary'> {
  const [before, mine, its] = [base && decode(base), decode(ours), decode(theirs)]
  if (mine === undefined || its === undefined) return 'binary'
  if (base && before === undefined) return 'binary'
  const merged = before === undefined ? undefined : await mergeLines(before, mine, its)
  return merged === undefined ? 'content' : new TextEncoder().encode(merged)
}

/** Of bytes that are text: UTF-8 without NUL. */
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
  const number = createNumbers()
  const before = Int32Array.from(lines, number)
  const hunks = async (side: string): Promise<readonly Hunk[]> => {
    await othersFirst()
    const own = linesOf(side)
    const after = Int32Array.from(own, number)
    await othersFirst()
    return hunksOf(own, await keptLines(before, after))
  }
  const groups = groupsOf(await hunks(ours), await hunks(theirs))
  await othersFirst()
  let merged = ''
  let next = 0
  for (const group of groups) {
    const mine = changed(lines, group, group.ours)
    const its = changed(lines, group, group.theirs)
    if (group.ours.length > 0 && group.theirs.length > 0 && mine !== its) return undefined
    merged += lines.slice(next, group.from).join('') + (group.ours.length > 0 ? mine : its)
    next = group.to
  }
  return merged + lines.slice(next).join('')
}

function othersFirst(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** Equal lines have one number: comparing them costs the same however long they are. */
function createNumbers(): (line: string) => number {
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
function changed(base: readonly string[], { from, to }: Group, hunks: readonly Hunk[]): string {
  let text = ''
  let next = from
  for (const hunk of hunks) {
    text += base.slice(next, hunk.from).join('') + hunk.lines.join('')
    next = hunk.to
  }
  return text + base.slice(next, to).join('')
}

/** What is not kept, with the lines around it that may or may not be. */
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

/**
 * Where each line of the base is in the side, or -1, as far as it is the same from the front and from the back.
 */
async function keptLines(base: Int32Array, side: Int32Array): Promise<Int32Array> {
  const front = matchLines(base, side)
  await othersFirst()
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
  return base.map((_, line) =>
    line < head ? line : line >= base.length - tail ? line + side.length - base.length : -1,
  )
}
