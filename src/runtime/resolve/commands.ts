/**
 * From a command to a resolved command: everything in it that depends on a definition, a quota or a secret is checked
 * and replaced by facts, so that the thread decides about facts alone. A mistake is an answer to the sender, and
 * changes nothing.
 *
 * - Pure, but for the definition's own functions that tool-calls.ts asks. Values are opened to check and to mask them;
 *   none of them leaves this module.
 * - Files that a message or an answer brings count against the quota of the thread that gets them (F5). A message of
 *   a caller is refused; what another thread says is heard in any case, without the files that do not fit.
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import type { App } from '../../agent/app.js'
import type { ToolDefinition } from '../../agent/define.js'
import { isTooShort, tooShort } from '../../agent/variables.js'
import { toAmounts } from '../../core/budget.js'
import { noEnv } from '../../core/env.js'
import { failure, toFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import type { Command } from '../../core/records/command.js'
import { parseCallId } from '../../core/records/message.js'
import type { RecordedCall } from '../../core/records/record.js'
import type { Redactor } from '../../core/redact/redact.js'
import { toOutcome } from '../../tools/outcome.js'
import { answerCheck } from '../../tools/own/runtime.js'
import type { CheckedAnswer } from '../../tools/own/runtime.js'
import { maskCommand } from '../secrets/mask.js'
import { checkContexts } from './contexts.js'
import { checkSchedules } from './schedules.js'
import { withFirstHooks, withMessageHooks } from './hooked-mail.js'
import type { CommandResolution, Receiver, ResolutionOf } from './hooked-mail.js'
import { recordOutsideCall } from './hooked-calls.js'
import { idempotencyKeyOf, recordEdited } from './tool-calls.js'
import type { CallDefinitions } from './tool-calls.js'

export interface CommandServices extends CallDefinitions {
  /** Quotas per tag. */
  readonly quotas?: { refusal(state: ThreadState, command: Command): Failure | undefined }
}

type CommandOf<Kind extends Command['kind']> = Extract<Command, { kind: Kind }>

/** A promise only where a definition's own function returns one. What such a function throws is a refusal too. */
export function resolveCommand(
  services: CommandServices,
  state: ThreadState,
  { id, command }: { readonly id: string; readonly command: Command },
): CommandResolution | Promise<CommandResolution> {
  const reached = services.quotas?.refusal(state, command)
  if (reached) return { refused: reached }
  try {
    const redactor = redactorFor(services, state, command)
    if (redactor && namesSecret(redactor, command))
      return {
        refused: failure(
          'BAD_OPTION',
          'nothing was sent: the name of an attachment holds a secret of this thread; give it another name',
        ),
      }
    const masked = redactor ? maskCommand(redactor, command) : command
    const resolution = resolve(services, { state, id, redactor }, masked)
    return resolution instanceof Promise ? resolution.catch(undecided) : resolution
  } catch (thrown) {
    return undecided(thrown)
  }
}

function undecided(thrown: unknown): CommandResolution {
  const { message } = toFailure(thrown, 'BAD_OPTION')
  return { refused: failure('BAD_OPTION', `the tool's definition could not decide about this: ${message}`) }
}

/** The secrets of the thread, or of the thread that the command creates. */
function redactorFor({ envs }: CommandServices, state: ThreadState, command: Command): Redactor | undefined {
  if (command.kind !== 'create') return envs.redactor(state)
  const { path, agent, child, env = noEnv } = command
  return envs.redactor({ id: state.id, path, agent, child, env })
}

/** A masked name would be another file. */
function namesSecret(redactor: Redactor, command: Command): boolean {
  if (command.kind !== 'message' || !command.attachments) return false
  return command.attachments.some(([, name]) => redactor.text(name) !== name)
}

function resolve(
  services: CommandServices,
  receiver: Receiver,
  command: Command,
): CommandResolution | Promise<CommandResolution> {
  const { state } = receiver
  switch (command.kind) {
    case 'create':
      return withFirstHooks(services, receiver, resolveCreate(services, state, command))
    case 'message':
      return withMessageHooks(services, receiver, resolveMessage(services, state, command))
    case 'change':
      return resolveChanges(services, command)
    case 'call':
      return resolveCall(services, receiver, command)
    case 'decide':
      return resolveDecision(services, state, command)
    case 'answer':
      return resolveAnswer(services, state, command)
    case 'env':
    case 'provide': {
      const refused = checkEnv(services, state, command)
      return refused ? { refused } : { resolved: command }
    }
    case 'receipt':
      return resolveReceipt(state, command)
    case 'rewind':
      return { refused: failure('COMMAND_REFUSED', 'what the thread goes back to was not read') }
    default:
      return { resolved: command }
  }
}

function resolveCreate(
  services: CommandServices,
  state: ThreadState,
  command: CommandOf<'create'>,
): ResolutionOf<CommandOf<'create'>> {
  const refused = checkEnv(services, state, command)
  if (refused) return { refused }
  const seeded = checkContexts(services.app, state, command)
  return 'refused' in seeded ? seeded : resolveChanges(services, withBudget(services.app, seeded))
}

/** A root thread without a budget has that of its agent; a child's comes with its messages. */
function withBudget({ agents }: App, command: CommandOf<'create'>): CommandOf<'create'> {
  if (command.parent !== undefined || command.budget) return command
  const budget = agents.get(command.agent)?.budget
  return budget ? { ...command, budget: toAmounts(budget) } : command
}

function resolveMessage(
  services: CommandServices,
  state: ThreadState,
  command: CommandOf<'message'>,
): ResolutionOf<CommandOf<'message'>> {
  const seeded = checkContexts(services.app, state, command)
  return 'refused' in seeded ? seeded : { resolved: seeded }
}

function resolveChanges<Of extends CommandOf<'change' | 'create'>>(
  services: CommandServices,
  command: Of,
): ResolutionOf<Of> {
  const checked = checkSchedules(services.app, command)
  return 'refused' in checked ? checked : { resolved: checked }
}

function resolveCall(
  services: CommandServices,
  { state, id }: Receiver,
  { tool, args }: CommandOf<'call'>,
): CommandResolution | Promise<CommandResolution> {
  const allowed = new Set(services.app.tools.keys())
  const recorded = recordOutsideCall(services, { state, key: `call/${id}`, by: 'caller', allowed }, { tool, args })
  const resolution = (call: RecordedCall): CommandResolution =>
    call.refused ? { refused: call.refused } : { resolved: { kind: 'call', call } }
  return recorded instanceof Promise ? recorded.then(resolution) : resolution(recorded)
}

function resolveDecision(
  services: CommandServices,
  state: ThreadState,
  { args, ...command }: CommandOf<'decide'>,
): CommandResolution {
  const tool = callOf(state, command.call)?.tool
  if (args === undefined || tool === undefined || command.decision === 'reject') return { resolved: command }
  const edited = recordEdited(services, tool, args)
  return edited.refused ? { refused: edited.refused } : { resolved: { ...command, edited } }
}

/** An answer that no code of its tool reads must fit the `outputSchema`, so that the person can correct it. */
function resolveAnswer({ app }: CommandServices, state: ThreadState, command: CommandOf<'answer'>): CommandResolution {
  const call = callOf(state, command.call)
  const tool: (ToolDefinition & CheckedAnswer) | undefined = call && app.tools.get(call.tool)
  if (!call || !tool) return { resolved: command }
  try {
    tool[answerCheck]?.(call.args, command.output)
  } catch (thrown) {
    return { refused: failure('BAD_OPTION', `this answer does not fit: ${toFailure(thrown, 'BAD_OPTION').message}`) }
  }
  if (tool.onResponseReceived || !tool.outputSchema) return { resolved: command }
  const outcome = toOutcome(tool.name, command.output, tool.outputSchema)
  return outcome.ok
    ? { resolved: command }
    : { refused: failure('BAD_OPTION', `this answer does not fit: ${outcome.failure.message}`) }
}

/** Of the step that is open now. */
function callOf({ slots, step }: ThreadState, id: string): RecordedCall | undefined {
  const parsed = parseCallId(id)
  return parsed?.step === step ? slots.items[parsed.index]?.call : undefined
}

/** A call that was approved with other args since is another call. */
function resolveReceipt(state: ThreadState, command: CommandOf<'receipt'>): CommandResolution {
  const slot = command.step === state.step ? state.slots.items[command.index] : undefined
  if (!slot || idempotencyKeyOf(state.id, command, slot.call) === command.key) return { resolved: command }
  return {
    refused: failure('COMMAND_REFUSED', `thread ${state.id} has another call in the place that this receipt is for`),
  }
}

interface SealedValues {
  readonly keys: readonly string[]
  readonly values: Readonly<Record<string, string | null>>
  /** The root of the tree that they were sealed for. */
  readonly root: string
  /** A parent passes them on: they were checked when it got them. */
  readonly isInherited: boolean
}

function sealedValuesOf(
  { id, path }: ThreadState,
  command: CommandOf<'env' | 'create' | 'provide'>,
): SealedValues | undefined {
  if (command.kind === 'create') {
    const { env, path: newPath, parent } = command
    return env && { keys: env.keys, values: env.own, root: newPath[0] ?? id, isInherited: parent !== undefined }
  }
  const isInherited = command.kind === 'env' && command.level === 'inherited'
  return { keys: command.keys, values: command.set, root: path[0] ?? id, isInherited }
}

/** The client that sealed the values need not know what is declared, nor which key this host has. */
function checkEnv(
  { envs }: CommandServices,
  state: ThreadState,
  command: CommandOf<'env' | 'create' | 'provide'>,
): Failure | undefined {
  const sealed = sealedValuesOf(state, command)
  if (!sealed || sealed.keys.length === 0) return undefined
  const { keys, values, root, isInherited } = sealed
  const { vault } = envs.secrets
  try {
    for (const key of keys) vault.check(key)
    if (isInherited) return undefined
    for (const [name, value] of Object.entries(values)) {
      if (value === null || !envs.declarations.isDeclaredSecret(name)) continue
      if (isTooShort(vault.open(keys, value, { root, name })))
        return failure('BAD_OPTION', `the value of ${name}, ${tooShort}; nothing was changed`)
    }
    return undefined
  } catch (thrown) {
    return unreadable(thrown)
  }
}

function unreadable(thrown: unknown): Failure {
  const cause = toFailure(thrown, 'SECRET_UNREADABLE')
  const { needed, given } = isObject(cause.data) ? cause.data : {}
  if (typeof needed !== 'string' || typeof given !== 'string') return cause
  return failure(
    'SECRET_UNREADABLE',
    `nothing was changed: these values were sealed with the key ${needed}, and the host has the key ${given}; ` +
      `give the same key to both (SKEIN_KEY_FILE, SKEIN_KEY)`,
  )
}
