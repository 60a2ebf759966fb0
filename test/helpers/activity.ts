/**
 * What the stores of a test are doing: requests under way, and how to let a moment pass for a store that is another
 * process. By this tests wait until nothing more happens, by events and not by time, on every store alike.
 */
import type { Backend, Store } from '../../src/backend/port.js'

let underWay = 0
let begun = 0
/** A way to the store's process and back; undefined where it is in this one. */
let beat: (() => Promise<unknown>) | undefined

/** How many requests were made, ever; undefined while one is under way. */
export function requests(): number | undefined {
  return underWay === 0 ? begun : undefined
}

export function beatWith(roundTrip: (() => Promise<unknown>) | undefined): void {
  beat = roundTrip
}

/** One turn of the event loop: everything that was ready has run, here and in the store. */
export async function turn(): Promise<void> {
  if (beat) await beat()
  await new Promise<void>((resolve) => {
    setImmediate(resolve)
  })
}

function counted<Args extends unknown[], Result>(
  request: (...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  return async (...args) => {
    underWay++
    begun++
    try {
      return await request(...args)
    } finally {
      underWay--
    }
  }
}

/** The same store, whose requests are counted; `end` closes what is still open of it. */
export function observed(source: Store): Store & { end(): Promise<void> } {
  const opened = new Set<Backend>()
  const open = counted((role: Parameters<Store['open']>[0]) => source.open(role))
  return {
    async open(role) {
      const backend = await open(role)
      opened.add(backend)
      return observe(backend, () => opened.delete(backend))
    },
    async end() {
      for (const backend of opened) await backend.close()
    },
  }
}

function observe(backend: Backend, closed: () => void): Backend {
  const { journal, heads, mailbox, snapshots, blobs, trees, leases } = backend
  return {
    ...backend,
    hosted: counted(() => backend.hosted()),
    commit: counted((commit) => backend.commit(commit)),
    journal: {
      read: counted((thread, range) => journal.read(thread, range)),
      readTree: counted((root, range) => journal.readTree(root, range)),
    },
    heads: {
      get: counted((thread) => heads.get(thread)),
      list: counted((filter) => heads.list(filter)),
      restless: counted((partition) => heads.restless(partition)),
      follow: (told) => heads.follow(told),
    },
    mailbox: {
      put: counted((send) => mailbox.put(send)),
      read: counted((thread, after) => mailbox.read(thread, after)),
      waiting: counted((partition, root) => mailbox.waiting(partition, root)),
      watch: (arrived) => mailbox.watch(arrived),
    },
    snapshots: {
      get: counted((thread) => snapshots.get(thread)),
      put: counted((thread, snapshot) => snapshots.put(thread, snapshot)),
    },
    blobs: {
      put: counted((bytes) => blobs.put(bytes)),
      get: (hash) => blobs.get(hash),
      has: counted((hash) => blobs.has(hash)),
    },
    trees: { remove: counted((removal) => trees.remove(removal)), sweep: counted((options) => trees.sweep(options)) },
    leases: {
      ...leases,
      partitionOf: (thread) => leases.partitionOf(thread),
      acquire: counted((partition) => leases.acquire(partition)),
      survey: counted(() => leases.survey()),
      watch: (told) => leases.watch(told),
    },
    close: () => {
      closed()
      return backend.close()
    },
  }
}
