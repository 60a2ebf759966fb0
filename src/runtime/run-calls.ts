/**
 * The calls of a run out of its events: what was asked, what each waits for, and the outcome that counts.
 *
 * RW1 A call is answered once: an outcome that was found stale, or was replaced, is never given as its answer.
 */
import { denied } from '../../actors/thread/denied.js'
import type { Outcome } from '../core/effect.js'
import type { SkeinEvent, ToolResult } from '../core/event.js'
import type { Json } from '../core/json.js'
import { callId } from '../core/message.js'
import type { HoldReason, RecordedCall } from '../core/record.js'

export interface RunCall {
  readonly id: string
  readonly tool: string
  readonly args: Json
  /** Absent while the call is not answered. */
  readonly outcome?: Outcome
  /** The result of an equal call of this run. */
  readonly fromCache?: true
  /** Who must decide or answer before it goes on. */
  readonly waitsFor?: HoldReason
}

export interface ContextUpdate {
  /** The tool whose context it is, or `shared`. */
  readonly of: string
  readonly value: Json
}

function asked(step: number, calls: readonly RecordedCall[]): RunCall[] {
  return calls.map(({ tool, args, refused, answered, hold }, index) => {
    const outcome: Outcome | undefined = refused ? { ok: false, failure: refused } : answered === undefined ? undefined : { ok: true, value: answered }
    return { id: callId(step, index), tool, args, ...(outcome && { outcome }), ...(hold && { waitsFor: hold.why }) }
  })
}

/** What an event changed of the contexts, given the results that wait for their verdict. */
function contextsIn(event: SkeinEvent, provisional: ReadonlyMap<string, ToolResult>): ContextUpdate[] {
  const kept = event.type === 'call.settled' && event.verdict === 'kept' ? provisional.get(callId(event.step, event.index)) : undefined
  const changes = event.type === 'thread.changed' ? event.changes : kept?.changes
  return (changes?.values ?? []).flatMap(({ key, value = null }) => (key === 'shared' ? [{ of: key, value }] : key.startsWith('context/') ? [{ of: key.slice('context/'.length), value }] : []))
}

export function createRunCalls() {
  const calls = new Map<string, RunCall>()
  const provisional = new Map<string, ToolResult>()
  const began = new Set<string>()

  function update(id: string, change: Partial<RunCall>): RunCall[] {
    const known = calls.get(id)
    if (!known || known.outcome) return []
    const { waitsFor: _, ...rest } = known
    const now = { ...rest, ...change }
    calls.set(id, now)
    return [now]
  }

  function settle(event: Extract<SkeinEvent, { type: 'call.settled' }>): RunCall[] {
    const id = callId(event.step, event.index)
    const result = provisional.get(id)
    if (event.verdict === 'stale') return []
    const outcome = event.outcome ?? result?.outcome
    return outcome ? update(id, { outcome, ...(event.verdict === 'cached' && { fromCache: true as const }) }) : []
  }

  return {
    calls,
    /** The calls that this event changed. */
    take(event: SkeinEvent): RunCall[] {
      switch (event.type) {
        case 'model.replied':
        case 'calls.made':
          return asked(event.step, event.calls).map((call) => (calls.set(call.id, call), call))
        case 'tool.result':
          if (!event.provisional) return update(event.call, { outcome: event.outcome })
          provisional.set(event.call, event)
          return []
        case 'call.settled':
          return settle(event)
        case 'call.began':
          began.add(callId(event.step, event.index))
          return []
        case 'call.held':
          return update(callId(event.step, event.index), { waitsFor: event.why })
        case 'call.decided': {
          const id = callId(event.step, event.index)
          const call = calls.get(id)
          if (!call) return []
          if (event.decision === 'reject') return update(id, { outcome: denied({ call, ...(began.has(id) && { began: true }) }, event) })
          return update(id, event.call ? { args: event.call.args } : {})
        }
        case 'call.answered':
          return update(callId(event.step, event.index), {})
        default:
          return []
      }
    },
    /** Contexts that this event changed. */
    contexts: (event: SkeinEvent): ContextUpdate[] => contextsIn(event, provisional),
  }
}
