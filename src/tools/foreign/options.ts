/**
 * What a caller may say of foreign tools, of all of them or by name, and what holds when nothing is said.
 *
 * - A foreign tool is taken to change the world outside, in any order (architecture: side effect that commutes),
 *   until it or the caller says otherwise; the caller has the last word.
 */
import type { ToolDefinition } from '../../agent/define.js'
import { SkeinError } from '../../core/failure.js'

/** Fields of a definition that a caller may set over what the foreign tool says. */
export type Overrides = Partial<
  Pick<
    ToolDefinition,
    | 'description'
    | 'parameters'
    | 'outputSchema'
    | 'variables'
    | 'needsApproval'
    | 'approvalPrompt'
    | 'approvalDefaults'
    | 'approvalDeadline'
    | 'maxExecutionsPerRun'
    | 'cache'
    | 'retry'
    | 'timeoutMs'
    | 'sideEffect'
    | 'commutes'
    | 'idempotent'
    | 'probe'
    | 'onUnknown'
    | 'revert'
    | 'retention'
    | 'toModelOutput'
    | 'cpu'
    | 'where'
  >
>

export interface ForeignOptions extends Overrides {
  /** For single tools, over what is said for all; by the name that the tool has at home. */
  readonly byName?: Readonly<Record<string, Overrides>>
}

/** What is said of one tool, weakest first. */
export function resolveOptions(said: Overrides, { byName, ...all }: ForeignOptions, name: string): Overrides {
  const { sideEffect = true, ...rest }: Overrides = { ...said, ...all, ...byName?.[name] }
  if (sideEffect) return { commutes: true, ...rest, sideEffect }
  // Words about a side effect, said for all, do not reach a tool without one.
  const {
    commutes: _commutes,
    idempotent: _idempotent,
    probe: _probe,
    onUnknown: _onUnknown,
    revert: _revert,
    ...free
  } = rest
  return { ...free, sideEffect }
}

/** A name that nothing has is a mistake, not a wish. */
export function checkNames(asked: readonly string[], there: readonly string[], source: string): void {
  const missing = asked.filter((name) => !there.includes(name))
  if (missing.length === 0) return
  throw new SkeinError(
    'BAD_OPTION',
    `${source} has no tool ${missing.map((name) => JSON.stringify(name)).join(', ')}; there are: ` +
      `${there.join(', ') || 'none'}`,
  )
}
