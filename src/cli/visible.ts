/**
 * Foreign text on a terminal: what models, tools, tenants and providers wrote is shown and not obeyed. All output goes
 * through here (output.ts).
 *
 * - Control characters, escape codes, direction marks and characters without width are shown as `\u202e`: nothing is
 *   hidden, reordered or moved. Joiners and marks stay where letters or emoji need them. Line ends and tabs stay.
 * - A label (a name, a tag, args within a line) has no line ends: it cannot add lines that look like ours.
 */

/**
 * Besides controls: soft hyphens, fillers, direction marks and overrides, characters without width, line separators,
 * tags, lone surrogates.
 */
const hidden = new RegExp(
  '[\\p{Cc}\\p{Cf}\\p{Cs}\\u2028\\u2029\\u{E0000}-\\u{E0FFF}]|[\\u115F\\u1160\\u3164\\uFFA0]' +
    '|\\u034F|\\u17B4|\\u17B5|[\\u180B-\\u180F]',
  'gu',
)

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
const joiningScripts = ['Arabic', 'Syriac', 'Devanagari', 'Bengali', 'Malayalam', 'Sinhala', 'Hebrew']
const joining = new RegExp(`[${joiningScripts.map((script) => `\\p{Script=${script}}`).join('')}]`, 'u')

function isNeeded(char: string, at: number, whole: string): boolean {
  if (char !== joiner && char !== nonJoiner && !marks.has(char)) return false
  const before = whole.slice(Math.max(0, at - 2), at)
  const after = whole.slice(at + 1, at + 3)
  if (char === joiner && pictured.test(before) && picture.test(after)) return true
  return joining.test(before) && (marks.has(char) || joining.test(after))
}
