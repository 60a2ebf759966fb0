/**
 * Patterns of foreign schemas, compiled by RE2: matching takes time linear in the text.
 *
 * - The engine is large and few schemas have patterns: it is loaded with the first that has one. Until then, and for
 *   what RE2 does not support (lookaround, backreferences), there is no result.
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

/** Undefined if RE2 does not support it; `null` if the engine is not loaded yet. */
export function compilePattern(pattern: string): RE2JS | undefined | null {
  if (pattern.length > longest) return undefined
  if (!engine) return null
  try {
    return engine.compile(engine.translateRegExp(pattern))
  } catch {
    return undefined
  }
}
