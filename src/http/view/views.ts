/**
 * The views of a server: one of all trees and one per tree that someone looks at. Owns when they begin and end.
 *
 * - A view whose source has failed is made anew for the next who asks, with another epoch.
 * - A view that nobody has asked for during a minute is dropped.
 */
import type { Clock } from '../../core/clock.js'
import type { ServedSkein } from '../route.js'
import { RootsView } from './roots-view.js'
import { TreeView } from './tree-view.js'

const keepMs = 60_000

interface Kept {
  readonly view: TreeView
  users: number
  cancel: (() => void) | undefined
}

export class Views {
  readonly #skein: ServedSkein
  readonly #clock: Clock
  readonly #trees = new Map<string, Kept>()
  #roots: RootsView | undefined
  #made = 0

  constructor(skein: ServedSkein, clock: Clock) {
    this.#skein = skein
    this.#clock = clock
  }

  #epoch(): string {
    return `${this.#clock.now().toString(36)}-${++this.#made}`
  }

  roots(): RootsView {
    if (this.#roots?.failure !== undefined) this.#roots = undefined
    this.#roots ??= new RootsView(this.#skein, { clock: this.#clock, epoch: this.#epoch() })
    return this.#roots
  }

  /** It stays until `release` is called, and a minute longer. */
  use(root: string): { readonly view: TreeView; release(): void } {
    let kept = this.#trees.get(root)
    if (!kept || kept.view.failure !== undefined) {
      const view = new TreeView(this.#skein, root, { clock: this.#clock, epoch: this.#epoch() })
      kept = { view, users: 0, cancel: undefined }
      this.#trees.set(root, kept)
    }
    const held = kept
    held.users++
    held.cancel?.()
    held.cancel = undefined
    let isReleased = false
    return {
      view: held.view,
      release: () => {
        if (isReleased) return
        isReleased = true
        if (--held.users === 0)
          held.cancel = this.#clock.wakeAt(this.#clock.now() + keepMs, () => this.#drop(root, held))
      },
    }
  }

  #drop(root: string, kept: Kept): void {
    kept.view.stop()
    if (this.#trees.get(root) === kept) this.#trees.delete(root)
  }

  close(): void {
    for (const kept of this.#trees.values()) {
      kept.cancel?.()
      kept.view.stop()
    }
    this.#trees.clear()
    this.#roots?.stop()
  }
}
