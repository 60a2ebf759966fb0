/**
 * Whether a body that acts on the world looks at its idempotency key (T10). Read off its source, so it is a guess: it
 * errs on the side of silence.
 */
import type { ToolDefinition } from '../define.js'

/**
 * True for a side effect that nobody can tell from its repetition: the body never sees the key, and no probe can ask.
 */
export function ignoresKey(tool: ToolDefinition): boolean {
  const { execute, onToolCalled, sideEffect, idempotent, probe, uses = [] } = tool
  const body = execute === undefined ? onToolCalled : execute
  if (!sideEffect || idempotent || probe || uses.length > 0 || typeof body !== 'function') return false
  const text = Function.prototype.toString.call(body)
  if (/idempotencyKey|\[native code\]|\barguments\b/.test(text)) return false
  return !handsOn(text)
}

/** The first parameter: of `async *name(state, args)`, `(state) =>`, `state =>`, `({ files }) =>`, `(...all) =>`. */
const firstParameter =
  /^(?:(?:async|function|\*|\[[^\]]*\]|[\w$]+)\s*)*?(?:\(\s*(\{[^}]*\}|\.\.\.|[\w$]+)|([\w$]+)\s*=>)/

/** The whole state may go to another function, which may look at the key. */
function handsOn(text: string): boolean {
  const found = firstParameter.exec(text)
  const state = found?.[1] ?? found?.[2]
  if (!found || state === undefined) return false
  if (state.startsWith('{')) return state.includes('...')
  if (state === '...') return true
  const rest = text.slice(found[0].length)
  return new RegExp(`(?<![\\w$.])${state.replaceAll('$', '\\$')}(?![\\w$]|\\s*\\??\\.)`).test(rest)
}
