/**
 * Looks at the store in the very moment in which something is begun that cannot be taken back: what it rests on must
 * be in the journal by then, because the host may die in the next.
 *
 * WI1 A model is asked with results that are in the journal (T4).
 * WI2 A body with a side effect begins when its intent is in the journal (T10).
 */
import { fold } from '../../actors/thread/fold.js'
import { createState } from '../../actors/thread/state.js'
import type { Backend } from '../backend/port.js'
import type { Message } from '../core/records/message.js'
import { decode } from '../runtime/journal/journal.js'
import { wakeWhole } from '../runtime/journal/wake.js'
import { idempotencyKeyOf } from '../runtime/resolve/tool-calls.js'

export class Witness {
  /** What did not hold. */
  readonly problems: string[] = []
  readonly #backend: () => Backend | undefined

  /** `backend`: the store itself, with no network between. */
  constructor(backend: () => Backend | undefined) {
    this.#backend = backend
  }

  /** WI1. The messages are read now: the list is the thread's own, and grows. */
  modelAsked(thread: string, messages: readonly Message[]): void {
    const read = messages.flatMap(({ role, id, text }) => (role === 'tool' || text.startsWith('<summary>') ? [id] : []))
    const backend = this.#backend()
    if (read.length === 0 || !backend) return
    this.#look(thread, async () => {
      const { state } = await wakeWhole(backend, thread)
      const summaries = Object.values(state.contexts).map(({ summary }) => `summary_${summary?.before}`)
      const durable = new Set([...state.transcript.items.map(({ id }) => id), ...summaries])
      const lost = state.seq === 0 ? [] : read.filter((id) => !durable.has(id))
      return lost.length > 0 ? `its model was asked with ${lost.join(', ')} before that was in its journal` : undefined
    })
  }

  /** WI2. */
  effectBegun(thread: string, tool: string, key: string): void {
    const backend = this.#backend()
    if (!backend) return
    this.#look(thread, async () => {
      const entries = await backend.journal.read(thread)
      const state = createState(thread)
      for (const record of entries.flatMap((entry) => [...decode(thread, entry)])) {
        fold(state, record)
        const slot = record.type === 'call.began' ? state.slots.items[record.index] : undefined
        if (record.type === 'call.began' && slot && idempotencyKeyOf(thread, record, slot.call) === key)
          return undefined
      }
      return entries.length === 0 ? undefined : `the effect of ${tool} was begun before its intent was in its journal`
    })
  }

  #look(thread: string, find: () => Promise<string | undefined>): void {
    const tell = (problem: string | undefined): void => {
      if (problem !== undefined) this.problems.push(`thread ${thread}: ${problem}`)
    }
    find().then(tell, (thrown: unknown) => tell(`its journal could not be read: ${String(thrown)}`))
  }
}
