/**
 * Deltas that a watcher has heard before the record that they follow was given to it (FW6), by thread, in the order
 * they were said.
 */
import type { DeltaEvent } from '../../core/records/event.js'
import type { DeltaSignal } from './topics.js'

export class EarlyDeltas {
  readonly #said = new Map<string, DeltaSignal[]>()
  size = 0

  get threads(): Iterable<string> {
    return this.#said.keys()
  }

  add(spoken: DeltaSignal): void {
    const { thread } = spoken.event
    const said = this.#said.get(thread)
    if (said) said.push(spoken)
    else this.#said.set(thread, [spoken])
    this.size++
  }

  /** The record that the next delta of the thread follows. */
  firstAfter(thread: string): number | undefined {
    return this.#said.get(thread)?.[0]?.after
  }

  /** The deltas that follow a record up to this one. */
  take(thread: string, seq: number): readonly DeltaEvent[] {
    const said = this.#said.get(thread)
    if (!said) return []
    const later = said.findIndex(({ after }) => after > seq)
    const taken = later < 0 ? said : said.slice(0, later)
    if (later < 0) this.#said.delete(thread)
    else this.#said.set(thread, said.slice(later))
    this.size -= taken.length
    return taken.map(({ event }) => event)
  }
}
