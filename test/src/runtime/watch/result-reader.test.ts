/** What a turn came to, as its waiters learn it: from its host, or by folding the journal. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold } from '../../../../actors/thread/fold.js'
import { createState } from '../../../../actors/thread/state.js'
import type { ThreadRecord } from '../../../../src/core/records/record.js'
import { turnResult } from '../../../../src/runtime/watch/projection.js'
import { ResultReader } from '../../../../src/runtime/watch/result-reader.js'
import type { CommitSignal, TurnResult } from '../../../../src/runtime/watch/topics.js'
import { neverBegun } from '../../../../src/runtime/watch/turn-view.js'
import { happenings, live } from '../../../helpers/life.js'
import { times } from '../../../helpers/soak.js'

interface Turn {
  readonly run: string
  readonly after: number
  readonly told: TurnResult | undefined
}

/** As a resident folds them: each turn, and what is told of it. */
function turnsOf(records: readonly ThreadRecord[]): readonly Turn[] {
  const state = createState('t')
  const begun: { run: string; after: number }[] = []
  const told: TurnResult[] = []
  for (const record of records) {
    const { turn } = state
    fold(state, record)
    if (turn && state.turn !== turn)
      told.push({ run: turn.run, seq: record.seq, result: turnResult(turn, state.lastTurn) })
    if (state.turn && state.turn !== turn) begun.push({ run: state.turn.run, after: record.seq - 1 })
  }
  return begun.map((each, index) => ({ ...each, told: told[index] }))
}

/** `live`: how many commits from here on reach the waiter as signals, by turns with those read from the journal. */
function commitsOf(records: readonly ThreadRecord[], turns: readonly Turn[], sizes: readonly number[]): CommitSignal[] {
  const commits: CommitSignal[] = []
  for (let from = 0, nth = 0; from < records.length; nth++) {
    const size = sizes[nth % sizes.length] ?? 1
    const some = records.slice(from, from + Math.abs(size))
    const results = turns.flatMap(({ told }) => (told && some.some(({ seq }) => seq === told.seq) ? [told] : []))
    const own = { kind: 'committed', thread: 't', path: ['t'], position: nth + 1, records: some } as const
    commits.push(size > 0 ? { ...own, results } : { ...own, size: 1 })
    from += some.length
  }
  return commits
}

/** Whoever waits: watches from before the turn, and again from there where the reader was not told. */
function waitFor({ run, after }: Turn, commits: readonly CommitSignal[]) {
  const location = { root: 't', thread: 't', run, after }
  const read = (reader: ResultReader) => {
    for (const commit of commits) {
      const records = commit.records.filter(({ seq }) => seq > after)
      const found = records.length > 0 ? reader.take({ ...commit, records }) : undefined
      if (found) return found
    }
    return undefined
  }
  const first = read(new ResultReader(location))
  return first === 'untold' ? read(new ResultReader(location, { isTold: false })) : first
}

/** Positive: a signal with so many records; negative: an entry of the journal. */
const sizes = fc.array(
  fc.integer({ min: -4, max: 4 }).filter((size) => size !== 0),
  { minLength: 1, maxLength: 8 },
)

describe('the result of a turn', () => {
  it('R1: is the same by any mixture of signals and entries of the journal', () => {
    fc.assert(
      fc.property(happenings, sizes, (all, parts) => {
        const { records } = live(all)
        const turns = turnsOf(records)
        const commits = commitsOf(records, turns, parts)
        for (const turn of turns) expect(waitFor(turn, commits)).toEqual(turn.told?.result)
      }),
      { numRuns: times(300, 2_000) },
    )
  })

  const run = 'm1'
  const location = { root: 't', thread: 't', run, after: 1 }
  const own = { kind: 'committed', thread: 't', path: ['t'], position: 1 } as const
  const started: ThreadRecord = { type: 'turn.started', run, seq: 2, at: 0 }
  const ended: ThreadRecord = { type: 'turn.ended', run, reason: 'completed', seq: 9, at: 0 }

  it('is taken from the host that tells it: nothing is folded meanwhile', () => {
    const reader = new ResultReader(location)
    expect(reader.take({ ...own, records: [started], results: [] })).toBeUndefined()
    // A fold would refuse the gap (FO4).
    const result = { ...neverBegun, text: 'told' }
    expect(reader.take({ ...own, records: [ended], results: [{ run, seq: 9, result }] })).toBe(result)
  })

  it('is looked for in the journal where its end was not told', () => {
    const reader = new ResultReader(location)
    expect(reader.take({ ...own, records: [started], results: [] })).toBeUndefined()
    expect(reader.take({ ...own, records: [ended] })).toBe('untold')
  })

  it('is not that of an earlier turn of the same run', () => {
    const reader = new ResultReader(location)
    const earlier = { run, seq: 1, result: neverBegun }
    expect(reader.take({ ...own, records: [started], results: [earlier] })).toBeUndefined()
  })

  it('is none where the thread ended before the turn began', () => {
    const reader = new ResultReader(location)
    const terminated: ThreadRecord = { type: 'thread.terminated', seq: 2, at: 0 }
    expect(reader.take({ ...own, records: [terminated], results: [] })).toBe(neverBegun)
  })
})
