/**
 * Fields of a tool that must be there together, or must not (D3, D4). Each field alone has been checked by then.
 */
import type { ToolDefinition } from '../define.js'
import { effectOf, isComplete } from '../effect.js'
import { kindOf, tagOf } from '../tool-kind.js'

/** Mistakes that a tool shows by itself. */
export function checkShape(tool: ToolDefinition): readonly string[] {
  const { execute, onToolCalled, eventSchema } = tool
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
      answered && wanted(tool.cache),
      '`cache` is for tools with `execute`: what a person or the caller answers is not kept',
    ],
    [answered && tool.retry !== undefined, '`retry` is for tools with `execute`: nobody is asked twice'],
    [
      kind === 'manual' && wanted(tool.needsApproval),
      '`needsApproval` has no meaning with `execute: false`: whoever answers decides',
    ],
    ...approvalFields.map(
      (field) =>
        [!wanted(tool.needsApproval) && tool[field] !== undefined, `\`${field}\` needs \`needsApproval\``] as const,
    ),
  ]
  return says.flatMap(([wrong, text]) => (wrong ? [text] : []))
}

const approvalFields = ['approvalPrompt', 'approvalDefaults', 'approvalDeadline'] as const

function wanted(field: unknown): boolean {
  return field !== undefined && field !== false
}

/** Words about a side effect, where there is none. Of a tool that uses one that is missing or wrong nobody can say. */
export function checkEffect(
  tool: ToolDefinition,
  app: { readonly tools: ReadonlyMap<string, ToolDefinition> },
): readonly string[] {
  if (effectOf(tool, app).sideEffect || !isComplete(tool, app)) return []
  const { commutes, idempotent, probe, onUnknown, revert } = tool
  const words = {
    commutes: commutes === true,
    'idempotent: false': idempotent === false,
    probe: probe !== undefined,
    onUnknown: onUnknown !== undefined,
    revert: revert !== undefined,
  }
  return Object.entries(words).flatMap(([word, said]) =>
    said ? [`\`${word}\` speaks of a side effect: say \`sideEffect: true\`, or leave it out`] : [],
  )
}
