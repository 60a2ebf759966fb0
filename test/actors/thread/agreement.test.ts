/** Properties of a thread's life, over random commands and landings: fold, machine, slots and outstanding agree. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold } from '../../../actors/thread/fold.js'
import { outstanding } from '../../../actors/thread/outstanding.js'
import { moveByTable } from '../../../actors/thread/position.js'
import { createLiveActor, createMachineActor } from '../../helpers/machine-actor.js'
import type { Position } from '../../../actors/thread/position.js'
import type { Slot, Slots } from '../../../actors/thread/calls/slots.js'
import { createState } from '../../../actors/thread/state.js'
import type { ThreadState, Turn } from '../../../actors/thread/state.js'
import type { Message } from '../../../src/core/records/message.js'
import type { ThreadRecord } from '../../../src/core/records/record.js'
import { schedulesKey } from '../../../src/core/records/schedule.js'
import { due } from '../../../actors/thread/decide/due.js'
import { happenings, live, momentOf } from '../../helpers/life.js'
import { times } from '../../helpers/soak.js'

const runs = { numRuns: times(200, 500) }

function replay(records: readonly ThreadRecord[]): ThreadState {
  const state = createState('t')
  // Through text, as the journal keeps them.
  for (const record of JSON.parse(JSON.stringify(records)) as ThreadRecord[]) fold(state, record)
  return state
}

describe.each([
  ['the machine itself', createMachineActor],
  ['the live actor', createLiveActor],
])('%s and the table', (_, createActor) => {
  it('move to the same place by the same records, and count the same wants', () => {
    fc.assert(
      fc.property(happenings, (all) => {
        const places: Position[] = []
        const byTable = live(all, {
          move: moveByTable,
          watch: { folded: ({ position: place }) => void places.push(place) },
        })
        const { actor, move } = createActor(createState('t').position)
        let at = 0
        const byActor = live(all, {
          move,
          watch: { folded: ({ position: place }) => expect(place).toEqual(places[at++]) },
        })
        expect(byActor.state).toEqual(byTable.state)
        actor.stop()
      }),
      runs,
    )
  })

  it('an actor that is started in the middle goes on as the table does', () => {
    fc.assert(
      fc.property(happenings, fc.nat(60), (all, cut) => {
        const { records, state } = live(all)
        const half = replay(records.slice(0, cut))
        const { actor, move } = createActor(half.position)
        for (const record of records.slice(cut)) fold(half, record, move)
        expect(half).toEqual(state)
        actor.stop()
      }),
      runs,
    )
  })
})

describe('replay', () => {
  it('FO1, P1: the records alone give the state that was lived', () => {
    fc.assert(
      fc.property(happenings, (all) => {
        const { state, records } = live(all)
        expect(replay(records)).toEqual(state)
      }),
      runs,
    )
  })

  it('CO4, P1: a journal cut between any two records goes on with the record that followed', () => {
    fc.assert(
      fc.property(happenings, (all) => {
        const calledFor = new Set<number>()
        const { records } = live(all, {
          watch: { folded: (_, { seq }, called) => void (called && calledFor.add(seq)) },
        })
        const state = createState('t')
        for (const record of records) {
          const { seq, at, by: _, ...fact } = record
          expect(due(state, momentOf(all, at))).toEqual(calledFor.has(seq) ? fact : undefined)
          fold(state, record)
        }
        expect(due(state, { now: records.at(-1)?.at ?? 0, mayBegin: true })).toBeUndefined()
      }),
      runs,
    )
  })

  it('FO2: a repeated answer in the journal changes nothing but the sequence and the time', () => {
    const answers = new Set(['model.replied', 'call.returned', 'turn.ended'])
    fc.assert(
      fc.property(happenings, fc.nat(100), (all, pick) => {
        const { state, records } = live(all)
        const given = records.filter(({ type }) => answers.has(type))
        const again = given[pick % Math.max(1, given.length)]
        fc.pre(again !== undefined)
        if (!again) return
        const { seq: _, by: __, ...fact } = again
        const { seq, updatedAt, ...before } = replay(records)
        const after = replay(records)
        fold(after, { ...fact, seq: seq + 1, at: updatedAt + 5 })
        expect(after).toEqual({ ...before, seq: seq + 1, updatedAt: updatedAt + 5 })
        expect(after.transcript).toEqual(state.transcript)
      }),
      runs,
    )
  })

  it('CO2, SL1: an outcome that lands again decides nothing', () => {
    fc.assert(
      fc.property(happenings, (all) => {
        live(all, { watch: { repeated: (decision) => expect(decision).toEqual({ facts: [] }) } })
      }),
      runs,
    )
  })
})

describe('outstanding work', () => {
  it('OU1, TS3: nothing finished is wanted again, and a key is never used for anything else', () => {
    fc.assert(
      fc.property(happenings, (all) => {
        const finished = new Set<string>()
        let wanted = new Set<string>()
        live(all, {
          watch: {
            // Between the records of one decision nobody looks.
            decided: (state) => {
              const now = new Set(outstanding(state).map(({ key }) => key))
              for (const key of wanted) if (!now.has(key) && !heldBack(state, key)) finished.add(key)
              for (const key of now) expect(finished, `${key} is wanted again`).not.toContain(key)
              wanted = now
            },
          },
        })
      }),
      runs,
    )
  })

  it('OU2, OU3: calls are listed in call order when nothing before them stands in the way', () => {
    fc.assert(
      fc.property(happenings, (all) => {
        live(all, {
          watch: {
            decided: (state) => {
              const listed = outstanding(state).flatMap((effect) => (effect.kind === 'call' ? [effect.index] : []))
              expect(listed).toEqual(state.turn ? allowed(state.slots, state.turn) : [])
            },
          },
        })
      }),
      runs,
    )
  })

  it('TS2: while wants stands still, work goes away only by the call that landed', () => {
    fc.assert(
      fc.property(happenings, (all) => {
        let wants = -1
        let keys: readonly string[] = []
        live(all, {
          watch: {
            decided: (state, facts) => {
              const now = outstanding(state).map(({ key }) => key)
              const landed = facts.flatMap((fact) =>
                fact.type === 'call.returned' ? [`step/${fact.step}/call/${fact.index}`] : [],
              )
              expect(now).toEqual(
                state.effectsEpoch === wants
                  ? keys.filter((key) => !landed.includes(key.replace(/\/(again|answer)$/, '')))
                  : now,
              )
              wants = state.effectsEpoch
              keys = now
            },
          },
        })
      }),
      runs,
    )
  })
})

/** A call that someone holds is not wanted now and will be again. */
/** It waits for someone, or for a scheduled call that comes before it. */
function heldBack(state: ThreadState, key: string): boolean {
  if (key.startsWith('schedule/'))
    return JSON.stringify(state.values[schedulesKey]?.value ?? {}).includes(
      JSON.stringify(key.slice('schedule/'.length)),
    )
  return state.slots.items.some(
    ({ hold }, index) =>
      hold !== undefined && key.replace(/(\/(again|answer))+$/, '') === `step/${state.step}/call/${index}`,
  )
}

describe('the transcript', () => {
  it('M2, FO3: at every step boundary each call is followed by its result, in call order, before anything else', () => {
    fc.assert(
      fc.property(happenings, (all) => {
        live(all, {
          watch: {
            decided: ({ transcript, slots }) =>
              expect(unpaired(transcript.items, slots.items.length - slots.drained)).toEqual([]),
          },
        })
      }),
      runs,
    )
  })

  it('SL2: any order in which the calls of a step land gives one transcript', () => {
    const count = 5
    const order = fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: count, maxLength: count })
    fc.assert(
      fc.property(order, (landing) => {
        expect(transcriptOf(landing)).toEqual(transcriptOf([0, 1, 2, 3, 4]))
      }),
    )
  })
})

/** Places where M2 does not hold; `missing` results may still be to come at the very end. */
function unpaired(messages: readonly Message[], missing: number): readonly string[] {
  const faults: string[] = []
  for (let at = 0; at < messages.length; at++) {
    const asked = (messages[at]?.calls ?? []).map(({ id }) => id)
    const answers = messages.slice(at + 1, at + 1 + asked.length).map(({ call }) => call)
    const open = at + 1 + answers.length === messages.length ? missing : 0
    if (answers.join() !== asked.slice(0, asked.length - open).join())
      faults.push(`message ${at} asks ${asked.join()} and is answered ${answers.join()}`)
    at += answers.length
    if (messages[at + 1]?.role === 'tool') faults.push(`message ${at + 1} answers nothing`)
  }
  return faults
}

function transcriptOf(landing: readonly number[]): readonly Message[] {
  const state = createState('t')
  const facts: readonly object[] = [
    { type: 'thread.created', agent: 'helper', tags: [], path: ['t'] },
    { type: 'message.received', id: 'r', text: 'go', role: 'user', run: 'r', delivery: 'steer' },
    { type: 'turn.started', run: 'r' },
    {
      type: 'model.replied',
      step: 1,
      model: 'm',
      text: '',
      calls: Array.from({ length: landing.length }, () => ({ tool: 'look', args: {} })),
      usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
      finish: 'tool_calls',
    },
    { type: 'message.received', id: 's', text: 'also', role: 'user', run: 'r', delivery: 'steer' },
    ...landing.map((index) => ({
      type: 'call.returned',
      step: 1,
      index,
      outcome: { ok: true, value: `value ${index}` },
    })),
  ]
  // Results carry the time they were taken out, which is the same here.
  for (const [index, fact] of facts.entries()) fold(state, { ...fact, seq: index + 1, at: 7 } as ThreadRecord)
  return state.transcript.items
}

/** The rule in other words: what may run beside each other, given what is open before it. */
function allowed({ items, drained }: Slots, turn: Turn): number[] {
  return items.flatMap((slot, index) => {
    const { outcome, hold, began, call, answer } = slot
    if (outcome || hold || call.child || call.asks) return []
    const unsettled = items.slice(drained, index)
    if (unsettled.some(isBarrier) || (call.sideEffect && !began && !answer)) return []
    return unsettled.length === 0 || mayRunAhead(slot, unsettled, turn) ? [index] : []
  })
}

function isBarrier({ outcome, call, passed }: Slot): boolean {
  return !outcome && !!call.sideEffect && !call.commutes && !passed
}

/** Neither a cache nor a limit could make its result another one once the calls before it have settled. */
function mayRunAhead({ call, again }: Slot, unsettled: readonly Slot[], { tally }: Turn): boolean {
  if (again || call.inTurn || (call.sideEffect && !call.commutes)) return false
  const same = unsettled.filter((earlier) => earlier.call.tool === call.tool).length
  const { done = 0, failed = 0 } = tally?.tools[call.tool] ?? {}
  const { maxExecutions = Infinity, breaker = Infinity, cacheKey } = call.policy ?? {}
  return !isKnown(cacheKey, unsettled, tally) && done + same < maxExecutions && failed + same < breaker
}

function isKnown(cacheKey: string | undefined, unsettled: readonly Slot[], tally: Turn['tally']): boolean {
  if (cacheKey === undefined) return false
  return !!tally?.cache[cacheKey] || unsettled.some((earlier) => earlier.call.policy?.cacheKey === cacheKey)
}
