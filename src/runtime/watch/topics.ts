/**
 * News of a tree on the backend's signals: what is published when records are durable and while a model
 * speaks, and the topics they go to. One topic per tree, so one subscription sees all of it.
 *
 * - Durable news is published after its commit is acknowledged, never before.
 */
import type { Backend } from '../../backend/port.js'
import type { Failure } from '../../core/failure.js'
import type { Answer } from '../../core/records/command.js'
import type { DeltaEvent } from '../../core/records/event.js'
import type { Json } from '../../core/json.js'
import type { ThreadRecord } from '../../core/records/record.js'

export const treeTopic = (root: string): string => `tree/${root}`
export const answerTopic = (command: string): string => `answer/${command}`
/** A new watcher asks here for the text that is being spoken. */
export const catchUpTopic = 'catch-up'
/** A provider has limited a model. */
export const limitsTopic = 'limits'
/** Someone asks which threads wait for a model. */
export const waitsTopic = 'waits'

/** Records of one commit, as they go to watchers. */
export interface CommitSignal {
  readonly kind: 'committed'
  readonly thread: string
  readonly path: readonly string[]
  readonly position: number
  /** Whether the thread is at rest then. */
  readonly rest?: boolean
  readonly records: readonly ThreadRecord[]
}

export interface DeltaSignal {
  readonly kind: 'spoken'
  /** The last record of the thread when it was said, durable or about to be. */
  readonly after: number
  readonly event: DeltaEvent
}

/**
 * For those who wait until a tree rests: mail was finished that left no record, or that was still in the box when its
 * records were told.
 */
export interface MailFinishedSignal {
  readonly kind: 'finished'
}

/** The tree is gone. */
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

/** Anything else on the topic is not for us. What news says is checked by its place in the journal, not by its form. */
export function toTreeSignal(value: Json): TreeSignal | undefined {
  const news = value as unknown as TreeSignal
  return hasForm(news) ? news : undefined
}

function hasForm(news: TreeSignal | null): boolean {
  switch (news?.kind) {
    case 'committed':
      return Array.isArray(news.records) && typeof news.thread === 'string'
    case 'spoken':
      return typeof news.after === 'number' && typeof news.event?.thread === 'string'
    case 'parked':
      return Array.isArray(news.path) && typeof news.failure?.message === 'string'
    default:
      return news?.kind === 'removed'
  }
}

/** Both are plain data, made of nothing but JSON; their types are only more precise than `Json` can say. */
export function asSignal(value: TreeSignal | MailFinishedSignal | Answer): Json {
  return value as unknown as Json
}

/** Makes nothing that nobody hears. */
export function tellTree(
  { signals }: Pick<Backend, 'signals'>,
  root: string,
  make: () => TreeSignal | MailFinishedSignal,
): void {
  const topic = treeTopic(root)
  if (signals.heard(topic)) signals.publish(topic, asSignal(make()))
}
