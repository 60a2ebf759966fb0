/**
 * Files that a message or an answer brings along, and the quota of the thread that gets them (F5). What another
 * thread says is heard in any case; files that do not fit are left out, and that is told. A caller from outside is
 * refused.
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Command } from '../../core/records/command.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { overQuota, treeUsage } from '../../core/tree.js'
import type { FileQuota, FrozenTree, TreeUsage } from '../../core/tree.js'

type Bringing = Extract<Command, { kind: 'message' | 'report' | 'tell' }>

interface Quota {
  readonly quota: FileQuota
}

function usageWith({ files }: ThreadState, brought: FrozenTree): TreeUsage {
  const held = treeUsage(files)
  const bytes = brought.reduce((sum, row) => sum + (row[2] === 'file' ? row[4] : 0), held.bytes)
  return { ...held, bytes, names: held.names + brought.length - 1 }
}

function most({ quotaBytes, quotaNames }: FileQuota): string {
  return `${quotaBytes} bytes${quotaNames === undefined ? '' : ` in ${quotaNames} files, links and directories`}`
}

/** A caller can send less: its message is refused. */
export function tooMuchFor(
  { quota }: Quota,
  state: ThreadState,
  { attachments }: Extract<Command, { kind: 'message' }>,
): Failure | undefined {
  const over = attachments && overQuota(quota, treeUsage(state.files), usageWith(state, attachments))
  return over === undefined
    ? undefined
    : failure(
        'FILES_QUOTA',
        `nothing was sent: with its attachments the thread's files would hold ${over}; remove some first`,
      )
}

/** A child's answer must be heard: it comes without its files. */
export function withinQuota({ quota }: Quota, state: ThreadState, command: Bringing): Bringing {
  const note = `[its attachments were left out: your files may hold ${most(quota)}; remove some first]`
  const fitting = (brought: FrozenTree): boolean =>
    overQuota(quota, treeUsage(state.files), usageWith(state, brought)) === undefined
  if (command.kind === 'tell')
    return {
      ...command,
      words: command.words.map((word) =>
        'attachments' in word && word.attachments && !fitting(word.attachments)
          ? { text: `${word.text}\n\n${note}` }
          : word,
      ),
    }
  if (!command.attachments) return command
  if (command.kind === 'message') {
    const { attachments, ...rest } = command
    return fitting(attachments) ? command : { ...rest, text: `${command.text}\n\n${note}` }
  }
  const { attachments, ...rest } = command
  return fitting(attachments.files)
    ? command
    : { ...rest, note: command.note === undefined ? note : `${command.note}\n\n${note}` }
}
