/**
 * Signals of a tree: what is published when records are durable and while a model streams, and the topics that it is
 * published to. One topic per tree, so one subscription sees all of it; and one per thread, for those who wait for one
 * of thousands.
 *
 * - A commit is signalled after it is acknowledged, never before.
 */
import type { Backend } from '../../backend/port.js'
import type { Failure } from '../../core/failure.js'
import type { Answer } from '../../core/records/command.js'
import type { DeltaEvent } from '../../core/records/event.js'
import type { Json } from '../../core/json.js'
import type { ThreadRecord } from '../../core/records/record.js'
import type { RunResult } from './projection.js'

/**
 * Names by id, of which the last one is kept: a thread at work asks for the same ones many times in each step, and a
 * name that was just made is slow to look up.
 */
function named(prefix: string): (id: string) => string {
  let [last, name] = ['', prefix]
  return (id) => {
    if (id === last) return name
    last = id
    name = prefix + id
    return name
  }
}

export const treeTopic = named('tree/')
/** What concerns one thread, but not the end of its tree. */
export const threadTopic = named('thread/')
/** The same without what it says meanwhile: for those in its own process who wait for a result (watch.ts). */
export const commitsTopic = named('commits/')
/** The end of a tree. */
export const removalTopic = (root: string): string => `removed/${root}`
/** Ids of commands are unique in their thread only: callers choose them. */
export const answerTopic = (thread: string, command: string): string => `answer/${thread}/${command}`
/** A new watcher asks here for the text that is being streamed. */
export const catchUpTopic = 'catch-up'
/** A provider has limited a model. */
export const limitsTopic = 'limits'
/** A client asks which threads wait for a model. */
export const waitsTopic = 'waits'

/** The records of one commit. */
export interface CommitSignal {
  readonly kind: 'committed'
  readonly thread: string
  readonly path: readonly string[]
  readonly position: number
  /** The position of the tree's entry before it; absent where its store does not know that. */
  readonly follows?: number | undefined
  /** Whether the thread is at rest after it. */
  readonly rest?: boolean
  /** How long its text is, where it was read from the journal. */
  readonly size?: number
  readonly records: readonly ThreadRecord[]
  /** What the turns that it ends came to; absent where it was read from the journal. */
  readonly results?: readonly TurnResult[]
}

export interface TurnResult {
  readonly run: string
  /** Of the record that ended it. */
  readonly seq: number
  readonly result: RunResult
}

export interface DeltaSignal {
  readonly kind: 'spoken'
  /** The last record of the thread when the delta was made, durable or about to be. */
  readonly after: number
  readonly event: DeltaEvent
}

/**
 * For waits until a tree is at rest: mail was finished that left no record, or that was still in the mailbox when its
 * commit was signalled.
 */
export interface MailFinishedSignal {
  readonly kind: 'finished'
}

/** The tree was deleted. */
export interface TreeRemovedSignal {
  readonly kind: 'removed'
}

/** A thread of the tree does not go on under its host; it is told again to whoever begins to watch. */
export interface ThreadParkedSignal {
  readonly kind: 'parked'
  readonly thread: string
  readonly path: readonly string[]
  readonly failure: Failure
}

export type TreeSignal = CommitSignal | DeltaSignal | TreeRemovedSignal | ThreadParkedSignal

/** Other signals of the topic are ignored. Contents are checked against the journal by position, not by form. */
export function toTreeSignal(value: Json): TreeSignal | undefined {
  const signal = value as unknown as TreeSignal
  return hasForm(signal) ? signal : undefined
}

function hasForm(signal: TreeSignal | null): boolean {
  switch (signal?.kind) {
    case 'committed':
      return Array.isArray(signal.records) && typeof signal.thread === 'string' && Array.isArray(signal.results ?? [])
    case 'spoken':
      return typeof signal.after === 'number' && typeof signal.event?.thread === 'string'
    case 'parked':
      return Array.isArray(signal.path) && typeof signal.failure?.message === 'string'
    default:
      return signal?.kind === 'removed'
  }
}

/** All are plain JSON data; their types are only more precise than `Json` can express. */
export function asSignal(value: TreeSignal | MailFinishedSignal | Answer): Json {
  return value as unknown as Json
}

/** Publishes to a tree's topic; the signal is made only where someone may hear it. */
export function tellTree(
  { signals }: Pick<Backend, 'signals'>,
  root: string,
  make: () => TreeSignal | MailFinishedSignal,
): void {
  const topic = treeTopic(root)
  if (signals.heard(topic)) signals.publish(topic, asSignal(make()))
}

interface NamedThread {
  readonly id: string
  readonly path: readonly string[]
}

/** The same of what concerns one thread: to whoever follows that, or its tree. */
export function tellThread(
  { signals }: Pick<Backend, 'signals'>,
  { id, path }: NamedThread,
  make: () => Exclude<TreeSignal, DeltaSignal>,
): void {
  const [tree, thread, commits] = [treeTopic(path[0] ?? id), threadTopic(id), commitsTopic(id)]
  const isHeardInTree = signals.heard(tree)
  const isHeard = signals.heard(thread)
  const isAwaited = signals.heard(commits)
  if (!isHeardInTree && !isHeard && !isAwaited) return
  const signal = asSignal(make())
  if (isHeardInTree) signals.publish(tree, signal)
  if (isHeard) signals.publish(thread, signal)
  if (isAwaited) signals.publish(commits, signal)
}

/** What a thread says while it works. */
export function tellDelta(
  { signals }: Pick<Backend, 'signals'>,
  { id, path }: NamedThread,
  make: () => DeltaSignal,
): void {
  const [tree, thread] = [treeTopic(path[0] ?? id), threadTopic(id)]
  const isHeardInTree = signals.heard(tree)
  const isHeard = signals.heard(thread)
  if (!isHeardInTree && !isHeard) return
  const signal = asSignal(make())
  if (isHeardInTree) signals.publish(tree, signal)
  if (isHeard) signals.publish(thread, signal)
}

export function tellRemoval({ signals }: Pick<Backend, 'signals'>, root: string): void {
  for (const topic of [treeTopic(root), removalTopic(root)]) signals.publish(topic, asSignal({ kind: 'removed' }))
}
