/**
 * Messages as they read now (F4): edits are an overlay on what was recorded, applied where messages are read. Pure.
 *
 * ED1 A call keeps its result and a result its call (M2): removing a reply with calls, or a result, removes its text
 *     alone.
 * - A hidden message is removed for models, and for them alone.
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

type Overlay = readonly MessageEdit[]

/** Without a text the message is removed; one that is hidden stays so. */
export function addEdit(list: Overlay, { id, text, seq }: MessageEdit): Overlay {
  const hidden = text === undefined ? undefined : list.find((other) => other.id === id)?.hidden
  return [...list.filter((other) => other.id !== id), { id, ...defined({ text, hidden }), seq }]
}

/** Hides messages; one that was removed stays removed. */
export function addHidden(list: Overlay, ids: readonly string[], seq: number): Overlay {
  const known = new Map(list.map((edit) => [edit.id, edit]))
  const hiding = [...new Set(ids)].filter((id) => !isRemoved(known.get(id)))
  const replaced = new Set(hiding)
  return [
    ...list.filter(({ id }) => !replaced.has(id)),
    ...hiding.map((id) => ({ id, ...defined({ text: known.get(id)?.text }), hidden: true as const, seq })),
  ]
}

function isRemoved(edit: MessageEdit | undefined): boolean {
  return edit !== undefined && edit.text === undefined && !edit.hidden
}

/** The message as a model or a person reads it; undefined: not at all. */
export function withEdits(
  edits: Edits | undefined,
  message: Message,
  reader: 'model' | 'person' = 'model',
): Message | undefined {
  const found = edits?.get(message.id)
  const edit = found?.hidden ? hiddenFrom(reader, found) : found
  if (!edit) return message
  const { kept: _, reasoning: __, media, attachments, ...plain } = message
  // Its files stay, and the model must still read where they are.
  const where =
    attachments && attachments.length > 0 && message.role !== 'tool' ? `\n\n${attachedText(attachments)}` : ''
  if (edit.text !== undefined) return { ...plain, text: `${edit.text}${where}`, ...defined({ media, attachments }) }
  if (message.role === 'tool') return { ...plain, text: removed }
  return message.calls ? { ...plain, text: '' } : undefined
}

/** To a model a hidden message is one that was removed. */
function hiddenFrom(reader: 'model' | 'person', { id, text, seq }: MessageEdit): MessageEdit | undefined {
  if (reader === 'model') return { id, seq }
  return text === undefined ? undefined : { id, text, seq }
}
