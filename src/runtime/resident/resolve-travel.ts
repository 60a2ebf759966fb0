/**
 * Commands that stand on a past: it is read before the thread decides, because decisions and the fold read nothing.
 *
 * - A past that cannot be read for good is a refusal; where the store is away, the thread starts over and its mail
 *   stays.
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Backend } from '../../backend/port.js'
import { isSkeinError, toFailure } from '../../core/failure.js'
import type { FailureCode } from '../../core/failure.js'
import type { Command } from '../../core/records/command.js'
import { loadPast, ownPast } from '../journal/past.js'
import type { CommandResolution } from '../resolve/hooked-mail.js'
import type { Services } from '../services.js'
import { recordReverts } from './reverts.js'

export interface TravelServices {
  readonly backend: Backend
  readonly services: Services
}

type Create = Extract<Command, { readonly kind: 'create' }>

type Fork = Create & { readonly based: NonNullable<Create['based']> }
type Rewind = Extract<Command, { readonly kind: 'rewind' }>
type Travel = Fork | Rewind

/** Whether a command stands on a past. */
export function travels(command: Command): command is Travel {
  return command.kind === 'rewind' || (command.kind === 'create' && command.based !== undefined)
}

const final: ReadonlySet<FailureCode> = new Set<FailureCode>([
  'BAD_OPTION',
  'BLOB_MISSING',
  'JOURNAL_CORRUPT',
  'RECORD_FROM_FUTURE',
  'SECRET_UNREADABLE',
])

export async function resolveTravel(
  { backend, services }: TravelServices,
  state: ThreadState,
  command: Travel,
): Promise<CommandResolution> {
  const reached = services.quotas?.refusal(state, command)
  if (reached) return { refused: reached }
  try {
    return await (command.kind === 'rewind'
      ? resolveRewind({ backend, services }, state, command)
      : resolveFork({ backend, services }, state, command))
  } catch (thrown) {
    if (isSkeinError(thrown) && final.has(thrown.code)) return { refused: toFailure(thrown, 'STORE_FAILED') }
    throw thrown
  }
}

async function resolveFork(
  { backend, services }: TravelServices,
  state: ThreadState,
  command: Fork,
): Promise<CommandResolution> {
  // A thread that exists is not created again.
  if (state.seq > 0) return { resolved: command }
  const { keys } = command.based
  if (keys.length > 0) await services.envs.secrets.admit(keys)
  return { resolved: { ...command, past: await loadPast(backend.blobs, command.based) } }
}

/** What is undone first is resolved whole, before anything is touched; then the past is read when that is done. */
async function resolveRewind(
  { backend, services }: TravelServices,
  { id }: ThreadState,
  { reverts = [], ...command }: Rewind,
): Promise<CommandResolution> {
  if (reverts.length === 0) return { resolved: { ...command, past: await ownPast(backend, id, command.to) } }
  const { records } = await ownPast(backend, id, command.seen)
  const recorded = recordReverts(services, records, reverts)
  return 'refused' in recorded ? recorded : { resolved: { ...command, reverts: recorded.calls } }
}
