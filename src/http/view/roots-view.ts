/**
 * The view of all trees: a row for each root with the counts of all below it, and a number for every change. Made of
 * the directory, so that it says what lists say. One per server.
 */
import type { ThreadDirectory, ThreadInfo } from '../../index.js'
import type { Clock } from '../../core/clock.js'
import type { ServedSkein } from '../route.js'
import { ChangeList } from './change-list.js'
import { toRootRow } from './tree-rows.js'
import type { RootRow } from './tree-rows.js'

const gatherMs = 100

export class RootsView {
  readonly epoch: string
  readonly rows = new ChangeList<RootRow>()
  readonly #clock: Clock
  readonly #listeners = new Set<() => void>()
  readonly #stopped = new AbortController()
  readonly #changed = new Set<string>()
  readonly #infos = new Map<string, ThreadInfo>()
  readonly #ready: Promise<void>
  #isGathering = false
  #failure: unknown

  constructor(skein: ServedSkein, { clock, epoch }: { readonly clock: Clock; readonly epoch: string }) {
    this.epoch = epoch
    this.#clock = clock
    const directory = skein.directory()
    this.#ready = this.#begin(directory)
    this.#ready.catch((thrown: unknown) => this.#fail(thrown))
  }

  get ready(): Promise<void> {
    return this.#ready
  }

  get failure(): unknown {
    return this.#failure
  }

  listen(listener: () => void): () => void {
    const own = (): void => listener()
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  stop(): void {
    this.#stopped.abort()
  }

  async #begin(directory: ThreadDirectory): Promise<void> {
    await directory.ready()
    const { threads } = await directory.list({ rootsOnly: true, limit: Number.MAX_SAFE_INTEGER })
    for (const info of threads) {
      this.#infos.set(info.thread, info)
      this.rows.set(info.thread, toRootRow(info, await directory.counts(info.thread)))
    }
    void this.#follow(directory).catch((thrown: unknown) => this.#fail(thrown))
  }

  async #follow(directory: ThreadDirectory): Promise<void> {
    for await (const change of directory.watch({ signal: this.#stopped.signal })) {
      if ('left' in change) this.#remove(change.left)
      else {
        const { thread } = change
        this.#changed.add(thread.root)
        if (thread.parent === undefined) this.#infos.set(thread.root, thread)
      }
      if (this.#isGathering || this.#changed.size === 0) continue
      this.#isGathering = true
      this.#clock.wakeAt(this.#clock.now() + gatherMs, () => {
        this.#gather(directory).catch((thrown: unknown) => this.#fail(thrown))
      })
    }
  }

  #remove(thread: string): void {
    const row = this.rows.get(thread)
    this.#infos.delete(thread)
    if (!row || row.removed) return
    this.#changed.delete(thread)
    this.rows.set(thread, { ...row, removed: true })
    this.#tell()
  }

  /** A busy tree has one new row at a time, however many of its threads have changed. */
  async #gather(directory: ThreadDirectory): Promise<void> {
    this.#isGathering = false
    const roots = [...this.#changed]
    this.#changed.clear()
    for (const root of roots) {
      const info = this.#infos.get(root)
      // Deleted meanwhile: the directory says that, too.
      const counts = info && (await directory.counts(root).catch(() => undefined))
      if (info && counts) this.rows.set(root, toRootRow(info, counts))
    }
    this.#tell()
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  #fail(thrown: unknown): void {
    this.#failure ??= thrown
    this.#tell()
  }
}
