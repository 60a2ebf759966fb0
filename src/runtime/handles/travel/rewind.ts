/**
 * Rewinding a thread: it goes back to a point of its own past. What was done to the world since is undone first, by
 * the tools that did it, or must be left as it is with `force`.
 *
 * - All effects are looked at before anything is touched: one that cannot be undone refuses the whole.
 * - The guard and the command agree: where the thread has moved on meanwhile, it is looked at again.
 */
import { z } from 'zod'
import type { StoredHead } from '../../../backend/port.js'
import { SkeinError, fromFailure } from '../../../core/failure.js'
import { checkOptions } from '../../../core/options.js'
import { parseCallId } from '../../../core/records/message.js'
import { wake } from '../../journal/wake.js'
import { threadSettled } from '../../watch/until-settled.js'
import { sendCommand } from '../send-command.js'
import { threadMissing } from '../services.js'
import type { ThreadServices } from '../services.js'
import { crossingAt, effectsCrossed } from './crossing.js'
import type { Crossing } from './crossing.js'
import { pointSchema, seqAt } from './points.js'
import type { Point } from './points.js'
import { cutAt, withEffectsBelow } from './tree-cut.js'
import { lazy } from '../../../core/schema.js'

export interface RewindOptions {
  readonly to: Point
  /** Undoes what was done to the world since, by the `revert` of each tool, newest first. */
  readonly revert?: boolean
  /** Leaves what was done to the world as it is. */
  readonly force?: boolean
}

/** What became of a rewind. */
export interface Rewound {
  /** The record that the thread went back to. */
  readonly to: number
  /** Calls whose effects were undone, newest first. */
  readonly reverted: readonly string[]
}

const rewindSchema = lazy(() =>
  z
    .strictObject({
      to: pointSchema(),
      revert: z.boolean().exactOptional(),
      force: z.boolean().exactOptional(),
      dry: z.boolean().exactOptional(),
    })
    .refine(({ revert, force }) => !(revert && force), {
      error: 'either `revert` (undo what was done) or `force` (leave it as it is), not both',
    }),
)

const mostTries = 10

export async function rewindThread(
  services: ThreadServices,
  head: StoredHead,
  options: RewindOptions & { readonly dry?: boolean },
): Promise<Crossing | Rewound> {
  const asked = checkOptions(rewindSchema(), options, 'rewind')
  for (let tries = 1; ; tries++) {
    try {
      return await rewindOnce(services, head, asked)
    } catch (thrown) {
      if (tries === mostTries || !SkeinError.is(thrown) || thrown.data?.['stale'] !== true) throw thrown
    }
  }
}

type Asked = z.infer<ReturnType<typeof rewindSchema>>

async function rewindOnce(services: ThreadServices, head: StoredHead, asked: Asked): Promise<Crossing | Rewound> {
  const { backend } = services
  const { thread } = head
  const { read, seq: to, position } = await cutAt(backend, head, { at: asked.to })
  if (read.entries.length === 0) threadMissing(thread)
  const seen = seqAt(read, undefined)
  if (to === 0 || to >= seen) throw nowhere(thread, to, seen)
  const crossing = await withEffectsBelow(backend, head, { own: crossingAt(read, to), position })
  if (asked.dry) return crossing
  const reverted = revertsOf(crossing, asked)
  await goBack(services, head, { to, seen, reverted, isForced: asked.force === true && crossing.effects.length > 0 })
  return { to, reverted }
}

/** The calls to undo, newest first. */
function revertsOf(crossing: Crossing, { revert = false, force = false }: Asked): readonly string[] {
  const { effects } = crossing
  if (effects.length === 0 || force) return []
  if (!revert) throw effectsCrossed(crossing, advice)
  if (effects.some(({ thread }) => thread !== crossing.thread)) throw effectsCrossed(crossing, ofOthers)
  if (!effects.every((effect) => effect.revert)) throw effectsCrossed(crossing, noRevert(crossing))
  return effects.toReversed().map(({ call }) => call)
}

interface Way {
  readonly to: number
  readonly seen: number
  readonly reverted: readonly string[]
  readonly isForced: boolean
}

async function goBack(
  { backend, clock, random, closed }: ThreadServices,
  { thread, root }: StoredHead,
  { to, seen, reverted, isForced }: Way,
): Promise<void> {
  const id = random.id()
  const reverts = reverted.flatMap((call) => parseCallId(call) ?? [])
  await sendCommand(backend, clock, {
    thread,
    id,
    command: { kind: 'rewind', to, seen, ...(reverts.length > 0 && { reverts }), ...(isForced && { forced: true }) },
  })
  if (reverts.length === 0) return
  const readHead = async (): Promise<StoredHead> => (await backend.heads.get(thread)) ?? threadMissing(thread)
  await threadSettled({ backend, closed }, root, readHead)
  const { lastTurn } = (await wake(backend, thread)).state
  if (lastTurn?.run === id && lastTurn.failure) throw fromFailure(lastTurn.failure)
}

const advice = 'Undo it with revert: true, or leave it as it is with force: true; { dry: true } gives the whole report'

const ofOthers =
  'Some of it was done by threads below this one, which a rewind does not undo; force: true leaves all of it as it is'

function noRevert({ effects }: Crossing): string {
  const without = [...new Set(effects.flatMap(({ revert, tool }) => (revert ? [] : [tool])))]
  return `These tools do not say how they are undone (revert): ${without.join(', ')}; force: true leaves it as it is`
}

function nowhere(thread: string, to: number, seen: number): SkeinError {
  const what = to === 0 ? 'there is nothing before that point' : `record ${to} is its last one (${seen})`
  return new SkeinError('BAD_OPTION', `thread ${thread} was not rewound: ${what}`, { data: { thread } })
}
