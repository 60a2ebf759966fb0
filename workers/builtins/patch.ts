/**
 * Applies a unified diff to a text.
 *
 * - A hunk is applied where its header says (shifted like the hunk before it) if its lines are there; otherwise at the
 *   only position where they are. Two positions are an error, not a guess, and lines never match approximately.
 * - Line ends are those of the text: unchanged lines keep theirs, new ones end like their neighbours.
 * - All hunks are applied, or none.
 * - The search for a hunk is linear in the text, and the search for all of them is bounded.
 */
import { parsePatch } from 'diff'
import type { StructuredPatchHunk } from 'diff'
import { SkeinError, toFailure } from '../../src/core/failure.js'
import { createLineFinder } from './line-finder.js'
import type { LineFinder } from './line-finder.js'

/** Returns the new text, or throws TOOL_PATCH_FAILED. `path` is for messages. */
export function patchText(path: string, text: string, patch: string): string {
  const hunks = hunksOf(path, patch)
  const bom = text.startsWith('\uFEFF') ? '\uFEFF' : ''
  const lines = splitLines(text.slice(bom.length))
  const done: Line[] = []
  const finder = createLineFinder(lines.map((line) => line.text))
  let from = 0
  let drift = 0
  for (const [index, hunk] of hunks.entries()) {
    const at = placeOf(hunk, { path, lines, from, drift, index, finder })
    // One by one: a long file has more lines than a call may have arguments.
    for (const line of lines.slice(from, at)) done.push(line)
    for (const line of replaced(hunk, lines, at)) done.push(line)
    from = at + hunk.old.length
    drift = at - hunk.at
  }
  for (const line of lines.slice(from)) done.push(line)
  const result = bom + joinLines(done, endOf(lines))
  if (result === text)
    throw refused(path, 'it changes nothing. Line ends stay as they are; to change those, write the file.')
  return result
}

interface Line {
  readonly text: string
  /** Empty: the text ends here. Undefined: not decided yet. */
  readonly end: '\n' | '\r\n' | '' | undefined
}

interface Hunk {
  /** Index of the first line that it replaces, as its header says. */
  readonly at: number
  readonly old: readonly string[]
  readonly changes: readonly { readonly sign: string; readonly text: string; readonly last: boolean }[]
}

function refused(path: string, why: string): SkeinError {
  return new SkeinError('TOOL_PATCH_FAILED', `the patch was not applied to ${path}: ${why}`)
}

function hunksOf(path: string, patch: string): readonly Hunk[] {
  const files = parsed(path, patch).filter(({ hunks }) => hunks.length > 0)
  const [file] = files
  if (!file) throw refused(path, 'it has no hunk. Send a unified diff with @@ -line,count +line,count @@ headers.')
  if (files.length > 1) throw refused(path, `it changes ${files.length} files. Send one patch per file.`)
  return file.hunks.map(toHunk)
}

function parsed(path: string, patch: string): ReturnType<typeof parsePatch> {
  try {
    return parsePatch(patch)
  } catch (thrown) {
    throw refused(
      path,
      `it is not a unified diff: ${toFailure(thrown, 'TOOL_PATCH_FAILED').message}. Count the lines of each hunk ` +
        `and send it again.`,
    )
  }
}

function toHunk({ oldStart, lines }: StructuredPatchHunk): Hunk {
  const changes = lines.flatMap((line, index) => {
    const sign = line === '' ? ' ' : (line[0] ?? ' ')
    // `\ No newline at end of file` belongs to the line before it.
    return sign === '\\' ? [] : [{ sign, text: bare(line.slice(1)), last: lines[index + 1]?.startsWith('\\') ?? false }]
  })
  // Where nothing is replaced, the header named the line before; the parser has seen to that.
  return { at: oldStart - 1, old: changes.filter(({ sign }) => sign !== '+').map(({ text }) => text), changes }
}

const bare = (line: string): string => (line.endsWith('\r') ? line.slice(0, -1) : line)

interface Search {
  readonly path: string
  readonly lines: readonly Line[]
  /** Hunks are in order: this one is not before this line. */
  readonly from: number
  /** How far the hunk before was from the line in its header. */
  readonly drift: number
  readonly index: number
  readonly finder: LineFinder
}

function placeOf(hunk: Hunk, { path, lines, from, drift, index, finder }: Search): number {
  const name = `hunk ${index + 1}`
  const fits = (at: number): boolean =>
    at >= from &&
    at + hunk.old.length <= lines.length &&
    hunk.old.every((text, offset) => lines[at + offset]?.text === text)
  if (hunk.old.length === 0) {
    if (fits(hunk.at + drift)) return hunk.at + drift
    throw refused(
      path,
      `${name} inserts at line ${hunk.at + 1}, which is not there; the file has ${lines.length} lines.`,
    )
  }
  if (fits(hunk.at + drift)) return hunk.at + drift
  const places = finder.find(hunk.old, from)
  if (places === 'too much')
    throw refused(
      path,
      `too many of its hunks are not where their headers say, and looking for ${name} takes too long. Correct the ` +
        `line numbers, or send it in parts.`,
    )
  const [place] = places
  if (place === undefined)
    throw refused(
      path,
      `the lines of ${name} (from line ${hunk.at + 1}) are not in the file${mismatch(hunk, lines)}. Read the file ` +
        `and send a patch that matches it exactly.`,
    )
  if (places.length > 1)
    throw refused(
      path,
      `the lines of ${name} are in the file more than once, and not at line ${hunk.at + 1}. Correct the line ` +
        `number or add lines around the change.`,
    )
  return place
}

function mismatch(hunk: Hunk, lines: readonly Line[]): string {
  const offset = hunk.old.findIndex((text, index) => lines[hunk.at + index]?.text !== text)
  const found = lines[hunk.at + offset]
  return (
    `: line ${hunk.at + offset + 1} ${found ? `is ${JSON.stringify(short(found.text))}` : 'does not exist'}, ` +
    `the patch has ${JSON.stringify(short(hunk.old[offset] ?? ''))}`
  )
}

const short = (text: string): string => (text.length > 120 ? `${text.slice(0, 120)}…` : text)

function replaced(hunk: Hunk, lines: readonly Line[], at: number): readonly Line[] {
  let next = at
  return hunk.changes.flatMap(({ sign, text, last }): readonly Line[] => {
    if (sign === '+') return [{ text, end: last ? '' : undefined }]
    const line = lines[next++]
    return sign === ' ' && line ? [line] : []
  })
}

function splitLines(text: string): readonly Line[] {
  const lines: Line[] = []
  for (const part of text.split(/(?<=\n)/)) {
    if (part === '') continue
    const end = lineEndOf(part)
    lines.push({ text: part.slice(0, part.length - end.length), end })
  }
  return lines
}

function lineEndOf(line: string): '\r\n' | '\n' | '' {
  if (line.endsWith('\r\n')) return '\r\n'
  return line.endsWith('\n') ? '\n' : ''
}

/** How most lines end. */
function endOf(lines: readonly Line[]): '\n' | '\r\n' {
  const crlf = lines.filter(({ end }) => end === '\r\n').length
  return crlf * 2 > lines.filter(({ end }) => end !== '').length ? '\r\n' : '\n'
}

function joinLines(lines: readonly Line[], usual: '\n' | '\r\n'): string {
  let near: '\n' | '\r\n' | undefined
  return lines
    .map(({ text, end }, index) => {
      const isLast = index === lines.length - 1
      // Only the last line of a text may have no end.
      const given = end === '' && !isLast ? undefined : end
      const own = given ?? near ?? usual
      if (given === '\n' || given === '\r\n') near = given
      return text + own
    })
    .join('')
}
