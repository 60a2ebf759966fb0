/**
 * Forking a thread: another one begins with its past up to a point, and goes its own way. The source is read, never
 * written: nothing of it is undone, and it does not know of its forks.
 *
 * - What the source has done to the world since the point stays done: a fork that would do it again needs a word about
 *   effects, or `force`.
 * - The past is stored before the fork is created, and is the fork's own: deleting the source changes nothing.
 */
import { z } from 'zod'
import type { ThreadState } from '../../../../actors/thread/state.js'
import { isStopped } from '../../../../actors/thread/turn/last-answer.js'
import type { StoredEntry, StoredHead } from '../../../backend/port.js'
import { budgetSchema, toAmounts } from '../../../core/budget.js'
import type { Budget } from '../../../core/budget.js'
import { defined } from '../../../core/defined.js'
import { SkeinError } from '../../../core/failure.js'
import { checkOptions } from '../../../core/options.js'
import type { Command } from '../../../core/records/command.js'
import type { EffectsWord } from '../../../core/records/travel.js'
import { packPast } from '../../journal/past.js'
import { sendCommand } from '../send-command.js'
import { threadMissing } from '../services.js'
import type { ThreadServices } from '../services.js'
import { crossingAt, effectsCrossed } from './crossing.js'
import type { Crossing } from './crossing.js'
import { pointSchema } from './points.js'
import type { Point, ReadThread } from './points.js'
import { cutAt, treeCrossing, withEffectsBelow } from './tree-cut.js'
import type { Cut } from './tree-cut.js'
import { lazy } from '../../../core/schema.js'

export interface ForkOptions {
  /** Where it begins. Default: after the last record. */
  readonly at?: Point
  /**
   * All threads below it, too, as they were at that position: what was on its way between them is put again. Everything
   * is paused until it was copied, and then goes on with `go` or `resume({ tree: true })`.
   */
  readonly tree?: boolean
  /**
   * What happens to calls with a side effect in the fork and below it: each waits for an approval (`ask`), is refused,
   * or runs (default). Where the source has acted on the world since, one of these must be said.
   */
  readonly effects?: EffectsWord
  /** `drop`: it has none of the source's variables. Default: all of them, sealed as they are. */
  readonly env?: 'keep' | 'drop'
  /** Calls that are scheduled at that point. Default `drop`. */
  readonly schedules?: 'keep' | 'drop'
  /** What it may spend. Default: what the source had left, with what was reserved for children. */
  readonly budget?: Budget
  /** It goes on at once. Default: a fork in the middle of a turn is paused until `resume()`. */
  readonly go?: boolean
  /** Although the source has acted on the world since: the fork may do it again. */
  readonly force?: boolean
  /** Forking to an id that is this very fork gives the thread that is there. */
  readonly id?: string
  readonly tags?: readonly string[]
}

const forkFields = lazy(() => ({
  at: pointSchema().exactOptional(),
  tree: z.boolean().exactOptional(),
  effects: z.enum(['ask', 'refuse', 'run']).exactOptional(),
  env: z.enum(['keep', 'drop']).exactOptional(),
  schedules: z.enum(['keep', 'drop']).exactOptional(),
  budget: budgetSchema.exactOptional(),
  go: z.boolean().exactOptional(),
  force: z.boolean().exactOptional(),
  dry: z.boolean().exactOptional(),
  id: z
    .string()
    .regex(/^(?!c_)[a-zA-Z0-9_-]{1,64}$/, 'an id is 1 to 64 letters, digits, "_" or "-", and does not begin with "c_"')
    .exactOptional(),
  tags: z.array(z.string().min(1)).exactOptional(),
}))

const forkSchema = lazy(() => z.strictObject(forkFields()))

/** What was asked for, and the report of a `dry` one. */
export type Forked = { readonly thread: string } | { readonly crossing: Crossing }

export async function forkThread(
  services: ThreadServices,
  head: StoredHead,
  options: ForkOptions & { readonly dry?: boolean },
): Promise<Forked> {
  const { at, dry, ...asked } = checkOptions(forkSchema(), options, 'fork')
  const { backend, random } = services
  const cut = await cutAt(backend, head, { at, tree: asked.tree })
  const { read, seq, position } = cut
  if (read.entries.length === 0) threadMissing(head.thread)
  if (seq === 0) throw nothingBefore(head.thread)
  let source: SourceFacts | undefined
  const own = crossingAt(read, seq, (state) => (source = factsOf(state)))
  const crossing = await (asked.tree ? treeCrossing : withEffectsBelow)(backend, head, { own, position })
  if (dry) return { crossing }
  const { force = false, effects, id = random.id() } = asked
  if (crossing.effects.length > 0 && !force && effects === undefined) throw effectsCrossed(crossing, advice)
  const existing = await backend.heads.get(id)
  if (existing) return { thread: sameFork(existing, { thread: head.thread, seq }) }
  if (source) await createFork(services, { id, head, cut, source, asked })
  return { thread: id }
}

const advice =
  'Say what happens to such calls in the fork, effects: "ask", "refuse" or "run", or force: true; { dry: true } ' +
  'gives the whole report'

/** Of the source at the point: a fold goes on, so they are copied. */
interface SourceFacts {
  readonly agent: string
  readonly keys: readonly string[]
  readonly roots: readonly string[]
  readonly tags: readonly string[]
  /** What a fork, or a thread below one, was told about side effects counts for forks of it, too. */
  readonly guard: EffectsWord
  readonly isResting: boolean
}

function factsOf(state: ThreadState): SourceFacts {
  const { agent, env, path, id, tags, lineage, turn, slots, queue, queuedCalls } = state
  // A turn that has its last reply only ends.
  const isOver = !turn || (isStopped(turn) && slots.open === 0)
  const isIdle = isOver && queuedCalls.length === 0 && queue.every(({ delivery }) => delivery === 'store')
  const { guard = 'run' } = lineage
  return { agent, keys: env.keys, roots: env.roots ?? [path[0] ?? id], tags, guard, isResting: isIdle }
}

/** Whole entries, up to the one with the record. */
function entriesUpTo({ entries }: ReadThread, seq: number): readonly StoredEntry[] {
  return entries.filter(({ first }) => first <= seq)
}

interface NewFork {
  readonly id: string
  readonly head: StoredHead
  readonly cut: Cut
  readonly source: SourceFacts
  readonly asked: Omit<ForkOptions, 'at'>
}

async function createFork(services: ThreadServices, fork: NewFork): Promise<void> {
  const { backend, clock, random } = services
  const { id, asked, source, head } = fork
  const { effects = source.guard, budget, go = false, tree = false } = asked
  const command: Command = {
    kind: 'create',
    agent: source.agent,
    tags: [...(asked.tags ?? source.tags)],
    path: [id],
    ...defined({ budget: budget && toAmounts(budget), guard: effects === 'run' ? undefined : effects }),
    based: {
      ...(await basedOn(services, fork)),
      ...(tree && { tree: { root: id, top: head.thread }, copying: { ...(go && { go: true as const }) } }),
      ...((tree || (!go && !source.isResting)) && { paused: `forked from ${head.thread}` }),
    },
  }
  try {
    await sendCommand(backend, clock, { thread: id, id: random.id(), command })
  } catch (thrown) {
    // Another caller made it at the same time.
    const there = SkeinError.is(thrown, 'COMMAND_REFUSED') ? await backend.heads.get(id) : undefined
    if (!there) throw thrown
    sameFork(there, { thread: head.thread, seq: fork.cut.seq })
  }
}

type Based = NonNullable<Extract<Command, { kind: 'create' }>['based']>

async function basedOn(
  { backend }: ThreadServices,
  { id, head, cut: { read, seq, position }, source, asked }: NewFork,
): Promise<Based> {
  const { env = 'keep', schedules = 'drop' } = asked
  const entries = entriesUpTo(read, seq)
  const last = entries.at(-1)
  const { past, blobs } = await packPast(backend.blobs, entries)
  const drops = [...(schedules === 'drop' ? ['schedules' as const] : []), ...(env === 'drop' ? ['env' as const] : [])]
  return {
    from: { thread: head.thread, root: head.root, seq, chain: last?.hash ?? '', position },
    past: 'parts' in past ? { parts: [...past.parts] } : { entries: [...past.entries] },
    blobs: [...blobs],
    roots: [id, ...source.roots],
    keys: env === 'drop' ? [] : [...source.keys],
    ...(drops.length > 0 && { drops }),
  }
}

/** The id of a fork that is there; another thread of that id is a mistake. */
function sameFork({ thread, forkedFrom }: StoredHead, from: { readonly thread: string; readonly seq: number }): string {
  if (forkedFrom?.thread === from.thread && forkedFrom.seq === from.seq) return thread
  const what = forkedFrom ? `a fork of ${forkedFrom.thread} at record ${forkedFrom.seq}` : 'no fork'
  throw new SkeinError('COMMAND_REFUSED', `thread ${thread} exists already and is ${what}; choose another id`)
}

function nothingBefore(thread: string): SkeinError {
  return new SkeinError(
    'BAD_OPTION',
    `there is nothing of thread ${thread} before that point; create another thread with threads.create`,
    { data: { thread } },
  )
}
