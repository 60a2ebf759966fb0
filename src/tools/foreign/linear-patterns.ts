/**
 * Patterns of foreign schemas, by RE2: what one takes grows with the text and with nothing else.
 *
 * - The engine is large and few schemas have patterns: it is loaded with the first that has. Until it is there, and
 *   for what it does not know (lookaround, references back), there is no answer.
 */
import type { RE2JS } from 're2js'

let engine: typeof RE2JS | undefined
let loading: Promise<void> | undefined

export function loadPatterns(): Promise<void> {
  return (loading ??= import('re2js').then(({ RE2JS: loaded }) => {
    engine = loaded
  }))
}

const longest = 2_000

/** Undefined: there is no saying; `null`: not yet. */
export function compilePattern(pattern: string): RE2JS | undefined | null {
  if (pattern.length > longest) return undefined
  if (!engine) return null
  try {
    return engine.compile(engine.translateRegExp(pattern))
  } catch {
    return undefined
  }
}
