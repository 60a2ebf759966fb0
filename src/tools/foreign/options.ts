/**
 * Options for foreign tools, for all of them or by name, and their defaults.
 *
 * - A foreign tool is assumed to have a side effect that commutes, unless the tool or the app says otherwise; the app
 *   has the last word.
 */
import { z } from 'zod'
import type { ToolDefinition } from '../../agent/define.js'
import { SkeinError } from '../../core/failure.js'

/** Fields of a definition that an app may override. */
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
  /** For single tools, overriding what holds for all; by the tool's original name. */
  readonly byName?: Readonly<Record<string, Overrides>>
}

const field = z.unknown().optional()

/** Names only: the values are checked as parts of the definitions that they become. */
const overrides = {
  description: field,
  parameters: field,
  outputSchema: field,
  variables: field,
  needsApproval: field,
  approvalPrompt: field,
  approvalDefaults: field,
  approvalDeadline: field,
  maxExecutionsPerRun: field,
  cache: field,
  retry: field,
  timeoutMs: field,
  sideEffect: field,
  commutes: field,
  idempotent: field,
  probe: field,
  onUnknown: field,
  revert: field,
  retention: field,
  toModelOutput: field,
  cpu: field,
  where: field,
} satisfies Readonly<Record<keyof Overrides, typeof field>>

export const foreignSchema = z.strictObject({
  ...overrides,
  byName: z.record(z.string(), z.strictObject(overrides)).optional(),
})

/** The options of one tool: its own, overridden by those for all, overridden by those for its name. */
export function resolveOptions(own: Overrides, { byName, ...all }: ForeignOptions, name: string): Overrides {
  const { sideEffect = true, ...rest }: Overrides = { ...own, ...all, ...byName?.[name] }
  if (sideEffect) return { commutes: true, ...rest, sideEffect }
  // Options about side effects that hold for all do not apply to a tool without one.
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

/** Throws for names that no tool has. */
export function checkNames(names: readonly string[], known: readonly string[], source: string): void {
  const missing = names.filter((name) => !known.includes(name))
  if (missing.length === 0) return
  throw new SkeinError(
    'BAD_OPTION',
    `${source} has no tool ${missing.map((name) => JSON.stringify(name)).join(', ')}; there are: ` +
      `${known.join(', ') || 'none'}`,
  )
}
