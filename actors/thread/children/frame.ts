/**
 * What a child says, as its parent's model reads it among other messages.
 *
 * - A line that begins with `[name]` is ours: whatever a child says, only its own name begins one. All further
 *   lines of it are indented, by whatever they are divided.
 * - So is what began its turn, right after the name: a text that begins like that is indented as a whole.
 */

/** All that some reader may take for the end of a line. */
const lineEnds = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/

const indent = '    '

/** The first letters of a text are what a reader sees first: marks that are not seen do not count. */
const likeCause = /^[\s\p{Cf}]*\(begun by\b/iu

/** `cause`: what began the turn, where the parent did not. */
export function frameChildText(reference: string, text: string, cause?: string): string {
  const lines = text.split(lineEnds)
  const indented = lines.map((line) => (line === '' ? '' : `${indent}${line}`))
  if (cause === undefined && likeCause.test(text)) return [`[${reference}]`, ...indented].join('\n')
  const began = cause === undefined ? '' : `(begun by ${cause}) `
  return [`[${reference}] ${began}${lines[0] ?? ''}`, ...indented.slice(1)].join('\n')
}
