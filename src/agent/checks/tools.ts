/**
 * Checks that need more than one field of a tool: fields that require or exclude one another (D3, D4), side effects
 * with the tools that it uses, and the use of the idempotency key (T10). Each field alone was checked by `checkForm`.
 */
import type { ToolDefinition } from '../define.js'
import { effectOf, isComplete, kindOf, tagOf } from '../effect.js'

/** Mistakes that show without any other definition. */
export function checkShape(tool: ToolDefinition): readonly string[] {
  const { execute, onToolCalled, eventSchema } = tool
  if (tool.provider) return besideProvider(tool)
  if (execute === undefined && onToolCalled === undefined)
    return ['it needs `execute` (a function, an async generator, or false when the caller answers) or `onToolCalled`']
  if (execute !== undefined && onToolCalled !== undefined)
    return ['it has both `execute` and `onToolCalled`; keep the one that answers the call']
  if (tagOf(execute) === 'GeneratorFunction')
    return ['`execute` is a generator that is not async; write `async *execute(state, args)`']
  const kind = kindOf(tool)
  const answered = kind === 'manual' || kind === 'human'
  const says: readonly (readonly [wrong: boolean, text: string])[] = [
    [kind === 'generator' && !eventSchema, '`execute` is a generator: `eventSchema` must say what it yields'],
    [
      kind !== 'generator' && eventSchema !== undefined,
      '`eventSchema` is for generators; write `async *execute(state, args)` or leave it out',
    ],
    [kind === 'human' && !tool.outputSchema, 'a person answers it: `outputSchema` must say what an answer is'],
    [
      !answered && tool.onResponseReceived !== undefined,
      '`onResponseReceived` is for tools that someone answers (`onToolCalled`, or `execute: false`)',
    ],
    [
      answered && isSet(tool.cache),
      '`cache` is for tools with `execute`: what a person or the caller answers is not kept',
    ],
    [answered && tool.retry !== undefined, '`retry` is for tools with `execute`: nobody is asked twice'],
    [
      kind === 'manual' && isSet(tool.needsApproval),
      '`needsApproval` has no meaning with `execute: false`: whoever answers decides',
    ],
    ...approvalFields.map(
      (field) =>
        [!isSet(tool.needsApproval) && tool[field] !== undefined, `\`${field}\` needs \`needsApproval\``] as const,
    ),
  ]
  return says.flatMap(([wrong, text]) => (wrong ? [text] : []))
}

/** The provider runs it: whatever says how Skein would run it has no meaning. */
function besideProvider(tool: ToolDefinition): readonly string[] {
  const known = new Set(['kind', 'name', 'description', 'provider', 'args'])
  const [field] = Object.entries(tool).flatMap(([name, value]) =>
    known.has(name) || value === undefined ? [] : [name],
  )
  return field === undefined ? [] : [`\`${field}\` has no meaning with \`provider\`: the provider runs the tool`]
}

const approvalFields = ['approvalPrompt', 'approvalDefaults', 'approvalDeadline'] as const

function isSet(field: unknown): boolean {
  return field !== undefined && field !== false
}

/** Fields that describe a side effect of a tool that has none. Not decidable while a tool that it uses is missing. */
export function checkEffect(
  tool: ToolDefinition,
  app: { readonly tools: ReadonlyMap<string, ToolDefinition> },
): readonly string[] {
  if (effectOf(tool, app).sideEffect || !isComplete(tool, app)) return []
  const { commutes, idempotent, probe, onUnknown, revert } = tool
  const fields = {
    commutes: commutes === true,
    'idempotent: false': idempotent === false,
    probe: probe !== undefined,
    onUnknown: onUnknown !== undefined,
    revert: revert !== undefined,
  }
  return Object.entries(fields).flatMap(([field, isGiven]) =>
    isGiven ? [`\`${field}\` speaks of a side effect: say \`sideEffect: true\`, or leave it out`] : [],
  )
}

// ── idempotency key ──

/**
 * T10: true for a side effect whose repetition cannot be recognised: the body never uses its idempotency key, and there
 * is no probe. It is read off the source of the body and errs on the side of silence.
 */
export function ignoresKey(tool: ToolDefinition): boolean {
  const { execute, onToolCalled, sideEffect, idempotent, probe, uses = [] } = tool
  const body = execute === undefined ? onToolCalled : execute
  if (!sideEffect || idempotent || probe || uses.length > 0 || typeof body !== 'function') return false
  const text = Function.prototype.toString.call(body)
  if (/idempotencyKey|\[native code\]|\barguments\b/.test(text)) return false
  return !passesState(text)
}

/** The first parameter: of `async *name(state, args)`, `(state) =>`, `state =>`, `({ files }) =>`, `(...all) =>`. */
const firstParameter =
  /^(?:(?:async|function|\*|\[[^\]]*\]|[\w$]+)\s*)*?(?:\(\s*(\{[^}]*\}|\.\.\.|[\w$]+)|([\w$]+)\s*=>)/

/** The body may pass its whole state to another function, which may use the key. */
function passesState(text: string): boolean {
  const found = firstParameter.exec(text)
  const state = found?.[1] ?? found?.[2]
  if (!found || state === undefined) return false
  if (state.startsWith('{')) return state.includes('...')
  if (state === '...') return true
  const rest = text.slice(found[0].length)
  return new RegExp(`(?<![\\w$.])${state.replaceAll('$', '\\$')}(?![\\w$]|\\s*\\??\\.)`).test(rest)
}
