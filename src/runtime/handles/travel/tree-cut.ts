/**
 * The cut of a whole tree: one position. All commits up to it are consistent, because mail exists only with the commit
 * that sends it and is taken by a later one (J5); nobody is stopped for it, now or a week later.
 */
import type { Backend, StoredHead } from '../../../backend/port.js'
import { eachHead } from '../../journal/heads.js'
import { crossingAt } from './crossing.js'
import type { Crossing } from './crossing.js'
import { seqAt } from './points.js'
import type { Point, ReadThread } from './points.js'

export interface Cut {
  readonly read: ReadThread
  readonly seq: number
  readonly position: number
}

/** The thread, read, and where it is cut; with `tree`, all below it are cut at the same position. */
export async function cutAt(
  backend: Backend,
  { thread, root }: StoredHead,
  { at, tree = false }: { readonly at?: Point | undefined; readonly tree?: boolean | undefined },
): Promise<Cut> {
  const read = { thread, entries: await backend.journal.read(thread) }
  if (tree && at === undefined) return cutNow(backend, root, read)
  const seq = seqAt(read, at)
  const holding = read.entries.find(({ first, count }) => seq >= first && seq < first + count)
  const position = at && 'cursor' in at ? Number(at.cursor.split('.')[0]) : (holding?.position ?? 0)
  return { read, seq, position }
}

/** Threads below it may have written since it did. */
async function cutNow(backend: Backend, root: string, { thread, entries }: ReadThread): Promise<Cut> {
  let position = entries.at(-1)?.position ?? 0
  for (let more = true; more;) {
    const later = await backend.journal.readTree(root, { after: position })
    position = later.at(-1)?.position ?? position
    more = later.length > 0
  }
  const all = (await backend.journal.read(thread)).filter((entry) => entry.position <= position)
  const read = { thread, entries: all }
  return { read, seq: seqAt(read, undefined), position }
}

/** The crossing of a thread alone: what threads below it have done since counts, too, for they did it on its behalf. */
export async function withEffectsBelow(
  backend: Backend,
  head: StoredHead,
  cut: { readonly own: Crossing; readonly position: number },
): Promise<Crossing> {
  const { effects } = await treeCrossing(backend, head, cut)
  return effects.length === cut.own.effects.length ? cut.own : { ...cut.own, effects }
}

/** What all threads below it, and it itself, have done since. `own`: of the thread itself. */
export async function treeCrossing(
  backend: Backend,
  { thread: top, root }: StoredHead,
  { own, position }: { readonly own: Crossing; readonly position: number },
): Promise<Crossing> {
  const effects = [...own.effects]
  const schedules = [...own.schedules]
  const approvals = [...own.approvals]
  const cut = [{ thread: top, seq: own.seq }]
  for await (const { thread, path } of eachHead(backend, { root })) {
    if (thread === top || !path.includes(top)) continue
    const read = { thread, entries: await backend.journal.read(thread) }
    const last = read.entries.findLast((entry) => entry.position <= position)
    const seq = last ? last.first + last.count - 1 : 0
    const crossing = crossingAt(read, seq)
    effects.push(...crossing.effects)
    schedules.push(...crossing.schedules)
    approvals.push(...crossing.approvals)
    if (seq > 0) cut.push({ thread, seq })
  }
  return { ...own, effects: effects.toSorted((one, other) => one.at - other.at), schedules, approvals, cut }
}
