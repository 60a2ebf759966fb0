/**
 * Patterns that texts are searched for.
 *
 * - One that is given as a text is of RE2: the time it takes grows with the text and with its own size, which is
 *   bounded, and with nothing else. A `RegExp` is the business of whoever wrote it.
 */
import { fileError } from '../error.js'

export interface Pattern {
  test(text: string): boolean
  /** Where it is in a text in which it is. */
  place(text: string): readonly [start: number, end: number]
}

export async function patternOf(pattern: RegExp | string): Promise<Pattern> {
  if (pattern instanceof RegExp) return ofEngine(pattern)
  if (typeof pattern !== 'string')
    throw fileError(
      'EINVAL',
      { syscall: 'grep', path: String(pattern) },
      `a pattern is a text or a RegExp, not ${typeof pattern}`,
    )
  const { test, find } = await compiled(pattern, { syscall: 'grep', mostSteps: 1000 })
  return {
    test,
    place(text) {
      const from = narrow(text, test)
      const [start, end] = find(from.text)
      return [from.at + start, from.at + end]
    },
  }
}

/** Without the flags that would remember where the last match was. */
function ofEngine({ source, flags }: RegExp): Pattern {
  const expression = new RegExp(source, flags.replace(/[gy]/g, ''))
  return {
    test: (text) => expression.test(text),
    place(text) {
      const found = expression.exec(text)
      return found ? [found.index, found.index + found[0].length] : [0, 0]
    },
  }
}

export interface Compiled {
  test(text: string): boolean
  /** Slower by far than `test`. */
  find(text: string): readonly [start: number, end: number]
}

/** `mostSteps`: how much it may do for each character. */
export async function compiled(
  pattern: string,
  { syscall, mostSteps }: { readonly syscall: string; readonly mostSteps: number },
): Promise<Compiled> {
  const { RE2JS } = await import('re2js')
  const refuse = (why: string): Error => fileError('EINVAL', { syscall, path: pattern.slice(0, 1000) }, why)
  let expression: InstanceType<typeof RE2JS>
  try {
    expression = RE2JS.compile(RE2JS.translateRegExp(pattern))
  } catch (error) {
    throw refuse(error instanceof Error ? explained(error.message) : 'it is no regular expression')
  }
  if (expression.programSize() > mostSteps)
    throw refuse('it is too large; repeat less in it, such as .* instead of .{0,500}')
  return {
    test: (text) => expression.test(text),
    find(text) {
      const matcher = expression.matcher(text)
      return matcher.find() ? [matcher.start(), matcher.end()] : [0, 0]
    },
  }
}

/** What other engines know and this one cannot have: it would take more than linear time. */
function explained(message: string): string {
  const what = message.replace(/^error parsing regexp: /, '')
  return /`(?:\\[1-9k]|\(\?(?:<?[=!]|>))/.test(what) ? `${what}: backreferences and lookaround are not supported` : what
}

const narrowChars = 8192

/** A smaller part of a text in which the pattern is too, unless only all of it will do. */
function narrow(whole: string, test: (text: string) => boolean): { readonly text: string; readonly at: number } {
  let at = 0
  let text = whole
  while (text.length > narrowChars) {
    const middle = text.length >> 1
    const half = narrowChars >> 2
    const left = text.slice(0, middle + half)
    const right = text.slice(middle - half)
    if (test(left)) text = left
    else if (test(right)) {
      at += middle - half
      text = right
    } else break
  }
  return { text, at }
}
