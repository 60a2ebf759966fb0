/** The children of a thread as it knows them: those that were called, and behind them those in line (S12). */
import { defined } from '../../../src/core/defined.js'
import type { Json } from '../../../src/core/json.js'
import type { Child, ThreadState } from '../state.js'

export interface ChildEntry {
  /** What the model calls it. */
  readonly reference: string
  readonly agent: string
  readonly thread: string
  /** For people. */
  readonly name?: string
  readonly status: 'working' | 'waiting for a message' | 'done' | 'in line'
  /** What it says that it is doing. */
  readonly says?: string
  /** Of one in line: from 1, in the order in which they will be called. */
  readonly place?: number
  /** It stays for further messages. */
  readonly lasting: boolean
}

export function childrenOf(state: ThreadState): readonly ChildEntry[] {
  return [...called(state), ...childrenInLine(state)]
}

function called({ children }: ThreadState): readonly ChildEntry[] {
  return [...children].map(([reference, child]) => childEntry(reference, child))
}

/** A child that was called. */
export function childEntry(reference: string, child: Child): ChildEntry {
  const { id, agent, name, lasting, statusText: says } = child
  return { reference, agent, thread: id, status: childStatus(child), lasting, ...defined({ name, says }) }
}

function childStatus({ busy, ended }: Child): ChildEntry['status'] {
  if (ended) return 'done'
  return busy > 0 ? 'working' : 'waiting for a message'
}

/** Calls whose child was not called yet. A child that is spoken to again is in the list already. */
export function childrenInLine({ slots, turn, children }: ThreadState): readonly ChildEntry[] {
  if (!turn || slots.open === 0) return []
  const waiting = slots.items
    .slice(slots.drained)
    .flatMap(({ call: { child }, sent, outcome }) => (child && !sent && !outcome ? [child] : []))
  return waiting.flatMap(({ reference, agent, thread, name, lasting }, index): ChildEntry[] =>
    children.has(reference)
      ? []
      : [{ reference, agent, thread, status: 'in line', place: index + 1, lasting, ...defined({ name }) }],
  )
}

/** The answer to `subagent_list`: children that stay. Calls behind it in the step are not made yet. */
export function writeChildList(state: ThreadState): Json {
  return called(state).flatMap(({ thread: _, lasting, reference, agent, name = '', ...entry }) =>
    lasting ? [{ reference, agent, name, ...entry }] : [],
  )
}
