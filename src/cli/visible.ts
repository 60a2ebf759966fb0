/**
 * Foreign text on a terminal: what models, tools, tenants and providers wrote, shown and not obeyed. There is no
 * other way from a command to the screen (output.ts).
 *
 * - Controls, escape codes, marks of direction, and what has no width are shown as `\u202e`: nothing is hidden,
 *   reordered or moved. Joiners and marks stay where letters or emoji need them. Ends of lines and tabs stay.
 * - What stands within a line (a name, a tag, args) has no ends of lines: it cannot add lines that look like ours.
 */

/**
 * Besides controls: soft hyphen, fillers, marks and overrides of direction, what has no width, separators of lines,
 * tags, halves of characters.
 */
const hidden =
  /[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029\u{E0000}-\u{E0FFF}]|[\u115F\u1160\u3164\uFFA0]|\u034F|\u17B4|\u17B5|[\u180B-\u180F]/gu

export function visible(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(hidden, (char: string, at: number, whole: string) =>
      char === '\n' || char === '\t' || isNeeded(char, at, whole) ? char : escaped(char),
    )
}

export function label(text: string): string {
  return visible(text)
    .replaceAll('\n', String.raw`\n`)
    .replaceAll('\t', String.raw`\t`)
}

function escaped(char: string): string {
  return Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
    '',
  )
}

const joiner = '\u200D'
const nonJoiner = '\u200C'
const marks: ReadonlySet<string> = new Set(['\u200E', '\u200F', '\u061C'])
const pictured = /(?:\p{Extended_Pictographic}|\uFE0F|[\u{1F3FB}-\u{1F3FF}])$/u
const picture = /^\p{Extended_Pictographic}/u
/** Scripts that write with joiners, or from right to left. */
const joining =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Hebrew}]/u

function isNeeded(char: string, at: number, whole: string): boolean {
  if (char !== joiner && char !== nonJoiner && !marks.has(char)) return false
  const before = whole.slice(Math.max(0, at - 2), at)
  const after = whole.slice(at + 1, at + 3)
  if (char === joiner && pictured.test(before) && picture.test(after)) return true
  return joining.test(before) && (marks.has(char) || joining.test(after))
}
