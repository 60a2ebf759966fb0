/**
 * The calls of a turn as a watcher needs them: each when it is asked for, when it waits for someone and goes on, and
 * when it is answered.
 *
 * - A call is answered once: a provisional result counts when it is settled, and one that was found stale never.
 * - A call that a child answers is told when the child is called, not while it waits in line, and ends with the
 *   child's report, whether the call waits for that or not. One that failed and is tried again goes on.
 */
import { defined } from '../../core/defined.js'
import type { InboxItem, Json, Outcome, SkeinEvent } from '../../index.js'
import { oneLine } from '../format.js'
import { label } from '../visible.js'

export type ShownHoldReason = InboxItem['why']

export interface ShownCall {
  readonly id: string
  readonly tool: string
  readonly args: Json
  /** When it was asked for, or last went on. */
  readonly startedAt: number
  readonly child?: ShownChildCall
}

/** What is recorded of a call that another thread answers. */
export type ShownChildCall = NonNullable<Of<'model.replied'>['calls'][number]['child']>

export type CallNews =
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
  /** It has a result; whether that counts is said when its turn comes. */
  | { readonly state: 'returned'; readonly call: ShownCall }
  /** What it read has changed since. */
  | { readonly state: 'again'; readonly call: ShownCall }
  /** Without `tookMs` it was not run. */
  | {
      readonly state: 'answered'
      readonly call: ShownCall
      readonly outcome: Outcome
      readonly tookMs?: number
      readonly cached?: true
    }

type Of<Type extends SkeinEvent['type']> = Extract<SkeinEvent, { readonly type: Type }>

/** As people are told of it. */
export function childName({ reference, name }: { readonly reference: string; readonly name?: string }): string {
  return name === undefined ? label(reference) : `${label(reference)} (${oneLine(name, 40)})`
}

/** What is told of a call later has neither its args nor its time: the request must be remembered. */
export function createCalls() {
  const memory = createMemory()
  return {
    take(event: SkeinEvent): readonly CallNews[] {
      switch (event.type) {
        case 'model.replied':
        case 'calls.made':
          return ask(memory, event)
        case 'call.began':
          // It waited for the calls before it.
          memory.goOn(memory.known(event), event.at)
          return []
        case 'call.held':
          return [held(memory.known(event), event)]
        case 'call.decided':
          return [decide(memory, event)]
        case 'call.answered':
          return [
            {
              state: 'freed',
              call: memory.goOn(memory.known(event), event.at),
              how: 'answered',
              ...(event.answeredBy !== undefined && { by: event.answeredBy }),
            },
          ]
        case 'call.freed':
          return [{ state: 'freed', call: memory.goOn(memory.known(event), event.at), how: 'has its variables' }]
        case 'tool.result':
          return land(memory, event)
        case 'call.settled':
          return settle(memory, event)
        case 'child.called':
          return callChild(memory, event)
        case 'child.reported':
          return report(memory, event)
        case 'child.restarted':
          return restart(memory, event)
        case 'turn.ended':
          memory.open.clear()
          memory.results.clear()
          return []
        default:
          return []
      }
    },
  }
}

interface Returned {
  readonly outcome: Outcome
  readonly tookMs: number
}

type Memory = ReturnType<typeof createMemory>

function createMemory() {
  const open = new Map<string, ShownCall>()
  const results = new Map<string, Returned>()
  /** By child: calls that wait for no answer, oldest first. */
  const away = new Map<string, ShownCall[]>()
  return {
    open,
    results,
    away,
    /** One that was asked for before what we have seen is called by its id. */
    known({ step, index, at }: { step: number; index: number; at: number }): ShownCall {
      const id = `call_${step}_${index}`
      return open.get(id) ?? { id, tool: id, args: null, startedAt: at }
    },
    goOn(call: ShownCall, startedAt: number, args = call.args): ShownCall {
      const now = { ...call, args, startedAt }
      open.set(call.id, now)
      results.delete(call.id)
      return now
    },
    over(call: ShownCall): ShownCall {
      open.delete(call.id)
      results.delete(call.id)
      return call
    },
  }
}

function ask({ open }: Memory, { step, at, calls }: Of<'model.replied' | 'calls.made'>): readonly CallNews[] {
  return calls.flatMap(({ tool, args, refused, answered, hold, child }, index): CallNews[] => {
    const call = {
      id: `call_${step}_${index}`,
      tool: child ? childName(child) : tool,
      args,
      startedAt: at,
      ...defined({ child }),
    }
    if (refused) return [{ state: 'answered', call, outcome: { ok: false, failure: refused } }]
    if (answered !== undefined) return [{ state: 'answered', call, outcome: { ok: true, value: answered } }]
    open.set(call.id, call)
    if (child) return []
    return [{ state: 'asked', call }, ...(hold ? [held(call, hold)] : [])]
  })
}

function held(
  call: ShownCall,
  {
    why,
    missing,
    prompt,
  }: { readonly why: ShownHoldReason; readonly missing?: readonly string[]; readonly prompt?: string },
): CallNews {
  return { state: 'held', call, why, ...defined({ missing, prompt }) }
}

function decide({ known, goOn, over }: Memory, event: Of<'call.decided'>): CallNews {
  const call = known(event)
  const { decision, decidedBy, comment, at } = event
  const by = decidedBy !== undefined && { by: decidedBy }
  if (decision === 'reject') return { state: 'denied', call: over(call), ...by, ...defined({ comment }) }
  return {
    state: 'freed',
    call: goOn(call, at, event.call?.args),
    how: 'approved',
    ...by,
    ...(event.call && { edited: true }),
  }
}

function land({ open, results, known, over }: Memory, event: Of<'tool.result'>): readonly CallNews[] {
  const { outcome, at } = event
  const asked = known(event)
  const call = { ...asked, tool: asked.child ? asked.tool : event.tool }
  const tookMs = at - call.startedAt
  if (!event.provisional) return [{ state: 'answered', call: over(call), outcome, tookMs }]
  open.set(call.id, call)
  results.set(call.id, { outcome, tookMs })
  return [{ state: 'returned', call }]
}

function settle({ results, known, goOn, over }: Memory, event: Of<'call.settled'>): readonly CallNews[] {
  const call = known(event)
  const { verdict, at } = event
  if (verdict === 'stale') return [{ state: 'again', call: goOn(call, at) }]
  const { outcome: own, tookMs } = results.get(call.id) ?? {}
  const outcome = event.outcome ?? own
  // Its result came before what we have seen.
  if (!outcome) return []
  return [
    {
      state: 'answered',
      call: over(call),
      outcome,
      ...defined({ tookMs }),
      ...(verdict === 'cached' && { cached: true }),
    },
  ]
}

function callChild({ open, away, known, goOn, over }: Memory, event: Of<'child.called'>): readonly CallNews[] {
  const call = known(event)
  const { child } = call
  // It was asked for before what we have seen.
  if (!child) return []
  if (event.refused) return [{ state: 'answered', call: over(call), outcome: { ok: false, failure: event.refused } }]
  const now = goOn(call, event.at)
  if (!child.blocking) {
    open.delete(call.id)
    away.set(child.thread, [...(away.get(child.thread) ?? []), now])
  }
  return [{ state: 'asked', call: now }]
}

/** Another thread goes on in its place; or there is nothing left for one, and that is the answer. */
function restart(
  { open, away, over }: Memory,
  { child, reference, refused, at }: Of<'child.restarted'>,
): readonly CallNews[] {
  const isIts = (call: ShownCall): boolean => call.child?.reference === reference
  const [before, calls = []] = [...away].find(([, all]) => all.some(isIts)) ?? []
  if (before !== undefined) away.delete(before)
  if (before !== undefined && !refused) away.set(child, calls)
  const call = refused && ([...open.values()].find(isIts) ?? calls.find(isIts))
  return refused && call
    ? [{ state: 'answered', call: over(call), outcome: { ok: false, failure: refused }, tookMs: at - call.startedAt }]
    : []
}

function report(
  { open, away, over }: Memory,
  { call: id, child, outcome, tree, at, again, began, unasked }: Of<'child.reported'>,
): readonly CallNews[] {
  // It is tried again, or nobody asked for it.
  if (again || began || unasked) return []
  const call = id === undefined ? away.get(child)?.shift() : open.get(id)
  // Nobody waits for it any more.
  if (!call) return []
  // Its files are merged first, in call order.
  if (call.child?.files === 'fork' && tree && id !== undefined) return [{ state: 'returned', call }]
  return [{ state: 'answered', call: over(call), outcome, tookMs: at - call.startedAt }]
}
