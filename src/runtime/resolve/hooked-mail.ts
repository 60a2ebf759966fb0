/**
 * What hooks make of mail (K1): of a thread that is to be created, and of a message. Asked after the command was
 * checked, so that a hook reads nothing that will be refused anyway; what it refuses is an answer to the sender.
 */
import type { ResolvedCommand } from '../../../actors/thread/decide/decision.js'
import { hasEnded } from '../../../actors/thread/state.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { Command } from '../../core/records/command.js'
import type { AskedHook } from '../../core/records/hook.js'
import type { SideName } from '../../core/records/message.js'
import type { Redactor } from '../../core/redact/redact.js'
import type { Hooks } from '../hooks/ask-hooks.js'
import type { RecordAsking } from '../hooks/call-questions.js'
import { askMessage, askThreadCreated } from '../hooks/mail-questions.js'
import type { CallDefinitions } from './tool-calls.js'

export type CommandResolution = { readonly resolved: ResolvedCommand } | { readonly refused: Failure }

interface MailServices extends CallDefinitions {
  readonly quotas?: { refusal(state: ThreadState, command: Command): Failure | undefined }
}

/** The thread that gets a command, and the id of the command. */
export interface Receiver {
  readonly state: ThreadState
  readonly id: string
  readonly redactor: Redactor | undefined
}

type CommandOf<Kind extends Command['kind']> = Extract<Command, { readonly kind: Kind }>
/** A command of one kind, as definitions resolve it. */
export type ResolutionOf<Of extends Command> = { readonly resolved: Of } | { readonly refused: Failure }

export function withMessageHooks(
  { hooks }: CallDefinitions,
  { state, id, redactor }: Receiver,
  resolution: ResolutionOf<CommandOf<'message'>>,
): CommandResolution | Promise<CommandResolution> {
  if (!hooks || 'refused' in resolution || hasEnded(state)) return resolution
  const { resolved } = resolution
  const side = readerOf(hooks, state.agent, resolved.role)
  if (!hooks.of(state.agent, side).message) return resolution
  const asking = { state, side, key: `hook/message/${id}`, redactor }
  return askMessage(hooks, asking, messageInput(resolved)).then(({ value: { text, refuse }, acted }) =>
    refuse === undefined
      ? { resolved: { ...resolved, text, ...actedField(acted) } }
      : { refused: refusal('the message', refuse) },
  )
}

/** An assistant's message is for side B, where there is one. */
function readerOf(hooks: Hooks, agent: string, role: CommandOf<'message'>['role']): SideName {
  return role === 'assistant' && Object.keys(hooks.of(agent, 'b')).length > 0 ? 'b' : 'a'
}

function messageInput({ text, role, delivery, replyTo }: Omit<CommandOf<'message'>, 'kind'>) {
  return { text, role, delivery, from: replyTo ? ('thread' as const) : ('caller' as const) }
}

/** Only where one has acted: a record says nothing of hooks that wanted nothing. */
function actedField(acted: readonly AskedHook[]): { readonly hooks?: readonly AskedHook[] } {
  return acted.length > 0 ? { hooks: acted } : {}
}

function refusal(what: string, why: string): Failure {
  return failure('HOOK_REFUSED', `${what} was refused: ${why}`)
}

export function withFirstHooks(
  services: MailServices,
  { state, id, redactor }: Receiver,
  resolution: ResolutionOf<CommandOf<'create'>>,
): CommandResolution | Promise<CommandResolution> {
  const { hooks } = services
  // A thread that exists is not created again.
  if (!hooks || 'refused' in resolution || state.seq > 0) return resolution
  const { resolved } = resolution
  const set = hooks.of(resolved.agent)
  if (!set.thread_created && !(set.message && resolved.message)) return resolution
  const { agent, path, tags } = resolved
  const asking = { state: { ...state, agent, path, tags }, key: 'hook/created', redactor }
  return askFirst(services, hooks, { asking, id, command: resolved })
}

interface FirstQuestion {
  readonly asking: RecordAsking & { readonly state: ThreadState }
  readonly id: string
  readonly command: CommandOf<'create'>
}

async function askFirst(
  { quotas }: MailServices,
  hooks: Hooks,
  { asking, id, command }: FirstQuestion,
): Promise<CommandResolution> {
  const { agent, parent, message } = command
  const input = { agent, tags: command.tags, ...defined({ parent, text: message?.text }) }
  const { value: wishes, acted } = await askThreadCreated(hooks, asking, input)
  const { files, values, tags, messages, refuse } = wishes
  if (refuse !== undefined) return { refused: refusal('the thread', refuse) }
  const changed = { ...command, tags: [...tags], ...changesOf(command, { files: [...files], values: [...values] }) }
  const reached = quotas?.refusal(asking.state, changed)
  if (reached) return { refused: reached }
  const first = message && (await askMessage(hooks, { ...asking, key: `hook/message/${id}` }, messageInput(message)))
  if (first?.value.refuse !== undefined) return { refused: refusal('the message', first.value.refuse) }
  return {
    resolved: {
      ...changed,
      ...(message && first && { message: { ...message, text: first.value.text } }),
      ...(messages.length > 0 && { stored: messages }),
      ...actedField([...acted, ...(first?.acted ?? [])]),
    },
  }
}

type Changes = NonNullable<CommandOf<'create'>['changes']>

function changesOf(
  { changes }: CommandOf<'create'>,
  { files, values }: Readonly<Required<Pick<Changes, 'files' | 'values'>>>,
): Pick<CommandOf<'create'>, 'changes'> {
  if (files.length === 0 && values.length === 0) return {}
  return {
    changes: {
      ...changes,
      ...(files.length > 0 && { files: [...(changes?.files ?? []), ...files] }),
      ...(values.length > 0 && { values: [...(changes?.values ?? []), ...values] }),
    },
  }
}
