/**
 * Where the time of a tree went: the chain of waits and work that its end waited for, walked back from the end. Pure.
 *
 * - In a thread the last span to end is the one that was waited for; before it, the one that ended last before it was
 *   asked for. A child is walked into.
 */
import type { PageSpan, TreeStore } from '../store/tree-store.js'

export interface PathPart {
  readonly thread: string
  readonly span?: string
  readonly from: number
  readonly to: number
  /** What it was, in words: `model fast`, `waiting for a person`. */
  readonly what: string
}

const longestPath = 5_000

export function criticalPath(store: TreeStore, now: number): readonly PathPart[] {
  const parts: PathPart[] = []
  const spans = store.spansOf(store.root)
  const end = Math.max(...spans.map((span) => span.endedAt ?? now))
  const start = Math.min(...spans.map((span) => span.queuedAt))
  if (spans.length > 0) walk({ store, now, parts }, store.root, [start, end])
  return parts.reverse()
}

interface Walk {
  readonly store: TreeStore
  readonly now: number
  readonly parts: PathPart[]
}

function walk(walked: Walk, thread: string, [from, to]: readonly [number, number]): void {
  const { store, now, parts } = walked
  const spans = store
    .spansOf(thread)
    .filter(({ kind }) => kind !== 'person')
    .sort((one, other) => (other.endedAt ?? now) - (one.endedAt ?? now))
  let at = to
  for (const span of spans) {
    if (at <= from || parts.length > longestPath) break
    if (span.queuedAt >= at) continue
    const end = Math.min(span.endedAt ?? now, at)
    if (end <= from) break
    if (at > end) parts.push({ thread, from: end, to: at, what: 'between steps' })
    takeSpan(walked, span, [Math.max(from, span.queuedAt), end])
    at = Math.max(from, span.queuedAt)
  }
  if (at > from) parts.push({ thread, from, to: at, what: 'between steps' })
}

function takeSpan(walked: Walk, span: PageSpan, [from, end]: readonly [number, number]): void {
  const { store, parts } = walked
  const { thread, kind, name, child, why, id } = span
  const began = Math.min(Math.max(span.startedAt ?? end, from), end)
  if (end > began) {
    const isThere = kind === 'child' && child !== undefined && store.spansOf(child).length > 0
    if (isThere && child !== undefined) walk(walked, child, [began, end])
    else parts.push({ thread, span: id, from: began, to: end, what: `${kind} ${name}`.trim() })
  }
  if (began > from) parts.push({ thread, span: id, from, to: began, what: `waiting for ${why ?? 'its turn'}` })
}

export interface PathShare {
  readonly what: string
  readonly ms: number
  readonly share: number
}

/** The greatest first. */
export function pathShares(parts: readonly PathPart[]): readonly PathShare[] {
  const sums = new Map<string, number>()
  for (const { what, from, to } of parts) sums.set(what, (sums.get(what) ?? 0) + to - from)
  const all = [...sums.values()].reduce((one, other) => one + other, 0)
  return [...sums]
    .map(([what, ms]) => ({ what, ms, share: all === 0 ? 0 : ms / all }))
    .sort((one, other) => other.ms - one.ms)
}
