/**
 * What a child says, as its parent's model reads it among other messages.
 *
 * - A line that begins with `[name]` is ours: whatever a child says, only its own name begins one. All further
 *   lines of it are indented, by whatever they are divided.
 */

/** All that some reader may take for the end of a line. */
const lineEnds = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/

const indent = '    '

export function frameChildText(reference: string, text: string): string {
  const [first = '', ...rest] = text.split(lineEnds)
  return [`[${reference}] ${first}`, ...rest.map((line) => (line === '' ? '' : `${indent}${line}`))].join('\n')
}
