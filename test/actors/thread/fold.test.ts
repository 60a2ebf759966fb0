/** The fold by example: where messages land, what ends a turn, and what the journal may never do. */
import { describe, expect, it } from 'vitest'
import { fold } from '../../../actors/thread/fold.js'
import { outstanding } from '../../../actors/thread/outstanding.js'
import { createSlots, closeRest, drain, fill, hold } from '../../../actors/thread/calls/slots.js'
import { cutOutcome } from '../../../actors/thread/turn/results.js'
import { createState, statusOf } from '../../../actors/thread/state.js'
import { failure } from '../../../src/core/failure.js'
import type { Json } from '../../../src/core/json.js'
import type { Landed, ThreadRecord } from '../../../src/core/records/record.js'
import { createdThread } from '../../helpers/tale.js'

const dayMs = 24 * 60 * 60 * 1000

describe('messages', () => {
  it('F4: a message to a resting thread starts a turn that begins with it', () => {
    const tale = createdThread()
    tale.say('go', 'steer', 'm')
    expect(tale.state.turn?.run).toBe('m')
    expect(tale.said()).toEqual(['user:go'])
    expect(outstanding(tale.state)).toEqual([{ kind: 'model', key: 'step/1/model', step: 1 }])
  })

  it('F4, FO3: a steering message waits for the results of the step and is read at the next', () => {
    const tale = createdThread()
    tale.say('go')
    tale.reply('', ['look', 'look'])
    tale.returned(1)
    tale.say('hurry')
    expect(tale.said()).toEqual(['user:go', 'assistant:'])
    tale.returned(0)
    expect(tale.said()).toEqual(['user:go', 'assistant:', 'tool:call_1_0', 'tool:call_1_1', 'user:hurry'])
    expect(statusOf(tale.state)).toBe('thinking')
  })

  it('F4: what was said while the model spoke its last word is answered in the same turn', () => {
    const tale = createdThread()
    tale.say('go', 'steer', 'first')
    tale.say('wait', 'steer')
    tale.reply('done')
    expect(tale.state.turn?.run).toBe('first')
    expect(tale.said()).toEqual(['user:go', 'assistant:done', 'user:wait'])
    tale.reply('really done')
    expect(tale.state.lastTurn).toMatchObject({ run: 'first', reason: 'completed' })
  })

  it('F4: a message that asks for a turn of its own waits for it, each in its order', () => {
    const tale = createdThread()
    tale.say('one', 'steer', 'a')
    tale.say('two', 'new_turn', 'b')
    tale.say('three', 'new_turn', 'c')
    tale.say('aside', 'steer')
    tale.reply('1')
    tale.reply('1 again')
    expect(tale.state.turn?.run).toBe('b')
    expect(tale.said()).toEqual(['user:one', 'assistant:1', 'user:aside', 'assistant:1 again', 'user:two'])
    tale.reply('2')
    expect(tale.state.turn?.run).toBe('c')
    tale.reply('3')
    expect(statusOf(tale.state)).toBe('idle')
    expect(tale.said().slice(4)).toEqual(['user:two', 'assistant:2', 'user:three', 'assistant:3'])
  })

  it('F4: a stored message starts nothing, and to a busy thread it is added between two steps', () => {
    const tale = createdThread()
    tale.say('note', 'store')
    expect(statusOf(tale.state)).toBe('idle')
    expect(tale.said()).toEqual(['user:note'])
    tale.say('go')
    tale.reply('', ['look'])
    tale.say('aside', 'store')
    expect(tale.said()).toEqual(['user:note', 'user:go', 'assistant:'])
    tale.returned(0)
    expect(tale.said().at(-1)).toBe('user:aside')
  })

  it('F4: a message stored during the last word does not make the model speak again', () => {
    const tale = createdThread()
    tale.say('go')
    tale.say('aside', 'store')
    tale.reply('done')
    expect(statusOf(tale.state)).toBe('idle')
    expect(tale.said()).toEqual(['user:go', 'assistant:done', 'user:aside'])
  })
})

describe('the end of a turn', () => {
  it('F7, M2: cancel answers every open call, keeps what had landed, and spends the step', () => {
    const tale = createdThread()
    tale.say('go', 'steer', 'r')
    tale.reply('', ['look', 'look', 'look'])
    tale.returned(1, 'landed')
    tale.obey({ kind: 'cancel', reason: 'enough' })
    const [, , first, second, third] = tale.state.transcript.items
    expect(first).toMatchObject({ call: 'call_1_0', failed: { code: 'CANCELLED' } })
    expect(first?.text).toContain('cancelled (enough)')
    expect(second).toMatchObject({ call: 'call_1_1', text: 'landed' })
    expect(third).toMatchObject({ call: 'call_1_2', failed: { code: 'CANCELLED' } })
    expect(tale.state.lastTurn).toMatchObject({ run: 'r', reason: 'cancelled' })
    expect(outstanding(tale.state)).toEqual([])
  })

  it('TS3: a step that was asked and never answered is spent', () => {
    const tale = createdThread()
    tale.say('go')
    expect(outstanding(tale.state)[0]?.key).toBe('step/1/model')
    tale.obey({ kind: 'cancel' })
    tale.say('again')
    expect(outstanding(tale.state)[0]?.key).toBe('step/2/model')
  })

  it('L1: a turn that reached its last step ends after that step’s calls', () => {
    const tale = createdThread()
    tale.say('go', 'steer', 'r')
    tale.reply('', ['look', 'look'], 'max_steps')
    tale.returned(0)
    expect(tale.state.turn?.run).toBe('r')
    tale.returned(1)
    expect(tale.state.lastTurn).toMatchObject({ run: 'r', reason: 'max_steps' })
    expect(tale.said().slice(-2)).toEqual(['tool:call_1_0', 'tool:call_1_1'])
  })

  it('T1: a step whose calls are all refused needs nothing: the model is asked again at once', () => {
    const tale = createdThread()
    tale.say('go')
    tale.reply('', [{ tool: 'gone', args: {}, refused: failure('UNKNOWN_TOOL', 'no such tool') }])
    expect(tale.said().at(-1)).toBe('tool:call_1_0')
    expect(outstanding(tale.state)).toEqual([{ kind: 'model', key: 'step/2/model', step: 2 }])
  })

  it('an empty reply ends the turn and says so', () => {
    const tale = createdThread()
    tale.say('go')
    tale.reply('')
    expect(tale.state.lastTurn?.reason).toBe('empty_reply')
  })

  it('a failed turn is tried again by resume, with a step and a run of its own', () => {
    const tale = createdThread()
    tale.say('go', 'steer', 'r')
    tale.land({ kind: 'model_failed', step: 1, failure: failure('MODEL_REJECTED', 'no') })
    expect(statusOf(tale.state)).toBe('failed')
    expect(tale.state.lastTurn).toMatchObject({ run: 'r', reason: 'failed', failure: { code: 'MODEL_REJECTED' } })
    tale.obey({ kind: 'resume' }, 'again')
    expect(tale.state.turn?.run).toBe('again')
    expect(tale.said()).toEqual(['user:go'])
    expect(outstanding(tale.state)).toEqual([{ kind: 'model', key: 'step/2/model', step: 2 }])
  })

  it('a message to a failed thread starts the next turn as well', () => {
    const tale = createdThread()
    tale.say('go')
    tale.land({ kind: 'model_failed', step: 1, failure: failure('MODEL_REJECTED', 'no') })
    tale.say('try again', 'steer', 'r2')
    expect(tale.state.turn?.run).toBe('r2')
  })

  it('F7: terminate ends the turn and forgets no result', () => {
    const tale = createdThread()
    tale.say('go', 'steer', 'r')
    tale.reply('', ['look', 'look'])
    tale.returned(0)
    tale.say('later', 'new_turn')
    tale.obey({ kind: 'terminate', reason: 'over' })
    expect(statusOf(tale.state)).toBe('terminated')
    expect(tale.state.turn).toBeUndefined()
    expect(tale.state.lastTurn).toMatchObject({ run: 'r', reason: 'terminated' })
    expect(tale.said().slice(-2)).toEqual(['tool:call_1_0', 'tool:call_1_1'])
    expect(outstanding(tale.state)).toEqual([])
  })

  it('L1: a deadline ends its own turn, when it has come, and no other', () => {
    const tale = createdThread({ maxWallClockMs: 500 })
    tale.say('go', 'steer', 'r')
    const [deadline] = outstanding(tale.state)
    expect(deadline).toEqual({ kind: 'deadline', key: 'deadline/turn/r', at: 1_500 })
    expect(tale.land({ kind: 'deadline', key: 'deadline/turn/other' })).toEqual({ facts: [] })
    tale.now = 1_499
    expect(tale.land({ kind: 'deadline', key: 'deadline/turn/r' })).toEqual({ facts: [] })
    tale.now = 1_500
    tale.land({ kind: 'deadline', key: 'deadline/turn/r' })
    expect(tale.state.lastTurn).toMatchObject({ run: 'r', reason: 'deadline' })
  })
})

describe('waiting for someone', () => {
  it('a step waits only when every open call does, and goes on with the first that returns', () => {
    const tale = createdThread()
    tale.say('go')
    tale.reply('', ['look', 'ask'])
    tale.record({ type: 'call.held', step: 1, index: 1, why: 'approval' })
    expect(tale.state.position.work).toBe('acting')
    tale.returned(0)
    expect(tale.state.position.work).toBe('waiting.approval')
    expect(outstanding(tale.state)).toEqual([])
    tale.returned(1)
    expect(tale.state.position.work).toBe('thinking')
  })
})

describe('the journal', () => {
  it('FO4: a record out of sequence is a bug and says so', () => {
    const state = createState('t')
    const record: ThreadRecord = { type: 'thread.created', agent: 'a', tags: [], path: ['t'], seq: 2, at: 0 }
    expect(() => fold(state, record)).toThrow(/FO4.*record 2 follows 0/)
  })

  it('FO5: a record of an unknown type is refused, not skipped', () => {
    const record: ThreadRecord = JSON.parse('{"type":"thread.enlarged","seq":1,"at":0}')
    expect(() => fold(createState('t'), record)).toThrow(/FO5.*"thread.enlarged"/)
  })

  it('an accepted command is remembered for a day, with its run', () => {
    const tale = createdThread()
    tale.say('go', 'steer', 'm')
    expect(tale.state.accepted.get('m')).toMatchObject({ run: 'm' })
    tale.reply('done')
    tale.now += dayMs - 1
    tale.say('note', 'store', 'n')
    expect(tale.state.accepted.has('m')).toBe(true)
    tale.now += 1
    tale.say('note', 'store', 'o')
    expect(tale.state.accepted.has('m')).toBe(false)
    expect([...tale.state.accepted.keys()]).toEqual(['n', 'o'])
  })

  it('of many commands within a day the last 256 are remembered: a state does not grow with turns that are over', () => {
    const tale = createdThread()
    for (let n = 0; n < 300; n++) tale.say('note', 'store', `n${n}`)
    expect(tale.state.accepted.size).toBe(301) // for some minutes, all are, and the one that created it
    tale.now += 2 * 60 * 1000
    tale.say('note', 'store', 'n300')
    expect(tale.state.accepted.size).toBe(256)
    expect([tale.state.accepted.has('n44'), tale.state.accepted.has('n45')]).toEqual([false, true])
  })
})

describe('slots', () => {
  const ok = (value: Json): Landed => ({ outcome: { ok: true, value } })
  const slots = () =>
    createSlots([
      { tool: 'a', args: {} },
      { tool: 'b', args: {}, refused: failure('UNKNOWN_TOOL', 'no') },
      { tool: 'c', args: {} },
    ])

  it('SL1: a slot is filled once', () => {
    const some = slots()
    expect(fill(some, 0, ok(1))).toBe(true)
    expect(fill(some, 0, ok(2))).toBe(false)
    expect(fill(some, 1, ok(2))).toBe(false)
    expect(fill(some, 9, ok(2))).toBe(false)
    expect(some.open).toBe(1)
  })

  it('SL2: results come out in call order, each once, and nothing behind a gap', () => {
    const some = slots()
    const taken: number[] = []
    const take = (): void => drain(some, (_, index) => void taken.push(index))
    fill(some, 2, ok('c'))
    take()
    expect(taken).toEqual([])
    fill(some, 0, ok('a'))
    take()
    take()
    expect(taken).toEqual([0, 1, 2])
  })

  it('SL1: holding counts a slot once, and filling lets it go', () => {
    const some = slots()
    expect(hold(some, 1, { why: 'person', at: 1 })).toBe(false)
    hold(some, 0, { why: 'person', at: 1 })
    hold(some, 0, { why: 'approval', at: 1 })
    expect([some.open, some.held]).toEqual([2, 1])
    closeRest(some, cutOutcome({ reason: 'cancelled' }))
    expect([some.open, some.held]).toEqual([0, 0])
  })
})
