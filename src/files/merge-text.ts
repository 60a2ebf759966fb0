/**
 * A three-way merge of one text by its lines.
 *
 * MT1 Lines keep their ends, so CRLF, a missing last newline and a byte order mark come out as they went in.
 * MT2 Two changes merge only if at least one line that neither touched is between them, or if they are equal: no order has
 *     to be guessed, and which side is whose makes no difference. Where a change may be thought in several places, as a
 *     blank line among others, it touches all of them: else what both did alike could come out twice.
 * MT3 Where finding the smallest difference would cost too much, all between the first and the last difference counts as
 *     one change: that may give a conflict too many, never a wrong merge.
 */
import { diffArrays } from 'diff'

/** What a merge starts from; without a base, both have made the file. */
export interface TextVersions {
  readonly base: Uint8Array | undefined
  readonly ours: Uint8Array
  readonly theirs: Uint8Array
}

/** The merged text, or why there is none. */
export function mergeText({ base, ours, theirs }: TextVersions): Uint8Array | 'content' | 'binary' {
  const [before, mine, its] = [base && decode(base), decode(ours), decode(theirs)]
  if (mine === undefined || its === undefined) return 'binary'
  if (base && before === undefined) return 'binary'
  const merged = before === undefined ? undefined : mergeLines(before, mine, its)
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

function mergeLines(base: string, ours: string, theirs: string): string | undefined {
  const lines = linesOf(base)
  let merged = ''
  let next = 0
  for (const group of groupsOf(hunksOf(lines, linesOf(ours)), hunksOf(lines, linesOf(theirs)))) {
    const mine = changed(lines, group, group.ours)
    const its = changed(lines, group, group.theirs)
    if (group.ours.length > 0 && group.theirs.length > 0 && mine !== its) return undefined
    merged += lines.slice(next, group.from).join('') + (group.ours.length > 0 ? mine : its)
    next = group.to
  }
  return merged + lines.slice(next).join('')
}

function linesOf(text: string): readonly string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? []
}

/** MT2: hunks that touch are one group. */
function groupsOf(ours: readonly Hunk[], theirs: readonly Hunk[]): readonly Group[] {
  const groups: Group[] = []
  const all = [...ours.map((hunk) => ({ hunk, side: 'ours' as const })), ...theirs.map((hunk) => ({ hunk, side: 'theirs' as const }))]
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
function hunksOf(base: readonly string[], side: readonly string[]): readonly Hunk[] {
  const hunks: Hunk[] = []
  let from = 0
  let next = 0
  for (const [line, at] of [...keptLines(base, side), [base.length, side.length] as const]) {
    if (line > from || at > next) hunks.push({ from, to: line, lines: side.slice(next, at) })
    from = line + 1
    next = at + 1
  }
  return hunks
}

type Pair = readonly [line: number, at: number]

/** MT2: lines of the base and where they are in the side, in order, as far as it is the same from the front and from the back. */
function keptLines(base: readonly string[], side: readonly string[]): readonly Pair[] {
  const front = pairsOf(base, side)
  const back = front && pairsOf(base.toReversed(), side.toReversed())
  if (!back) return sameEnds(base, side) // MT3
  const agreed = new Map(back.map(([line, at]) => [base.length - 1 - line, side.length - 1 - at]))
  return front.filter(([line, at]) => agreed.get(line) === at)
}

/** Lines that were removed and added. The cost grows with the square of it: this is a tenth of a second. */
const mostEdits = 1000

function pairsOf(base: readonly string[], side: readonly string[]): readonly Pair[] | undefined {
  const pairs: Pair[] = []
  let [line, at] = [0, 0]
  const parts = diffArrays([...base], [...side], { maxEditLength: mostEdits })
  for (const { added, removed, count } of parts ?? []) {
    if (!added && !removed) for (let each = 0; each < count; each++) pairs.push([line + each, at + each])
    if (!added) line += count
    if (!removed) at += count
  }
  return parts && pairs
}

function sameEnds(base: readonly string[], side: readonly string[]): readonly Pair[] {
  const shorter = Math.min(base.length, side.length)
  let head = 0
  while (head < shorter && base[head] === side[head]) head++
  let tail = 0
  while (tail < shorter - head && base.at(-1 - tail) === side.at(-1 - tail)) tail++
  const lines = Array.from(base.keys()).filter((line) => line < head || line >= base.length - tail)
  return lines.map((line) => [line, line < head ? line : line + side.length - base.length])
}
