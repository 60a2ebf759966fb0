/** Threads that wait for a model which its provider has limited: asked of the hosts, because no store knows it. */
import type { SkeinClient, SkeinEvent, ThreadInfo, ThreadWait } from '../../index.js'
import { clockTime } from '../format.js'
import { label } from '../visible.js'

export type ShownModelWait = Pick<ThreadWait, 'model' | 'place' | 'until'>

/** By thread. Hosts take a moment to answer, so they are asked only where someone could wait. */
export async function modelWaitsOf(
  client: SkeinClient,
  heads: readonly ThreadInfo[],
): Promise<ReadonlyMap<string, ShownModelWait>> {
  if (!heads.some(({ status }) => status === 'thinking')) return new Map()
  return new Map((await client.modelWaits()).map(({ thread, ...wait }) => [thread, wait]))
}

export function modelWaitLine({ model, place, until }: ShownModelWait): string {
  return `model ${label(model)}: place ${place}, not before ${clockTime(until)}`
}

/** What a thread waits for after one of its events. */
export function waitAfter(event: SkeinEvent, before: ShownModelWait | undefined): ShownModelWait | undefined {
  if (event.type === 'model.waiting') return event.place > 0 ? event : undefined
  return event.type === 'model.replied' || event.type === 'turn.ended' ? undefined : before
}
