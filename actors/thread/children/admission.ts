/**
 * The line of children past a limit (S12): whether a call may have its child called now, waits, or never will.
 *
 * - Calls wait in call order, also those that do not wait for an answer: a thread whose children are as many as
 *   may be is not asked for more before there is room, so nothing grows without bound.
 * - Only what will end is waited for. Where all children that live are idle, nothing would ever make room: the
 *   call is refused, with those that live.
 */
import { failure } from '../../../src/core/failure.js'
import type { Failure } from '../../../src/core/failure.js'
import type { ChildCall } from '../../../src/core/records/record.js'
import type { ThreadState } from '../state.js'

const named = 20

export function mayStartChild(
  { children, working, living }: ThreadState,
  { reference, create, maxParallel, maxChildren = Infinity }: ChildCall,
): 'call' | 'wait' | Failure {
  const known = children.get(reference)
  if (!create && (!known || known.ended))
    return failure(
      'TOOL_INPUT_INVALID',
      `${reference} takes no messages: ${known ? 'it has ended' : 'it was not created'}`,
    )
  // At work already: it takes no further place.
  if (known && known.busy > 0) return 'call'
  if (working >= maxParallel) return 'wait'
  if (!create || living < maxChildren) return 'call'
  if (working > 0) return 'wait'
  const live = [...children].flatMap(([each, { ended: over }]) => (over ? [] : [each]))
  const some =
    live.length > named ? `${live.slice(0, named).join(', ')} and ${live.length - named} more` : live.join(', ')
  return failure(
    'TOOL_NOT_ALLOWED',
    `there may be ${maxChildren} children at once, and there are, none of them at work: ${some}; speak to one of ` +
      `them with subagent_message`,
  )
}
