/**
 * The thread machine: where a thread stands, and which record moves it where. Nothing else: history, slots
 * and counters are data beside it (state.ts), because a machine's context is copied and persisted whole.
 *
 * - The machine has no context, no actions, no `invoke` and no `after`: what it waits for is a function of
 *   state (outstanding.ts), deadlines are records, so nothing is lost or run twice when it is restored.
 * - Guards read only the event, which carries what they need (`Signal`), so a table compiled from this
 *   definition (machine-table.ts) decides exactly as the live actor does.
 * - A paused thread keeps its place and still takes what lands: both sides of the gate have the same places.
 *   (Two nested sides, because a parallel region makes every event cost 2.5 times as much.)
 */
import { setup } from 'xstate'
import type { RecordType } from '../../src/core/records/record.js'
import { guards } from './guards.js'
import type { Signal } from './signal.js'

/** Where a step with open calls stands. */
const asked = [
  { guard: 'someRun', target: 'acting' },
  { guard: 'forApproval', target: 'waiting.approval' },
  { guard: 'forPerson', target: 'waiting.person' },
  { guard: 'forVariables', target: 'waiting.variables' },
  { guard: 'forChildren', target: 'waiting.children' },
] as const

/** Where a step stands after a call landed, was held or let go. */
const standing = [{ guard: 'allLanded', target: 'thinking' }, ...asked] as const

/** Where a thread begins that has the past of another. */
const based = [
  { guard: 'wasIdle', target: 'idle' },
  { guard: 'wasFailed', target: 'failed' },
  { guard: 'wasHeld', target: 'waiting.variables' },
  ...standing,
] as const

/** The places of a thread, on one side of the gate; `cross` is the record that opens or shuts it. */
function side<Gate extends 'open' | 'paused', Cross extends RecordType>(other: Gate, cross: Cross) {
  const through = <Work extends string>(work: Work) =>
    ({ [cross]: `#thread.${other}.${work}` }) as { readonly [Key in Cross]: `#thread.${Gate}.${Work}` }
  const ends = {
    'turn.ended': [{ guard: 'failed', target: 'failed' }, { target: 'idle' }],
    'thread.ended': 'done',
    'thread.terminated': 'terminated',
  } as const
  const rewinds = { 'thread.rewound': [{ guard: 'failed', target: 'failed' }, { target: 'idle' }] } as const
  const landings = {
    'call.returned': standing,
    'call.settled': standing,
    'call.held': standing,
    'call.freed': standing,
    'call.parked': standing,
    'call.decided': standing,
    'call.answered': standing,
    'effect.resolved': standing,
    'child.called': standing,
    'child.reported': standing,
    'child.restarted': standing,
    'hook.decided': standing,
  } as const
  return {
    initial: 'fresh',
    states: {
      fresh: { on: { 'thread.created': 'idle', 'thread.based': based } },
      idle: { on: { ...through('idle'), ...ends, ...rewinds, 'turn.started': 'thinking' } },
      thinking: {
        on: {
          ...through('thinking'),
          ...ends,
          'model.replied': asked,
          'calls.made': asked,
          'turn.held': 'waiting.variables',
        },
      },
      acting: { on: { ...through('acting'), ...ends, ...landings } },
      waiting: {
        on: { ...ends, ...landings, 'turn.freed': 'thinking' },
        initial: 'person',
        states: {
          approval: { on: through('waiting.approval') },
          person: { on: through('waiting.person') },
          variables: { on: through('waiting.variables') },
          children: { on: through('waiting.children') },
        },
      },
      /** The last turn failed; a message or `resume` starts another. */
      failed: { on: { ...through('failed'), ...ends, ...rewinds, 'turn.started': 'thinking' } },
      done: { on: { 'thread.terminated': 'terminated' } },
      terminated: {},
    },
  } as const
}

export const threadMachine = setup({
  types: { events: {} as Signal },
  guards,
}).createMachine({
  id: 'thread',
  initial: 'open',
  states: {
    open: side('paused', 'thread.paused'),
    paused: side('open', 'thread.resumed'),
  },
})
