/**
 * The thread as a hook sees it: read-only, and of the instant in which it was asked. Made of getters, because most
 * hooks look at few of them.
 */
import type { ThreadState } from '../../../actors/thread/state.js'
import type { HookFiles, HookThread } from '../../agent/define-hook.js'
import type { Blobs } from '../../backend/port.js'
import type { Cancel } from '../../core/async/cancel.js'
import { entriesOf, kvSpace } from '../../core/records/change.js'
import { openWorkingCopy, readersOf } from '../../files/opened-later.js'
import { createTreeSource } from '../../files/tree-source.js'
import type { WorkingCopy } from '../../files/working-copy.js'

/** The part of a thread's state that hooks see. */
export type SeenState = Pick<ThreadState, 'id' | 'agent' | 'path' | 'tags' | 'step' | 'stepAt' | 'files' | 'values'> & {
  readonly turn: { readonly run: string } | undefined
}

export class ThreadOfHook implements HookThread {
  readonly id: string
  readonly agent: string
  readonly path: readonly string[]
  readonly tags: readonly string[]
  readonly run?: string
  readonly step: number
  readonly key: string
  readonly #cancel: Cancel
  readonly #state: SeenState
  readonly #tree: SeenState['files']
  readonly #blobs: Blobs
  #files: HookFiles | undefined

  constructor(state: SeenState, key: string, { cancel, blobs }: { readonly cancel: Cancel; readonly blobs: Blobs }) {
    this.id = state.id
    this.agent = state.agent
    this.path = state.path
    this.tags = state.tags
    if (state.turn) this.run = state.turn.run
    this.step = state.step
    this.key = key
    this.#cancel = cancel
    this.#state = state
    this.#tree = state.files
    this.#blobs = blobs
  }

  get signal(): AbortSignal {
    return this.#cancel.signal
  }

  get files(): HookFiles {
    return (this.#files ??= this.#open())
  }

  /** A working copy whose writers are not handed on. */
  #open(): HookFiles {
    const source = createTreeSource({
      tree: this.#tree,
      at: this.#state.stepAt,
      blobs: this.#blobs,
      quotaBytes: Infinity,
    })
    let opening: Promise<WorkingCopy> | undefined
    return readersOf(async () => (await (opening ??= openWorkingCopy(async () => source))).files)
  }

  get kv(): HookThread['kv'] {
    const { values } = this.#state
    return {
      get: async (key) => values[`${kvSpace}${key}`]?.value,
      list: async (prefix = '') => entriesOf(values, prefix),
    }
  }
}
