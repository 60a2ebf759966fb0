/**
 * Results that a model reads as markers, or not at all because a summary stands for them: `get_tool_response` gives
 * them back (T12). They are in the transcript, if that is loaded so far back, and else in the journal.
 *
 * - Only results that were archived are given, and only those of the side that asks: what is in the conversation as it
 *   is, and what the side was never shown, is not.
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import { currentView } from '../../../actors/thread/turn/context.js'
import { editsOf, withEdits } from '../../../actors/thread/turn/edits.js'
import { partsOf } from '../../core/records/context.js'
import { parseCallId } from '../../core/records/message.js'
import type { Message } from '../../core/records/message.js'
import { stepRules } from '../../core/records/rules.js'
import type { ValueAt } from '../../pool/port.js'
import { findResult } from '../journal/find-result.js'
import { withoutLongResult } from '../resolve/prompt-window.js'
import type { EffectOwner, Services } from '../services.js'

const archive = 'archive/'

/** The text of an archived result, where the key names one; a result that was cut is a value of its own. */
export async function archivedValue(
  { journal }: Pick<Services, 'journal'>,
  { state }: Pick<EffectOwner, 'state'>,
  key: string,
): Promise<ValueAt | undefined> {
  if (!key.startsWith(archive) || Object.hasOwn(state.values, key)) return undefined
  const view = currentView(state)
  const id = key.slice(archive.length)
  const call = parseCallId(id)
  if (!view || !call || !isRead(state, call.step)) return undefined
  const { items, skipped } = state.transcript
  const index = items.findIndex((message) => message.call === id)
  const known = items[index]
  if (known) {
    const number = skipped + index
    const isSummarised = number < (view.summary?.before ?? 0)
    const isMarker = number < view.archived && withoutLongResult(known) !== known
    return isSummarised || isMarker ? valueOf(state, known) : undefined
  }
  const found = call.step <= state.step ? await findResult(journal, state, call) : undefined
  return found && valueOf(state, found)
}

/** Whether the view reads calls of this step at all. */
function isRead({ turn, step }: ThreadState, asked: number): boolean {
  const rule = turn && stepRules(turn).context
  return turn !== undefined && rule !== undefined && (partsOf(rule.of).tools || asked > step - turn.steps)
}

/** Version 0: it is no value of the thread, so nothing can change it. */
function valueOf({ turn, edits }: ThreadState, message: Message): ValueAt | undefined {
  if (message.side !== turn?.session?.side) return undefined
  const edited = withEdits(editsOf(edits), message)
  return edited && { value: edited.text, version: 0 }
}
