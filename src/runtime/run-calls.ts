/**
 * The calls of a run out of its events: what was asked, what each waits for, and the outcome that counts.
 *
 * RW1 A call is answered once: an outcome that was found stale, or was replaced, is never given as its answer.
 */
import { cutOff, denied } from '../../actors/thread/denied.js'
import type { Outcome } from '../core/effect.js'
import type { SkeinEvent, ToolResult } from '../core/event.js'
import type { Json } from '../core/json.js'
import { callId } from '../core/message.js'
import type { ChildCall, HoldReason, RecordedCall } from '../core/record.js'
import { started } from '../../actors/thread/children.js'

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

export class RunCalls {
  readonly calls = new Map<string, RunCall>()
  readonly #provisional = new Map<string, ToolResult>()
  readonly #began = new Set<string>()
  readonly #children = new Map<string, ChildCall>()

  /** The calls that an event changed. */
  take(event: SkeinEvent): RunCall[] {
    switch (event.type) {
      case 'model.replied':
      case 'calls.made':
        event.calls.forEach(({ child }, index) => child && this.#children.set(callId(event.step, index), child))
        return asked(event.step, event.calls).map((call) => (this.calls.set(call.id, call), call))
      case 'tool.result':
        if (!event.provisional) return this.#update(event.call, { outcome: event.outcome })
        this.#provisional.set(event.call, event)
        return []
      case 'call.settled':
        return this.#settle(event)
      case 'call.began':
        this.#began.add(callId(event.step, event.index))
        return []
      case 'call.unbegun':
        this.#began.delete(callId(event.step, event.index))
        return []
      case 'call.held':
        return this.#update(callId(event.step, event.index), { waitsFor: event.why })
      case 'call.decided':
        return this.#decide(event)
      case 'call.answered':
      case 'call.freed':
        return this.#update(callId(event.step, event.index), {})
      case 'child.called':
        return this.#call(event)
      case 'child.reported':
        return this.#report(event)
      case 'turn.ended':
        return this.#cut(event)
      default:
        return []
    }
  }

  /** Contexts that an event changed. */
  contexts(event: SkeinEvent): ContextUpdate[] {
    return contextsIn(event, this.#provisional)
  }

  #update(id: string, change: Partial<RunCall>): RunCall[] {
    const known = this.calls.get(id)
    if (!known || known.outcome) return []
    const { waitsFor: _, ...rest } = known
    const now = { ...rest, ...change }
    this.calls.set(id, now)
    return [now]
  }

  /** A child was called: the call waits for it, or is answered at once. */
  #call({ step, index, refused }: Extract<SkeinEvent, { type: 'child.called' }>): RunCall[] {
    const id = callId(step, index)
    const call = this.#children.get(id)
    if (refused) return this.#update(id, { outcome: { ok: false, failure: refused } })
    if (!call) return []
    return this.#update(id, call.blocking ? { waitsFor: 'children' } : { outcome: started(call) })
  }

  /** Its files, if it worked on a copy, are merged first: `call.returned` tells of that. */
  #report({ call, outcome, tree }: Extract<SkeinEvent, { type: 'child.reported' }>): RunCall[] {
    return call === undefined || tree ? [] : this.#update(call, { outcome })
  }

  /** The turn is over, and whatever it waited for. */
  #cut(event: Extract<SkeinEvent, { type: 'turn.ended' }>): RunCall[] {
    const { outcome, unknown } = cutOff(event)
    return [...this.calls.values()].filter((call) => !call.outcome).flatMap(({ id }) => this.#update(id, { outcome: this.#began.has(id) ? unknown : outcome }))
  }

  #settle(event: Extract<SkeinEvent, { type: 'call.settled' }>): RunCall[] {
    const id = callId(event.step, event.index)
    if (event.verdict === 'stale') return []
    const outcome = event.outcome ?? this.#provisional.get(id)?.outcome
    return outcome ? this.#update(id, { outcome, ...(event.verdict === 'cached' && { fromCache: true as const }) }) : []
  }

  #decide(event: Extract<SkeinEvent, { type: 'call.decided' }>): RunCall[] {
    const id = callId(event.step, event.index)
    const call = this.calls.get(id)
    if (!call) return []
    if (event.decision === 'reject') return this.#update(id, { outcome: denied({ call, ...(this.#began.has(id) && { began: true }) }, event) })
    return this.#update(id, event.call ? { args: event.call.args } : {})
  }
}
