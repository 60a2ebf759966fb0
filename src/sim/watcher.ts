/**
 * Someone who watches a tree from outside, is cut off now and then and goes on from the last cursor. Sees every record
 * once and in order, or says what was wrong. Of a tree that was deleted nothing was seen; another with its id is seen
 * from its first record on.
 */
import { SkeinError } from '../core/failure.js'
import type { SkeinClient } from '../runtime/handles/client.js'
import type { SeededRandom } from './seeded-random.js'

export interface TreeWatcher {
  /** Cursors of the durable events that were seen. */
  readonly seen: readonly string[]
  readonly failed: unknown
  /** The tree was deleted: nothing is watched any more. */
  readonly removed: boolean
  /** What is wrong with what was seen. */
  problem(expected: readonly string[]): string | undefined
  stop(): void
}

const longestWatch = 40

export function watchTree(skein: SkeinClient, root: string, random: SeededRandom): TreeWatcher {
  const seen: string[] = []
  const stopped = new AbortController()
  let failed: unknown
  let removed = false
  const watchOnce = async (from: string | undefined, most: number): Promise<void> => {
    let count = 0
    const options = { root, signal: stopped.signal, ...(from !== undefined && { from }) }
    for await (const event of skein.events(options)) {
      if (event.type === 'tree.reset') seen.length = 0
      if (!('cursor' in event)) continue
      seen.push(event.cursor)
      if (++count >= most) return
    }
  }
  const watch = async (): Promise<void> => {
    while (!stopped.signal.aborted) await watchOnce(seen.at(-1), random.between(1, longestWatch))
  }
  watch().catch((thrown: unknown) => {
    removed = SkeinError.is(thrown, 'UNKNOWN_THREAD')
    if (removed) seen.length = 0
    else failed = thrown
  })
  return {
    seen,
    get failed() {
      return failed
    },
    get removed() {
      return removed
    },
    problem(expected) {
      if (failed !== undefined) return `failed: ${String(failed)}`
      const wrong = expected.findIndex((cursor, index) => seen[index] !== cursor)
      if (wrong >= 0) return `saw ${seen[wrong] ?? 'nothing'} where ${expected[wrong]} was next (record ${wrong + 1})`
      return seen.length === expected.length ? undefined : `saw ${seen.length} records of ${expected.length}`
    },
    stop: () => stopped.abort(),
  }
}
