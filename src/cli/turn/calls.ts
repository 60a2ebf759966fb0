/**
 * The calls of a turn as its views tell of them: when each is asked for, when it waits for someone and goes on, and
 * when it is answered. What a call came to is read off the view of its thread; owns only the names, the times, and
 * which child answers a call that nobody waits for.
 *
 * - A call that a child answers is told when the child is called, not while it waits in line, and ends with the
 *   child's report, whether the call waits for that or not.
 */
import { defined } from '../../core/defined.js'
import type { RemoteThreadChange } from '../../client.js'
import type { ChildView, DurableEvent, InboxItem, Json, Outcome, RunCall } from '../../index.js'
import { oneLine } from '../format.js'
import { label } from '../visible.js'

export type ShownHoldReason = InboxItem['why']

export interface ShownCall {
  readonly id: string
  /** The tool, or the child that answers it. */
  readonly tool: string
  readonly args: Json
  readonly child?: RunCall['child']
  /** The call that it undoes. */
  readonly reverts?: string
}

export type CallChange =
  | { readonly state: 'asked'; readonly call: ShownCall }
  | {
      readonly state: 'held'
      readonly call: ShownCall
      readonly why: ShownHoldReason
      readonly missing?: readonly string[]
      readonly prompt?: string
    }
  /** Someone let it go on. */
  | {
      readonly state: 'freed'
      readonly call: ShownCall
      readonly how: 'approved' | 'answered' | 'has its variables'
      readonly by?: string
      readonly edited?: true
    }
  | { readonly state: 'denied'; readonly call: ShownCall; readonly by?: string; readonly comment?: string }
  /** It has a result; whether that counts is decided when the calls before it are answered. */
  | { readonly state: 'returned'; readonly call: ShownCall }
  /** It runs again: what it read has changed since. */
  | { readonly state: 'again'; readonly call: ShownCall }
  /** Without `tookMs` it was not run. */
  | {
      readonly state: 'answered'
      readonly call: ShownCall
      readonly outcome: Outcome
      readonly tookMs?: number
      readonly cached?: true
    }

type EventOf<Type extends DurableEvent['type']> = Extract<DurableEvent, { readonly type: Type }>

/** A child as people are told of it. */
export function childName({ reference, name }: { readonly reference: string; readonly name?: string }): string {
  return name === undefined ? label(reference) : `${label(reference)} (${oneLine(name, 40)})`
}

export function createCalls() {
  const threads = new Map<string, ThreadCalls>()
  return {
    take(change: RemoteThreadChange): readonly CallChange[] {
      const calls = threads.get(change.thread) ?? new ThreadCalls()
      threads.set(change.thread, calls)
      return calls.take(change)
    },
  }
}

/** A call that is not answered, or whose child has not reported. */
interface OpenCall {
  readonly tool: string
  startedAt: number
  returnedAt?: number
}

class ThreadCalls {
  readonly #open = new Map<string, OpenCall>()
  /** By reference of the child: calls that wait for no answer, oldest first. */
  readonly #away = new Map<string, { readonly call: ShownCall; readonly startedAt: number }[]>()

  take(change: RemoteThreadChange): readonly CallChange[] {
    const { event, calls, result } = change
    if (!event || !('seq' in event)) return []
    // Whatever was open has no answer to be told.
    if (result) this.#open.clear()
    const own = result ? [] : calls.flatMap((call) => this.#changed(call, event))
    return [...own, ...this.#reported(change, event)]
  }

  #changed(call: RunCall, event: DurableEvent): readonly CallChange[] {
    if (event.type === 'model.replied' || event.type === 'calls.made') return this.#asked(call, event)
    const isItsOwn = 'step' in event && 'index' in event && call.id === `call_${event.step}_${event.index}`
    return (isItsOwn && this.#handled(call, event)) || this.#landed(call, event)
  }

  #asked(call: RunCall, event: EventOf<'model.replied' | 'calls.made'>): readonly CallChange[] {
    const recorded = event.calls[Number(call.id.split('_').at(-1))]
    this.#open.set(call.id, { tool: recorded?.child ? childName(recorded.child) : call.tool, startedAt: event.at })
    if (call.outcome) return [this.#answered(call, call.outcome)]
    if (call.child) return []
    const shown = this.#shown(call)
    const { waitsFor, missing } = call
    if (!waitsFor) return [{ state: 'asked', call: shown }]
    const hold = defined({ missing, prompt: recorded?.hold?.prompt })
    return [
      { state: 'asked', call: shown },
      { state: 'held', call: shown, why: waitsFor, ...hold },
    ]
  }

  /** What the event says of the very call that it is about; undefined where only its outcome matters. */
  #handled(call: RunCall, event: DurableEvent): readonly CallChange[] | undefined {
    switch (event.type) {
      case 'call.began':
        // It waited for the calls before it.
        this.#restart(call, event.at)
        return []
      case 'call.held':
        return [
          {
            state: 'held',
            call: this.#shown(call),
            why: event.why,
            ...defined({ missing: call.missing, prompt: event.prompt }),
          },
        ]
      case 'call.decided':
        return [this.#decided(call, event)]
      case 'call.answered':
        return [this.#freed(call, event.at, { how: 'answered', ...defined({ by: event.answeredBy }) })]
      case 'call.freed':
        return [this.#freed(call, event.at, { how: 'has its variables' })]
      case 'call.settled':
        return event.verdict === 'stale' ? [{ state: 'again', call: this.#restart(call, event.at) }] : undefined
      case 'child.called':
        return this.#calledChild(call, event)
      default:
        return undefined
    }
  }

  #decided(call: RunCall, event: EventOf<'call.decided'>): CallChange {
    const { decision, decidedBy: by, comment, call: edited } = event
    if (decision !== 'reject')
      return this.#freed(call, event.at, { how: 'approved', ...defined({ by, edited: edited && true }) })
    const shown = this.#shown(call)
    this.#open.delete(call.id)
    return { state: 'denied', call: shown, ...defined({ by, comment }) }
  }

  #freed(
    call: RunCall,
    at: number,
    how: Pick<Extract<CallChange, { state: 'freed' }>, 'how' | 'by' | 'edited'>,
  ): CallChange {
    return { state: 'freed', call: this.#restart(call, at), ...how }
  }

  #calledChild(call: RunCall, { refused, at }: EventOf<'child.called'>): readonly CallChange[] {
    const { child } = call
    if (!child) return []
    if (refused) return [this.#answered(call, { ok: false, failure: refused })]
    const shown = this.#restart(call, at)
    if (!child.blocking) {
      this.#open.delete(call.id)
      this.#away.set(child.reference, [...(this.#away.get(child.reference) ?? []), { call: shown, startedAt: at }])
    }
    return [{ state: 'asked', call: shown }]
  }

  #landed(call: RunCall, event: DurableEvent): readonly CallChange[] {
    const open = this.#open.get(call.id)
    if (!call.outcome) {
      if (!call.returned) return []
      if (open) open.returnedAt = event.at
      return [{ state: 'returned', call: this.#shown(call) }]
    }
    // A call that is settled without a result was not run.
    const end = open?.returnedAt ?? (event.type === 'call.settled' ? undefined : event.at)
    return [this.#answered(call, call.outcome, open && end !== undefined ? end - open.startedAt : undefined)]
  }

  #answered(call: RunCall, outcome: Outcome, tookMs?: number): CallChange {
    const shown = this.#shown(call)
    this.#open.delete(call.id)
    return { state: 'answered', call: shown, outcome, ...defined({ tookMs, cached: call.fromCache }) }
  }

  /** A child whose call waits for no answer has reported, or cannot be tried again. */
  #reported({ children }: RemoteThreadChange, event: DurableEvent): readonly CallChange[] {
    if (event.type !== 'child.reported' && event.type !== 'child.restarted') return []
    const outcome = event.type === 'child.reported' ? reportIn(event, children) : refusalIn(event)
    const away = outcome && this.#away.get(event.reference)?.shift()
    return away ? [{ state: 'answered', call: away.call, outcome, tookMs: event.at - away.startedAt }] : []
  }

  #restart(call: RunCall, startedAt: number): ShownCall {
    const shown = this.#shown(call)
    this.#open.set(call.id, { tool: shown.tool, startedAt })
    return shown
  }

  /** A call that was asked for before the view began has the name of its tool, or of its child. */
  #shown({ id, tool, args, child, reverts }: RunCall): ShownCall {
    const name = this.#open.get(id)?.tool ?? (child ? label(child.reference) : tool)
    return { id, tool: name, args, ...defined({ child, reverts }) }
  }
}

/** The answer to a call that nobody waits for. */
function reportIn(event: EventOf<'child.reported'>, children: readonly ChildView[]): Outcome | undefined {
  // A call waits for it, it is tried again, or nobody asked for it.
  if (event.call !== undefined || event.again || event.began || event.unasked) return undefined
  // What an attempt before the last one reports comes too late.
  const isLast = children.some(({ reference, thread }) => reference === event.reference && thread === event.child)
  return isLast ? event.outcome : undefined
}

function refusalIn({ refused }: EventOf<'child.restarted'>): Outcome | undefined {
  return refused && { ok: false, failure: refused }
}
