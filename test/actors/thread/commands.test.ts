/** Decisions: what a thread refuses, and that a refusal and a late outcome change nothing. */
import { describe, expect, it } from 'vitest'
import type { Decision } from '../../../actors/thread/decide/decision.js'
import { due, needsImmediateCalls } from '../../../actors/thread/decide/due.js'
import type { ReplyRules } from '../../../actors/thread/decide/replies.js'
import { failure } from '../../../src/core/failure.js'
import type { RecordedCall } from '../../../src/core/records/record.js'
import { noUsage } from '../../../src/core/usage.js'
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

describe('due', () => {
  const child: RecordedCall = { tool: 'scout', args: {}, answered: 'seen' }

  it('CO4: immediate calls are asked for where they are next, and make a step before the model is asked', () => {
    const tale = createdThread()
    const context = { now: 1, mayBegin: true }
    expect(needsImmediateCalls(tale.state, context)).toBe(false)
    tale.say('go')
    expect(needsImmediateCalls(tale.state, context)).toBe(true)
    expect(due(tale.state, context)).toBeUndefined()
    const fact = due(tale.state, { ...context, immediateCalls: [child] })
    expect(fact).toEqual({ type: 'calls.made', step: 1, calls: [child], immediate: true })
    if (fact) tale.record(fact)
    expect(needsImmediateCalls(tale.state, context)).toBe(false)
    expect(due(tale.state, { ...context, immediateCalls: [child] })).toBeUndefined()
  })

  it('CO4: variables that are missing come before immediate calls, which are not asked for then', () => {
    const tale = createdThread()
    tale.say('go')
    const context = { now: 1, mayBegin: true, variables: { ofTurn: ['KEY'], given: new Set<string>() } }
    expect(needsImmediateCalls(tale.state, context)).toBe(false)
    expect(due(tale.state, { ...context, immediateCalls: [child] })).toMatchObject({
      type: 'turn.held',
      missing: ['KEY'],
    })
    const given = { ...context, variables: { ofTurn: ['KEY'], given: new Set(['KEY']) } }
    expect(needsImmediateCalls(tale.state, given)).toBe(true)
  })
})

describe('the meaning of a reply', () => {
  const reply = (text: string, rules: ReplyRules, calls: readonly RecordedCall[] = []): Decision => {
    const tale = createdThread()
    tale.say('go')
    const said = { step: 1, model: 'm', text, calls, usage: noUsage, finish: 'stop' } as const
    return tale.land({ kind: 'reply', reply: said, rules })
  }

  it('the last step that is allowed stops the turn, whatever the reply asks for', () => {
    expect(reply('', { maxSteps: 1 }, [{ tool: 'look', args: {} }])).toMatchObject({ facts: [{ stop: 'max_steps' }] })
    expect(reply('and', { maxSteps: 1, continues: true })).toMatchObject({ facts: [{ stop: 'max_steps' }] })
    expect(reply('and', { maxSteps: 2, continues: true })).toMatchObject({ facts: [{ goesOn: true }] })
  })

  it('a reply without the output that the turn needs is asked for again', () => {
    expect(reply('done', { needsOutput: true })).toMatchObject({
      facts: [{ asks: expect.stringContaining('response') }],
    })
    expect(reply('', { once: true })).toMatchObject({ facts: [{ stop: 'empty_reply' }] })
  })
})
