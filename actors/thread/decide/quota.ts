/**
 * The quota of a thread's files (F5), for what commands bring. Whoever can send less is refused. What another thread
 * says is heard in any case: files that do not fit are left out, and the model reads that. What calls change is
 * decided with their verdict (policy.ts).
 */
import type { Command } from '../../../src/core/records/command.js'
import { applyChanges } from '../../../src/core/tree.js'
import { overQuota, treeUsage } from '../../../src/core/tree/tree-usage.js'
import type { FrozenTree } from '../../../src/core/tree.js'
import type { FileQuota, TreeUsage } from '../../../src/core/tree/tree-usage.js'
import { refuse } from './decision.js'
import type { Refusal, ResolvedCommand } from './decision.js'
import type { ThreadState } from '../state.js'

type CommandOf<Kind extends Command['kind']> = Extract<Command, { readonly kind: Kind }>

/** The command with what fits of it, or why nothing of it does. */
export function withinQuota(state: ThreadState, command: ResolvedCommand, quota: FileQuota): ResolvedCommand | Refusal {
  switch (command.kind) {
    case 'create':
    case 'change':
      return changesTooLarge(state, command, quota) ?? command
    case 'message':
      return command.replyTo ? messageThatFits(state, command, quota) : (tooLarge(state, command, quota) ?? command)
    case 'report':
      return reportThatFits(state, command, quota)
    case 'tell':
      return wordsThatFit(state, command, quota)
    default:
      return command
  }
}

function changesTooLarge(
  { files }: ThreadState,
  command: CommandOf<'change' | 'create'>,
  quota: FileQuota,
): Refusal | undefined {
  const changes = command.changes?.files ?? []
  const held = treeUsage(files)
  // Most changes fit even if every name in them were new: then the changed tree need not be made.
  const most = { ...held }
  for (const change of changes) {
    most.bytes += change.op === 'file' ? change.size : 0
    most.names += change.path.split('/').length
  }
  const exceeded = overQuota(quota, held, most) && overQuota(quota, held, treeUsage(applyChanges(files, changes, 0)))
  if (exceeded === undefined) return undefined
  return refuse('FILES_QUOTA', `nothing was changed: the thread's files would hold ${exceeded}; remove some first`)
}

function tooLarge(state: ThreadState, { attachments }: CommandOf<'message'>, quota: FileQuota): Refusal | undefined {
  const exceeded = attachments && exceededBy(state, attachments, quota)
  if (exceeded === undefined) return undefined
  const why = `with its attachments the thread's files would hold ${exceeded}; remove some first`
  return refuse('FILES_QUOTA', `nothing was sent: ${why}`)
}

function messageThatFits(state: ThreadState, command: CommandOf<'message'>, quota: FileQuota): CommandOf<'message'> {
  const { attachments, ...rest } = command
  return !attachments || exceededBy(state, attachments, quota) === undefined
    ? command
    : { ...rest, text: `${command.text}\n\n${leftOut(quota)}` }
}

function reportThatFits(state: ThreadState, command: CommandOf<'report'>, quota: FileQuota): CommandOf<'report'> {
  const { attachments, ...rest } = command
  if (!attachments || exceededBy(state, attachments.files, quota) === undefined) return command
  const { note } = command
  return { ...rest, note: note === undefined ? leftOut(quota) : `${note}\n\n${leftOut(quota)}` }
}

function wordsThatFit(state: ThreadState, command: CommandOf<'tell'>, quota: FileQuota): CommandOf<'tell'> {
  const words = command.words.map((word) =>
    'attachments' in word && word.attachments && exceededBy(state, word.attachments, quota) !== undefined
      ? { text: `${word.text}\n\n${leftOut(quota)}` }
      : word,
  )
  return { ...command, words }
}

function exceededBy({ files }: ThreadState, attachments: FrozenTree, quota: FileQuota): string | undefined {
  const held = treeUsage(files)
  return overQuota(quota, held, usageWith(held, attachments))
}

function usageWith(held: TreeUsage, attachments: FrozenTree): TreeUsage {
  const bytes = attachments.reduce((sum, row) => sum + (row[2] === 'file' ? row[4] : 0), held.bytes)
  return { ...held, bytes, names: held.names + attachments.length - 1 }
}

function leftOut({ quotaBytes, quotaNames }: FileQuota): string {
  const most = `${quotaBytes} bytes${quotaNames === undefined ? '' : ` in ${quotaNames} files, links and directories`}`
  return `[its attachments were left out: your files may hold ${most}; remove some first]`
}
