/** Decisions: what a thread refuses, and that a refusal and a late outcome change nothing. */
import { describe, expect, it } from 'vitest'
import type { Decision } from '../../../actors/thread/decide/decision.js'
import { failure } from '../../../src/core/failure.js'
import { createdThread, freshThread } from '../../helpers/tale.js'
import type { Tale } from '../../helpers/tale.js'

const refusal = (decision: Decision): string => ('refused' in decision ? decision.refused.code : 'accepted')

function terminated(): Tale {
  const tale = createdThread()
  tale.obey({ kind: 'terminate' })
  return tale
}

describe('refusals', () => {
  it('CO1: nothing but create is obeyed by a thread that does not exist', () => {
    const tale = freshThread()
    expect(refusal(tale.say('go'))).toBe('UNKNOWN_THREAD')
    for (const kind of ['cancel', 'pause', 'resume', 'terminate'] as const)
      expect(refusal(tale.obey({ kind }))).toBe('UNKNOWN_THREAD')
    expect(tale.records).toEqual([])
  })

  it('F8: a thread is created once', () => {
    const tale = createdThread()
    expect(refusal(tale.obey({ kind: 'create', agent: 'other', tags: [], path: ['t'] }))).toBe('COMMAND_REFUSED')
    expect(tale.state.agent).toBe('helper')
  })

  it('CO3: a command that would change nothing is refused and leaves no record', () => {
    const tale = createdThread()
    for (const kind of ['cancel', 'resume'] as const) expect(refusal(tale.obey({ kind })), kind).toBe('COMMAND_REFUSED')
    tale.obey({ kind: 'pause' })
    expect(refusal(tale.obey({ kind: 'pause' }))).toBe('COMMAND_REFUSED')
    expect(tale.records.map(({ type }) => type)).toEqual(['thread.created', 'thread.paused'])
  })

  it('F7: a terminated thread refuses everything, and says what it is', () => {
    const tale = terminated()
    const before = tale.records.length
    const say = tale.say('go')
    expect('refused' in say && say.refused.message).toMatch(/is terminated and takes no more messages/)
    for (const delivery of ['new_turn', 'store'] as const)
      expect(refusal(tale.say('go', delivery))).toBe('COMMAND_REFUSED')
    for (const kind of ['cancel', 'pause', 'resume', 'terminate'] as const)
      expect(refusal(tale.obey({ kind })), kind).toBe('COMMAND_REFUSED')
    expect(tale.records).toHaveLength(before)
  })
})

describe('pause and resume', () => {
  it('F8: a paused thread takes messages and outcomes, and keeps its place', () => {
    const tale = createdThread()
    tale.say('go')
    tale.reply('', ['look'])
    tale.obey({ kind: 'pause', reason: 'lunch' })
    tale.say('also')
    tale.returned(0)
    expect(tale.state.position).toEqual({ gate: 'paused', work: 'thinking' })
    tale.obey({ kind: 'resume' })
    expect(tale.state.position).toEqual({ gate: 'open', work: 'thinking' })
    expect(tale.said()).toEqual(['user:go', 'assistant:', 'tool:call_1_0', 'user:also'])
  })

  it('F8: resume opens the gate first; a failed turn needs a second one', () => {
    const tale = createdThread()
    tale.say('go')
    tale.obey({ kind: 'pause' })
    tale.land({ kind: 'model_failed', step: 1, failure: failure('MODEL_REJECTED', 'no') })
    tale.obey({ kind: 'resume' })
    expect(tale.state.position).toEqual({ gate: 'open', work: 'failed' })
    tale.obey({ kind: 'resume' })
    expect(tale.state.position.work).toBe('thinking')
  })
})

describe('late outcomes', () => {
  it('CO2: outcomes of another step, of a finished turn and of no call decide nothing', () => {
    const tale = createdThread()
    tale.say('go')
    tale.reply('', ['look'])
    const late = { kind: 'returned', step: 1, index: 0, landed: { outcome: { ok: true, value: 'late' } } } as const
    expect(tale.land({ ...late, step: 2 })).toEqual({ facts: [] })
    expect(tale.land({ ...late, index: 1 })).toEqual({ facts: [] })
    expect(tale.land({ kind: 'model_failed', step: 2, failure: failure('MODEL_REJECTED', 'no') })).toEqual({
      facts: [],
    })
    tale.obey({ kind: 'cancel' })
    expect(tale.land(late)).toEqual({ facts: [] })
    tale.say('again')
    expect(tale.land(late)).toEqual({ facts: [] })
  })

  it('CO2: a reply to a step that was cancelled is not the reply to the next', () => {
    const tale = createdThread()
    tale.say('go')
    const late = {
      kind: 'reply',
      reply: {
        step: 1,
        model: 'm',
        text: 'late',
        calls: [],
        usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
        finish: 'stop',
      },
    } as const
    tale.obey({ kind: 'cancel' })
    tale.say('again')
    expect(tale.land(late)).toEqual({ facts: [] })
    expect(tale.said()).toEqual(['user:go', 'user:again'])
  })
})
