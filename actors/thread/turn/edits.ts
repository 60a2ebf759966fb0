/**
 * Messages as they read now (F4): edits are an overlay on what was recorded, applied where messages are read. Pure.
 *
 * ED1 A call keeps its result and a result its call (M2): removing a reply with calls, or a result, removes its text
 *     alone.
 * - An edited reply loses its reasoning and its provider's parts: they belonged to the text that it had.
 */
import { attachedText } from '../../../src/core/attachments.js'
import type { MessageEdit } from '../state.js'
import { defined } from '../../../src/core/defined.js'
import type { Message } from '../../../src/core/records/message.js'

/** The text of a result that was removed. */
const removed = '[removed]'

export type Edits = ReadonlyMap<string, MessageEdit>

export function editsOf(list: readonly MessageEdit[]): Edits | undefined {
  return list.length === 0 ? undefined : new Map(list.map((edit) => [edit.id, edit]))
}

/** Undefined: the message was removed. */
export function withEdits(edits: Edits | undefined, message: Message): Message | undefined {
  const edit = edits?.get(message.id)
  if (!edit) return message
  const { kept: _, reasoning: __, media, attachments, ...plain } = message
  // Its files stay, and the model must still read where they are.
  const where =
    attachments && attachments.length > 0 && message.role !== 'tool' ? `\n\n${attachedText(attachments)}` : ''
  if (edit.text !== undefined) return { ...plain, text: `${edit.text}${where}`, ...defined({ media, attachments }) }
  if (message.role === 'tool') return { ...plain, text: removed }
  return message.calls ? { ...plain, text: '' } : undefined
}
