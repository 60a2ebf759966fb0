/**
 * Files that a message or an answer brings along, and the quota of the thread that gets them (F5). What is said is heard in any
 * case; files that do not fit are left out, and that is told.
 */
import type { ThreadState } from '../../actors/thread/state.js'
import type { Command } from '../core/command.js'
import { usageOf } from '../core/tree.js'
import type { FrozenTree } from '../core/tree.js'

type Bringing = Extract<Command, { kind: 'message' | 'report' | 'tell' }>

export function withinQuota({ quotaBytes }: { readonly quotaBytes: number }, { files }: ThreadState, command: Bringing): Bringing {
  const fits = (brought: FrozenTree): boolean => {
    const bytes = brought.reduce((sum, row) => sum + (row[2] === 'file' ? row[4] : 0), 0)
    return usageOf(files).bytes + bytes <= quotaBytes
  }
  const note = `[its attachments were left out: your files may hold ${quotaBytes} bytes; remove some first]`
  if (command.kind === 'tell') return { ...command, words: command.words.map((word) => ('attachments' in word && word.attachments && !fits(word.attachments) ? { text: `${word.text}\n\n${note}` } : word)) }
  if (!command.attachments) return command
  if (command.kind === 'message') {
    const { attachments, ...rest } = command
    return fits(attachments) ? command : { ...rest, text: `${command.text}\n\n${note}` }
  }
  const { attachments, ...rest } = command
  return fits(attachments.files) ? command : { ...rest, note: command.note === undefined ? note : `${command.note}\n\n${note}` }
}
