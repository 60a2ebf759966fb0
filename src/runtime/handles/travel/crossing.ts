/**
 * What lies between a point and now: effects on the world that going back would leave as they are. Read off the
 * thread's own fold.
 *
 * - Crossed is a call with a side effect that has happened, or may have, and whose outcome came after the point. One
 *   that is known to have failed has done nothing.
 */
import type { ThreadState } from '../../../../actors/thread/state.js'
import { SkeinError } from '../../../core/failure.js'
import { toJson } from '../../../core/json.js'
import type { Json } from '../../../core/json.js'
import { callId, parseCallId } from '../../../core/records/message.js'
import { schedulesIn, schedulesKey } from '../../../core/records/schedule.js'
import type { Scheduled } from '../../../core/records/schedule.js'
import { idempotencyKeyOf } from '../../resolve/tool-calls.js'
import { EffectList } from '../inspect/effect-list.js'
import { recordsIn } from './points.js'
import type { ReadThread } from './points.js'

export interface CrossedEffect {
  readonly thread: string
  /** `call_3_0` */
  readonly call: string
  readonly tool: string
  readonly args: Json
  /** Its `idempotencyKey`: by it the world knows the call. */
  readonly key: string
  /** `unknown`: nobody knows whether it has happened, or it is under way. */
  readonly state: 'done' | 'unknown'
  /** Its tool says how it is undone. */
  readonly revert: boolean
  /** When it was begun. */
  readonly at: number
}

/** What going back to a point, or forking there, leaves behind. */
export interface Crossing {
  readonly thread: string
  /** The last record before the point. */
  readonly seq: number
  /** In the order in which they were begun. */
  readonly effects: readonly CrossedEffect[]
  /** Children that are at work or stay at that point: alone, a fork does not have them. */
  readonly children: readonly { readonly thread: string; readonly reference: string; readonly agent: string }[]
  /** Calls that are scheduled at that point. */
  readonly schedules: readonly Scheduled[]
  /** Calls that wait for a person at that point: they wait in the fork, too. */
  readonly approvals: readonly { readonly call: string; readonly tool: string }[]
  /** Of a tree: the last record of each thread that the fork has. */
  readonly cut?: readonly { readonly thread: string; readonly seq: number }[]
}

/** The crossing, and the state at the point; `state` may be looked at while `see` runs, and changes afterwards. */
export function crossingAt(read: ReadThread, seq: number, see?: (state: ThreadState) => void): Crossing {
  const { thread } = read
  const list = new EffectList(thread)
  let standing: Pick<Crossing, 'children' | 'schedules' | 'approvals'> = { children: [], schedules: [], approvals: [] }
  for (const record of recordsIn(read)) {
    list.take(record)
    if (record.seq !== seq) continue
    standing = standingOf(list.state)
    see?.(list.state)
  }
  const effects = list.listed.flatMap(({ effect, last, revert }): CrossedEffect[] => {
    const { call, tool, args, state, beganAt, reverts, undone } = effect
    // What was undone does not count any more, and what undid it has done nothing else.
    if (last <= seq || state === 'failed' || reverts !== undefined || undone) return []
    const position = parseCallId(call) ?? { step: 0, index: 0 }
    const key = idempotencyKeyOf(thread, position, { tool, args })
    return [{ thread, call, tool, args, key, state: state === 'done' ? 'done' : 'unknown', revert, at: beganAt }]
  })
  return { thread, seq, effects, ...standing }
}

function standingOf({
  children,
  values,
  slots,
  step,
  turn,
}: ThreadState): Pick<Crossing, 'children' | 'schedules' | 'approvals'> {
  return {
    children: [...children].flatMap(([reference, { id, agent, ended }]) =>
      ended ? [] : [{ thread: id, reference, agent }],
    ),
    schedules: schedulesIn(values[schedulesKey]?.value),
    approvals: slots.items.flatMap(({ hold, call }, index) =>
      turn && hold && hold.why !== 'children' ? [{ call: callId(step, index), tool: call.tool }] : [],
    ),
  }
}

/** `advice`: what to do about it. */
export function effectsCrossed(crossing: Crossing, advice: string): SkeinError {
  const { thread, seq, effects } = crossing
  const named = effects.slice(0, 5).map(({ tool, call, state }) => `${tool} (${call}, ${state})`)
  const more = effects.length > named.length ? ` and ${effects.length - named.length} more` : ''
  return new SkeinError(
    'EFFECTS_CROSSED',
    `thread ${thread} has acted on the world since record ${seq}: ${named.join(', ')}${more}. Nothing was changed. ` +
      advice,
    { data: { crossing: toJson(crossing) } },
  )
}
