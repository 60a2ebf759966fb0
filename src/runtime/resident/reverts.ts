/**
 * Calls that undo others, as they are recorded: the tool as it is defined now, with the args that the call was made
 * with. All of them, or a refusal.
 */
import { effectOf } from '../../agent/effect.js'
import type { App } from '../../agent/app.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { callId } from '../../core/records/message.js'
import type { RecordedCall, ThreadRecord } from '../../core/records/record.js'

interface CallPlace {
  readonly step: number
  readonly index: number
}

export function recordReverts(
  { app }: { readonly app: App },
  records: readonly ThreadRecord[],
  places: readonly CallPlace[],
): { readonly calls: readonly RecordedCall[] } | { readonly refused: Failure } {
  const made = madeCalls(records)
  const calls: RecordedCall[] = []
  for (const { step, index } of places) {
    const id = callId(step, index)
    const call = made.get(id)
    const tool = call && app.tools.get(call.tool)
    if (!call || !tool?.revert) return { refused: cannotRevert(id, call) }
    const { idempotent } = effectOf(tool, app)
    calls.push({
      tool: call.tool,
      args: call.args,
      sideEffect: true,
      ...(idempotent && { idempotent: true as const }),
      revert: { step, index },
    })
  }
  return { calls }
}

/** Every call, with the args that it was approved with. */
function madeCalls(records: readonly ThreadRecord[]): ReadonlyMap<string, RecordedCall> {
  const made = new Map<string, RecordedCall>()
  for (const record of records) {
    if (record.type === 'model.replied' || record.type === 'calls.made')
      for (const [index, call] of record.calls.entries()) made.set(callId(record.step, index), call)
    if (record.type === 'call.decided' && record.call) made.set(callId(record.step, record.index), record.call)
  }
  return made
}

function cannotRevert(id: string, call: RecordedCall | undefined): Failure {
  const why = call ? `the tool ${call.tool} has no revert in this app` : 'there is no such call'
  return failure('REVERT_FAILED', `nothing was undone, and nothing was changed: ${id} cannot be undone, ${why}`)
}
