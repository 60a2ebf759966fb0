/**
 * Where a thread stands, for people who look at it: its position in the statechart, what it waits for, and until when.
 */
import { askingCalls } from '../../../../actors/thread/turn/effect-resolution.js'
import { outstanding } from '../../../../actors/thread/outstanding.js'
import type { Position } from '../../../../actors/thread/position.js'
import { statusReported } from '../../../../actors/thread/children/reports.js'
import type { Status } from '../../../core/records/status.js'
import type { Backend } from '../../../backend/port.js'
import { defined } from '../../../core/defined.js'
import type { Effect } from '../../../core/effect.js'
import { chainHash } from '../../journal/journal.js'
import { wake } from '../../journal/wake.js'
import { threadMissing } from '../services.js'

/** Work that the thread waits for. */
export interface OutstandingWork {
  /** Unique in the thread for ever: `step/3/call/1`. */
  readonly key: string
  readonly kind: Effect['kind']
  /** Of a deadline or a schedule: when it comes. */
  readonly at?: number
}

export interface ThreadStateInfo {
  readonly thread: string
  readonly agent: string
  readonly status: Status
  /** The number of the last record that is counted in. */
  readonly seq: number
  readonly updatedAt: number
  /** The hash of its journal up to `seq`: where it is equal, all of the state is. */
  readonly digest: string
  /** Its value in the statechart: `{ gate: 'open', work: 'waiting.approval' }`. */
  readonly value: Position
  /** Steps begun. */
  readonly step: number
  readonly turn?: {
    readonly run: string
    readonly startedAt: number
    readonly steps: number
    readonly calls: number
    readonly deadlineAt?: number
  }
  /** What it waits for, or would if it were not paused. */
  readonly outstanding: readonly OutstandingWork[]
  /** Of these, what has a time, the earliest first. */
  readonly deadlines: readonly { readonly key: string; readonly at: number }[]
  /** Messages and calls that wait for the step or the turn to end. */
  readonly queued: { readonly messages: number; readonly calls: number }
  /** Calls of which nobody knows whether they changed the world. */
  readonly unknown: readonly string[]
}

export async function readStateInfo(backend: Backend, id: string): Promise<ThreadStateInfo> {
  const { state, chain } = await wake(backend, id)
  if (state.seq === 0) threadMissing(id)
  const work = outstanding(state).map(workOf)
  const { turn } = state
  return {
    thread: id,
    agent: state.agent,
    status: statusReported(state),
    seq: state.seq,
    updatedAt: state.updatedAt,
    digest: chainHash(chain),
    value: state.position,
    step: state.step,
    ...(turn && { turn: turnOf(turn) }),
    outstanding: work,
    deadlines: work
      .flatMap(({ key, at }) => (at === undefined ? [] : [{ key, at }]))
      .toSorted((one, other) => one.at - other.at),
    queued: { messages: state.queue.length, calls: state.queuedCalls.length },
    unknown: [...Object.keys(state.unknownEffects), ...askingCalls(state)],
  }
}

type OpenTurn = NonNullable<Awaited<ReturnType<typeof wake>>['state']['turn']>

function turnOf({ run, startedAt, steps, calls, deadlineAt }: OpenTurn): NonNullable<ThreadStateInfo['turn']> {
  return { run, startedAt, steps, calls, ...defined({ deadlineAt }) }
}

function workOf(effect: Effect): OutstandingWork {
  const { key, kind } = effect
  if (kind === 'deadline') return { key, kind, at: effect.at }
  return kind === 'schedule' ? { key, kind, at: effect.scheduled.at } : { key, kind }
}
