/**
 * The names of our tests, read from their sources: what each says it proves, and whether it is skipped.
 *
 * - A test says what it proves by beginning its name with labels: `T3: …`, or `T3, SL2: …` for several.
 * - A name is what stands in the source, `%s` of a table and `${…}` of a template included, with its quotes
 *   unescaped.
 */
import { lineAt, scan } from './source.js'
import type { Source } from './source.js'

export interface NamedTest {
  readonly path: string
  readonly line: number
  readonly name: string
  /** Contract ids, or invariants of modules. */
  readonly labels: readonly string[]
  readonly skipped: boolean
  /** Skipped where something is missing that it needs (`skipIf`, `runIf`). */
  readonly conditional: boolean
}

/** `it(`, `it.skip(`, `it.each<…>(…)(`, `test.prop([…])(`: the last of these parentheses opens on the name. */
const testCall = /(?<![\w$.])(?:it|test|describe)(?=[.(])/g
const labelled = /^([A-Z]{1,3}\d+(?:, ?[A-Z]{1,3}\d+)*): /

export function namedTests(sources: readonly Source[]): readonly NamedTest[] {
  return sources.flatMap((source) => {
    const { code, literals } = scan(source)
    const calls = [...code.matchAll(testCall)].flatMap((match) => callAt(code, match.index, match[0].length))
    const within = (start: number, ...words: readonly string[]): boolean =>
      calls.some(
        (call) => call.start <= start && start < call.end && words.some((word) => call.modifiers.includes(word)),
      )
    return calls.map(({ start, quote }) => {
      const name = (literals.get(quote) ?? '').replace(/\\(['"`])/g, '$1').replace(/\s+/g, ' ')
      const labels = labelled.exec(name)?.[1]?.split(/, ?/) ?? []
      const [skipped, conditional] = [within(start, 'skip', 'todo'), within(start, 'skipIf', 'runIf')]
      return { path: source.path, line: lineAt(source.text, start), name, labels, skipped, conditional }
    })
  })
}

interface TestCall {
  readonly start: number
  readonly end: number
  readonly quote: number
  readonly modifiers: readonly string[]
}

/**
 * Walks over `.modifier`, type arguments, `(args)` and the table of `each` to the parenthesis that opens on a literal.
 */
function callAt(code: string, start: number, wordLength: number): readonly TestCall[] {
  const modifiers: string[] = []
  let at = start + wordLength
  while (at < code.length) {
    const modifier = /^\s*\.(\w+)/.exec(code.slice(at, at + 80))
    if (modifier?.[1]) {
      modifiers.push(modifier[1])
      at += modifier[0].length
      if (code[at] === '<') at = closingOf(code, at) + 1
      continue
    }
    const open = /^\s*\(\s*/.exec(code.slice(at, at + 400))
    if (!open) return []
    const quote = at + open[0].length
    const end = closingOf(code, at + open[0].indexOf('(')) + 1
    if (/['"`]/.test(code[quote] ?? '')) return [{ start, end, quote, modifiers }]
    at = end
  }
  return []
}

/**
 * The bracket that closes the one at `open`, a parenthesis or that of type arguments; the arrow of a type closes none.
 */
function closingOf(code: string, open: number): number {
  const [opens, closes] = code[open] === '<' ? ['<', '>'] : ['(', ')']
  let depth = 0
  for (let at = open; at < code.length; at++) {
    if (code[at] === opens) depth++
    else if (code[at] === closes && code[at - 1] !== '=' && --depth === 0) return at
  }
  return code.length
}
