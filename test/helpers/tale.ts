/** A thread's life told step by step, for tests that say what happens and look at the state. Owns no assertion. */
import { obey } from '../../actors/thread/decide/commands.js'
import type { Decision, ResolvedCommand } from '../../actors/thread/decide/decision.js'
import { due } from '../../actors/thread/decide/due.js'
import type { DueContext } from '../../actors/thread/decide/due.js'
import { land } from '../../actors/thread/decide/landings.js'
import type { Landing } from '../../actors/thread/decide/landings.js'
import { fold } from '../../actors/thread/fold.js'
import { createState } from '../../actors/thread/state.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { Json } from '../../src/core/json.js'
import type { Fact, RecordedCall, StopReason, ThreadRecord } from '../../src/core/records/record.js'
import { noUsage } from '../../src/core/usage.js'

export interface Tale {
  readonly state: ThreadState
  readonly records: readonly ThreadRecord[]
  now: number
  readonly maxWallClockMs?: number
  obey(command: ResolvedCommand, id?: string): Decision
  say(text: string, delivery?: 'steer' | 'new_turn' | 'store', id?: string): Decision
  land(landing: Landing): Decision
  /** The model replies with this text and calls of these tools. */
  reply(text: string, calls?: readonly (string | RecordedCall)[], stop?: StopReason): Decision
  returned(index: number, value?: Json): Decision
  record(fact: Fact, by?: string): void
  /** The transcript in short: `user:go`, `assistant:`, `tool:call_1_0`. */
  said(): readonly string[]
}

/** A thread that exists and rests. */
export function createdThread(limits: { readonly maxWallClockMs?: number } = {}): Tale {
  const tale = freshThread(limits)
  tale.obey({ kind: 'create', agent: 'helper', tags: [], path: ['t'] })
  return tale
}

export function freshThread({ maxWallClockMs }: { readonly maxWallClockMs?: number } = {}): Tale {
  const state = createState('t')
  const records: ThreadRecord[] = []
  let ids = 0
  const moment = (): DueContext => ({
    now: tale.now,
    mayBegin: true,
    ...(maxWallClockMs !== undefined && { maxWallClockMs }),
  })
  const decided = (decision: Decision, by?: string): Decision => {
    if ('refused' in decision) return decision
    for (const fact of decision.facts) tale.record(fact, by)
    for (let fact = due(state, moment()); fact; fact = due(state, moment())) tale.record(fact)
    return decision
  }
  const tale: Tale = {
    state,
    records,
    now: 1_000,
    obey: (command, id = `c${++ids}`) => decided(obey(state, { id, command }, moment()), id),
    say: (text, delivery = 'steer', id = `m${++ids}`) =>
      tale.obey({ kind: 'message', role: 'user', text, delivery }, id),
    land: (landing) => decided(land(state, landing, moment())),
    reply: (text, calls = [], stop) =>
      tale.land({
        kind: 'reply',
        reply: {
          step: state.step + 1,
          model: 'm',
          text,
          calls: calls.map((call) => (typeof call === 'string' ? { tool: call, args: {} } : call)),
          usage: noUsage,
          finish: 'stop',
          ...(stop && { stop }),
        },
      }),
    returned: (index, value = 'ok') =>
      tale.land({ kind: 'returned', step: state.step, index, landed: { outcome: { ok: true, value } } }),
    record(fact, by) {
      const record: ThreadRecord = { seq: state.seq + 1, at: tale.now, ...(by !== undefined && { by }), ...fact }
      fold(state, record)
      records.push(record)
    },
    said: () => state.transcript.items.map(({ role, text, call }) => `${role}:${call ?? text}`),
  }
  return tale
}
