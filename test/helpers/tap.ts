/**
 * A backend with a tap: a test sees each commit, may hold or refuse it, and may change what the journal gives back.
 * Everything else is the real backend.
 */
import type { Backend, Store, Commit, CommitResult, Send, StoredEntry } from '../../src/backend/port.js'

export interface Tap {
  /** Called instead of the commit; `go` does it. */
  commit?: (commit: Commit, go: () => Promise<CommitResult>) => Promise<CommitResult>
  /** Each thread is written by itself, and all mail goes through mailboxes, as between hosts. */
  apart?: true
  /** Called instead of the removal of a tree. */
  remove?: (go: () => ReturnType<Backend['trees']['remove']>) => ReturnType<Backend['trees']['remove']>
  /** Told of each mail that is put into a mailbox. */
  mail?: (send: Send, put: () => Promise<void>) => void
  /** Told of each snapshot. */
  snapshot?: (thread: string, body: Uint8Array) => void
  /** Told of each subscription; what it gives is called when that ends. */
  subscribed?: (topic: string) => () => void
  /** What the journal gives, entry by entry. */
  entry?: (entry: StoredEntry) => StoredEntry
}

export function tapped(source: Store, tap: Tap): Store {
  return { open: async (...given) => tapInto(await source.open(...given), tap) }
}

/** The same store, where each thread is written by itself. */
export function apart(source: Store): Store {
  return tapped(source, { apart: true })
}

function tapInto(backend: Backend, tap: Tap): Backend {
  const changed = (entries: readonly StoredEntry[]): readonly StoredEntry[] =>
    entries.map((entry) => tap.entry?.(entry) ?? entry)
  const { together, ...rest } = backend
  return {
    ...rest,
    ...(together && !tap.apart && { together }),
    signals: {
      ...backend.signals,
      subscribe(topic, ...listeners) {
        const stop = backend.signals.subscribe(topic, ...listeners)
        const ended = tap.subscribed?.(topic)
        return () => {
          ended?.()
          stop()
        }
      },
    },
    commit: (commit) => (tap.commit ? tap.commit(commit, () => backend.commit(commit)) : backend.commit(commit)),
    trees: {
      ...backend.trees,
      remove: (removal) =>
        tap.remove ? tap.remove(() => backend.trees.remove(removal)) : backend.trees.remove(removal),
    },
    mailbox: {
      ...backend.mailbox,
      put: (send) => {
        tap.mail?.(send, () => backend.mailbox.put(send))
        return backend.mailbox.put(send)
      },
    },
    snapshots: {
      get: (thread) => backend.snapshots.get(thread),
      put: (thread, body) => {
        tap.snapshot?.(thread, body)
        return backend.snapshots.put(thread, body)
      },
    },
    journal: {
      read: async (thread, range) => changed(await backend.journal.read(thread, range)),
      readTree: async (root, range) => changed(await backend.journal.readTree(root, range)),
    },
  }
}

/** The types of the records that a commit holds. */
export function typesIn({ entry }: Pick<Commit, 'entry'>): readonly string[] {
  if (!entry) return []
  const { r } = JSON.parse(entry.body) as { r: { type: string }[] }
  return r.map(({ type }) => type)
}
