/**
 * Threads at rest that are still in memory, in the order in which they came to rest. Past `maxResident` of them, or
 * when they take more than `maxBytes` together, those that have rested longest are let go: memory grows neither with
 * the number of threads nor with their histories. The one that came to rest last stays, however large it is.
 */
import type { Resident } from '../resident/resident.js'
import type { HeldPartition } from './partition.js'
import { stateBytes } from './state-bytes.js'

const defaultMaxBytes = 64 * 1024 * 1024

export class RestingThreads {
  readonly #threads = new Map<Resident, { readonly home: HeldPartition; readonly bytes: number }>()
  readonly #maxResident: number
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxResident: number, maxBytes = defaultMaxBytes) {
    this.#maxResident = maxResident
    this.#maxBytes = maxBytes
  }

  add(resident: Resident, home: HeldPartition): void {
    this.delete(resident)
    const bytes = stateBytes(resident.state)
    this.#threads.set(resident, { home, bytes })
    this.#bytes += bytes
    for (const [oldest, { home: partition }] of this.#threads) {
      if (!this.#isCrowded) return
      // Its deadline may have passed meanwhile: it will come to rest again.
      if (oldest.resting) partition.letGo(oldest)
    }
  }

  /** It is at work again, or was let go. */
  delete(resident: Resident): void {
    const known = this.#threads.get(resident)
    if (!known) return
    this.#threads.delete(resident)
    this.#bytes -= known.bytes
  }

  get #isCrowded(): boolean {
    const { size } = this.#threads
    return size > this.#maxResident || (size > 1 && this.#bytes > this.#maxBytes)
  }
}
