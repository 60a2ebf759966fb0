/**
 * Deltas that arrived before the record that they follow was given to the watcher (FW6), by thread, in order of
 * arrival.
 */
import type { DeltaEvent } from '../../core/records/event.js'
import { noItems } from '../../core/lists.js'
import { textSize } from './text-size.js'
import type { DeltaSignal } from './topics.js'

export class EarlyDeltas {
  readonly #waiting = new Map<string, DeltaSignal[]>()
  size = 0
  /** How long their texts are, about. */
  bytes = 0

  get threads(): Iterable<string> {
    return this.#waiting.keys()
  }

  add(signal: DeltaSignal): void {
    const { thread } = signal.event
    const waiting = this.#waiting.get(thread)
    if (waiting) waiting.push(signal)
    else this.#waiting.set(thread, [signal])
    this.size++
    this.bytes += textSize(signal.event)
  }

  /** The record that the next delta of the thread follows. */
  firstAfter(thread: string): number | undefined {
    return this.size > 0 ? this.#waiting.get(thread)?.[0]?.after : undefined
  }

  /** Takes out the deltas that follow a record up to this one. */
  take(thread: string, seq: number): readonly DeltaEvent[] {
    const waiting = this.size > 0 ? this.#waiting.get(thread) : undefined
    if (!waiting) return noItems
    const later = waiting.findIndex(({ after }) => after > seq)
    const taken = later < 0 ? waiting : waiting.slice(0, later)
    if (later < 0) this.#waiting.delete(thread)
    else this.#waiting.set(thread, waiting.slice(later))
    this.size -= taken.length
    for (const { event } of taken) this.bytes -= textSize(event)
    return taken.map(({ event }) => event)
  }
}
