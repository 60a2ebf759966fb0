/**
 * Messages as they read now (F4): edits are an overlay on what was recorded, applied where messages are read.
 *
 * ED1 A call keeps its result and a result its call (M2): of a reply that calls and of a result only the words go.
 * - What a reply keeps for its model belonged to the words that it had.
 */
import { attachedText } from '../../core/attachments.js'
import type { MessageEdit } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import type { Message } from '../../core/records/message.js'

/** In place of a result that was taken out. */
const removed = '[removed]'

export type Edits = ReadonlyMap<string, MessageEdit>

export function editsOf(list: readonly MessageEdit[]): Edits | undefined {
  return list.length === 0 ? undefined : new Map(list.map((edit) => [edit.id, edit]))
}

/** Undefined: it is gone. */
export function withEdits(edits: Edits | undefined, message: Message): Message | undefined {
  const edit = edits?.get(message.id)
  if (!edit) return message
  const { kept: _, reasoning: __, media, attachments, ...plain } = message
  // Its files stay, and the model still reads where they are.
  const where =
    attachments && attachments.length > 0 && message.role !== 'tool' ? `\n\n${attachedText(attachments)}` : ''
  if (edit.text !== undefined) return { ...plain, text: `${edit.text}${where}`, ...defined({ media, attachments }) }
  if (message.role === 'tool') return { ...plain, text: removed }
  return message.calls ? { ...plain, text: '' } : undefined
}
