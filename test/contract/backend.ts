/**
 * The suite that every backend passes. Test names quote the invariants of src/backend/port.ts. Owns no backend:
 * `makeStore` gives a fresh store for each test and what removes it.
 */
import { describe } from 'vitest'
import { blobs } from './backend-blobs.js'
import { useBackend } from './backend-context.js'
import type { FreshStore } from './backend-context.js'
import { followedHeads } from './backend-follow.js'
import { heads } from './backend-heads.js'
import { hosts } from './backend-hosts.js'
import { journals } from './backend-journal.js'
import { keyCheck } from './backend-key.js'
import { mailboxes } from './backend-mail.js'
import { signals } from './backend-signals.js'
import { snapshots } from './backend-snapshots.js'
import { removedTrees } from './backend-trees.js'

export function backendContract(name: string, makeStore: () => Promise<FreshStore>): void {
  describe(`backend contract: ${name}`, () => {
    const context = useBackend(makeStore)
    journals(context)
    heads(context)
    followedHeads(context)
    mailboxes(context)
    snapshots(context)
    signals(context)
    blobs(context)
    removedTrees(context)
    keyCheck(context)
    hosts(context)
  })
}
