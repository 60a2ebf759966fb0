/**
 * A directory that is open for a whole simulated life, whatever goes wrong in it: in the end it has what the store
 * lists (DY1).
 */
import { isDeepStrictEqual } from 'node:util'
import type { Backend } from '../backend/port.js'
import { SharedDirectory } from '../runtime/watch/directory/directory.js'
import { inboxOf } from '../runtime/watch/directory/inbox-item.js'
import { toThreadInfo } from '../runtime/watch/directory/thread-info.js'
import { allHeads } from './checks.js'

export interface DirectoryCheck {
  /** What does not hold, in sentences. */
  problems(): Promise<readonly string[]>
}

/** Begins to follow. */
export function createDirectoryCheck(backend: Backend): DirectoryCheck {
  const directory = new SharedDirectory(backend, new AbortController().signal)
  directory.open()
  return {
    async problems() {
      const heads = await allHeads(backend)
      const listed = await directory.list({ limit: heads.length + 1 })
      if (!isDeepStrictEqual(listed.threads, heads.map(toThreadInfo)))
        return [`the directory has ${listed.threads.length} threads that are not the ${heads.length} of the store`]
      const { items } = await directory.inbox()
      const expected = inboxOf(heads, (root) => heads.find(({ thread }) => thread === root))
      if (!isDeepStrictEqual(items.map(({ id }) => id).toSorted(), expected.map(({ id }) => id).toSorted()))
        return [`the directory has an inbox of ${items.length}, and ${expected.length} are waited for`]
      const counted = await Promise.all(heads.map(({ thread }) => directory.counts(thread)))
      return heads.flatMap(({ thread }, index) => {
        const size = heads.filter(({ path }) => path.includes(thread)).length
        const { threads } = counted[index] ?? {}
        return threads === size ? [] : [`the directory counts ${threads} threads below ${thread}; there are ${size}`]
      })
    },
  }
}
