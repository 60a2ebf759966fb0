/**
 * Patterns that texts are searched for.
 *
 * - A pattern given as a text is compiled by RE2: matching takes time linear in the text and in the size of the
 *   pattern, which is bounded. A `RegExp` comes from the app and is used as it is.
 */
import { fileError } from '../error.js'

export interface Pattern {
  test(text: string): boolean
  /** The position of the first match, in a text that matches. */
  locate(text: string): readonly [start: number, end: number]
}

export async function patternOf(pattern: RegExp | string): Promise<Pattern> {
  if (pattern instanceof RegExp) return ofRegExp(pattern)
  if (typeof pattern !== 'string')
    throw fileError(
      'EINVAL',
      { syscall: 'grep', path: String(pattern) },
      `a pattern is a text or a RegExp, not ${typeof pattern}`,
    )
  const { test, find } = await compile(pattern, { syscall: 'grep', mostSteps: 1000 })
  return {
    test,
    locate(text) {
      const part = narrow(text, test)
      const [start, end] = find(part.text)
      return [part.offset + start, part.offset + end]
    },
  }
}

/** Without the flags `g` and `y`, which would remember the last match. */
function ofRegExp({ source, flags }: RegExp): Pattern {
  const expression = new RegExp(source, flags.replace(/[gy]/g, ''))
  return {
    test: (text) => expression.test(text),
    locate(text) {
      const found = expression.exec(text)
      return found ? [found.index, found.index + found[0].length] : [0, 0]
    },
  }
}

export interface CompiledPattern {
  test(text: string): boolean
  /** Much slower than `test`. */
  find(text: string): readonly [start: number, end: number]
}

const loadEngine = () => import('re2js')
let loading: ReturnType<typeof loadEngine> | undefined

/** `mostSteps`: how much work each character may cost. */
export async function compile(
  pattern: string,
  { syscall, mostSteps }: { readonly syscall: string; readonly mostSteps: number },
): Promise<CompiledPattern> {
  loading ??= loadEngine()
  const { RE2JS } = await loading
  const invalid = (why: string): Error => fileError('EINVAL', { syscall, path: pattern.slice(0, 1000) }, why)
  let expression: InstanceType<typeof RE2JS>
  try {
    expression = RE2JS.compile(RE2JS.translateRegExp(pattern))
  } catch (error) {
    throw invalid(error instanceof Error ? explain(error.message) : 'it is no regular expression')
  }
  if (expression.programSize() > mostSteps)
    throw invalid('it is too large; repeat less in it, such as .* instead of .{0,500}')
  return {
    test: (text) => expression.test(text),
    find(text) {
      const matcher = expression.matcher(text)
      return matcher.find() ? [matcher.start(), matcher.end()] : [0, 0]
    },
  }
}

/** Names the features that RE2 leaves out because they need more than linear time. */
function explain(message: string): string {
  const cause = message.replace(/^error parsing regexp: /, '')
  return /`(?:\\[1-9k]|\(\?(?:<?[=!]|>))/.test(cause)
    ? `${cause}: backreferences and lookaround are not supported`
    : cause
}

const narrowChars = 8192

/** A smaller part of the text that matches too, found by bisection; the whole if no half matches. */
function narrow(whole: string, test: (text: string) => boolean): { readonly text: string; readonly offset: number } {
  let offset = 0
  let text = whole
  while (text.length > narrowChars) {
    const middle = text.length >> 1
    const half = narrowChars >> 2
    const left = text.slice(0, middle + half)
    const right = text.slice(middle - half)
    if (test(left)) text = left
    else if (test(right)) {
      offset += middle - half
      text = right
    } else break
  }
  return { text, offset }
}
