/**
 * News of a tree on the backend's signals: what is published when records are durable and while a model
 * speaks, and the topics they go to. One topic per tree, so one subscription sees all of it.
 *
 * NW1 Durable news is published after its commit is acknowledged, never before.
 */
import { z } from 'zod'
import type { DeltaEvent } from '../core/event.js'
import type { Json } from '../core/json.js'
import type { ThreadRecord } from '../core/record.js'

export const treeTopic = (root: string): string => `tree/${root}`
export const answerTopic = (command: string): string => `answer/${command}`
/** A new watcher asks here for the text that is being spoken. */
export const catchUpTopic = 'catch-up'

/** Records of one commit, as they go to watchers. */
export interface Committed {
  readonly kind: 'committed'
  readonly thread: string
  readonly path: readonly string[]
  readonly position: number
  readonly records: readonly ThreadRecord[]
}

export interface Spoken {
  readonly kind: 'spoken'
  readonly event: DeltaEvent
}

export type News = Committed | Spoken

// Records were checked where they were made and are checked by their chain in the journal; news is never truth.
const newsSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('committed'),
    thread: z.string(),
    path: z.array(z.string()),
    position: z.number(),
    records: z.array(z.looseObject({ type: z.string(), seq: z.number(), at: z.number() })),
  }),
  z.object({ kind: z.literal('spoken'), event: z.looseObject({ type: z.string(), thread: z.string(), step: z.number(), attempt: z.number() }) }),
])

export function toNews(value: Json): News | undefined {
  const checked = newsSchema.safeParse(value)
  return checked.success ? (value as unknown as News) : undefined
}

export function asSignal(news: News): Json {
  return news as unknown as Json
}
