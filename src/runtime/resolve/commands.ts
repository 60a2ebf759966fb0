/**
 * From a command to an order: what it says about a tool is checked against the tool's definition, so that the thread
 * decides about nothing but facts. A mistake is an answer to whoever sent it, and changes nothing.
 */
import type { ResolvedCommand } from '../../../actors/thread/decide/decision.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { toAmounts } from '../../core/budget.js'
import type { Command } from '../../core/records/command.js'
import { noEnv } from '../../core/env.js'
import { failure, toFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import { parseCallId } from '../../core/records/message.js'
import type { RecordedCall } from '../../core/records/record.js'
import type { ToolDefinition } from '../../agent/define.js'
import { isTooShort, tooShort } from '../../agent/variables.js'
import { answerCheck } from '../../tools/own/runtime.js'
import type { CheckedAnswer } from '../../tools/own/runtime.js'
import { toOutcome } from '../../tools/outcome.js'
import { idempotencyKeyOf, recordCall, recordEdited } from './tool-calls.js'
import type { Services } from '../effects/model-call.js'
import { checkContexts } from './contexts.js'
import { maskCommand } from '../secrets/mask.js'
import { checkSchedules } from '../effects/timers.js'

export type CommandResolution = { readonly order: ResolvedCommand } | { readonly refused: Failure }

/** A promise only where a definition's function gives one. What such a function throws is an answer too. */
export function resolveCommand(
  means: Services,
  state: ThreadState,
  command: Command,
): CommandResolution | Promise<CommandResolution> {
  const refused = (thrown: unknown): CommandResolution => ({
    refused: failure(
      'BAD_OPTION',
      `the tool's definition could not decide about this: ${toFailure(thrown, 'BAD_OPTION').message}`,
    ),
  })
  const reached = means.quotas?.refusal(state, command)
  if (reached) return { refused: reached }
  try {
    const redactor = means.envs.redactor(
      command.kind === 'create'
        ? { id: state.id, path: command.path, agent: command.agent, child: command.child, env: command.env ?? noEnv }
        : state,
    )
    const named =
      command.kind === 'message' && redactor
        ? command.attachments?.some(([, name]) => redactor.text(name) !== name)
        : false
    if (named)
      return {
        refused: failure(
          'BAD_OPTION',
          'nothing was sent: the name of an attachment holds a secret of this thread; give it another name',
        ),
      }
    const ordered = orderOf(means, state, redactor ? maskCommand(redactor, command) : command)
    return ordered instanceof Promise ? ordered.catch(refused) : ordered
  } catch (thrown) {
    return refused(thrown)
  }
}

function orderOf(
  means: Services,
  state: ThreadState,
  command: Command,
): CommandResolution | Promise<CommandResolution> {
  if (command.kind === 'decide') return decision(means, state, command)
  if (command.kind === 'answer') return answered(means, state, command)
  if (command.kind === 'env' || command.kind === 'create' || command.kind === 'provide') {
    const refused = checkEnv(means, state, command)
    if (refused) return { refused }
  }
  if (command.kind === 'create' || command.kind === 'message') {
    const seeded = checkContexts(means.app, state, command)
    return 'refused' in seeded ? seeded : placed(means, state, seeded)
  }
  return placed(means, state, command)
}

/** What it says of calls and times, checked. */
function placed(
  means: Services,
  state: ThreadState,
  command: Exclude<Command, { kind: 'decide' | 'answer' }>,
): CommandResolution | Promise<CommandResolution> {
  if (command.kind === 'change' || command.kind === 'create') {
    const checked = checkSchedules(means, command)
    return 'refused' in checked ? checked : { order: budgeted(means, checked) }
  }
  if (command.kind === 'receipt') return receipt(state, command)
  if (command.kind !== 'call') return { order: command }
  const { tool, args } = command
  const recorded = recordCall(means, { threadId: state.id, allowed: new Set(means.app.tools.keys()) }, { tool, args })
  const ordered = (call: Awaited<typeof recorded>): CommandResolution =>
    call.refused ? { refused: call.refused } : { order: { kind: 'call', call } }
  return recorded instanceof Promise ? recorded.then(ordered) : ordered(recorded)
}

/** The call may have been approved with other args since: that is another one. */
function receipt(state: ThreadState, command: Extract<Command, { kind: 'receipt' }>): CommandResolution {
  const slot = command.step === state.step ? state.slots.items[command.index] : undefined
  if (!slot || idempotencyKeyOf(state.id, command, slot.call) === command.key) return { order: command }
  return {
    refused: failure('COMMAND_REFUSED', `thread ${state.id} has another call in the place that this receipt is for`),
  }
}

/** Of a thread that nobody has given one, its agent says it; a child's comes with its messages. */
function budgeted<Given extends Extract<Command, { kind: 'change' | 'create' }>>(
  { app }: Services,
  command: Given,
): Given {
  if (command.kind !== 'create' || command.parent !== undefined || command.budget) return command
  const budget = app.agents.get(command.agent)?.budget
  return budget ? { ...command, budget: toAmounts(budget) } : command
}

/** Whoever sealed the values need not know what is declared, nor which key this host has. */
function checkEnv(
  { envs }: Services,
  { id, path }: ThreadState,
  command: Extract<Command, { kind: 'env' | 'create' | 'provide' }>,
): Failure | undefined {
  const [given, inherited] =
    command.kind === 'create'
      ? [command.env, command.parent !== undefined]
      : [command, command.kind === 'env' && command.level === 'inherited']
  if (!given || given.keys.length === 0) return undefined
  try {
    for (const wrapped of given.keys) envs.secrets.vault.check(wrapped)
    if (inherited) return undefined
    const root = command.kind === 'create' ? command.path[0] : path[0]
    for (const [name, sealed] of Object.entries('set' in given ? given.set : given.own)) {
      const value =
        sealed !== null && envs.declarations.isDeclaredSecret(name)
          ? envs.secrets.vault.open(given.keys, sealed, { root: root ?? id, name })
          : ''
      if (isTooShort(value)) return failure('BAD_OPTION', `the value of ${name}, ${tooShort}; nothing was changed`)
    }
    return undefined
  } catch (thrown) {
    const why = toFailure(thrown, 'SECRET_UNREADABLE')
    const { needed, given: own } = isObject(why.data) ? why.data : {}
    if (typeof needed !== 'string' || typeof own !== 'string') return why
    return failure(
      'SECRET_UNREADABLE',
      `nothing was changed: these values were sealed with the key ${needed}, and the host has the key ${own}; ` +
        `give the same key to both (SKEIN_KEY_FILE, SKEIN_KEY)`,
    )
  }
}

function calledBy({ slots, step }: ThreadState, call: string): RecordedCall | undefined {
  const place = parseCallId(call)
  return place?.step === step ? slots.items[place.index]?.call : undefined
}

function decision(
  means: Services,
  state: ThreadState,
  { args, ...rest }: Extract<Command, { kind: 'decide' }>,
): CommandResolution {
  const tool = calledBy(state, rest.call)?.tool
  if (args === undefined || tool === undefined || rest.decision === 'reject') return { order: rest }
  const edited = recordEdited(means, tool, args)
  return edited.refused ? { refused: edited.refused } : { order: { ...rest, edited } }
}

/** What the tool itself does not look at must fit its `outputSchema`, so that the person can correct it. */
function answered(
  { app }: Services,
  state: ThreadState,
  command: Extract<Command, { kind: 'answer' }>,
): CommandResolution {
  const call = calledBy(state, command.call)
  const tool: (ToolDefinition & CheckedAnswer) | undefined = call && app.tools.get(call.tool)
  if (!call || !tool) return { order: command }
  try {
    tool[answerCheck]?.(call.args, command.output)
  } catch (thrown) {
    return { refused: failure('BAD_OPTION', `this answer does not fit: ${toFailure(thrown, 'BAD_OPTION').message}`) }
  }
  if (tool.onResponseReceived || !tool.outputSchema) return { order: command }
  const outcome = toOutcome(tool.name, command.output, tool.outputSchema)
  return outcome.ok
    ? { order: command }
    : { refused: failure('BAD_OPTION', `this answer does not fit: ${outcome.failure.message}`) }
}
