/**
 * The thread machine: where a thread stands, and which record moves it where. Nothing else: history, slots
 * and counters are data beside it (state.ts), because a machine's context is copied and persisted whole.
 *
 * TM1 The machine has no context, no actions, no `invoke` and no `after`: what it waits for is a function of
 *     state (outstanding.ts), deadlines are records, so nothing is lost or run twice when it is restored.
 * TM2 Guards read only the event, which carries what they need (`Signal`), so a table compiled from this
 *     definition (table.ts) decides exactly as the live actor does.
 * TM3 `paused` is a region of its own: a paused thread keeps its place and still takes what lands.
 */
import { setup } from 'xstate'
import type { HoldReason, RecordType, StopReason } from '../../src/core/record.js'

/** A record as the machine sees it: its type, and the few facts that guards ask for. */
export interface Signal {
  readonly type: RecordType
  /** Calls of the step without a result, after this record. */
  readonly open: number
  /** Of these, the ones that wait for someone. */
  readonly held: number
  /** What the first held call waits for. */
  readonly why?: HoldReason
  readonly reason?: StopReason
}

type Guarded = { readonly event: Signal }

const ends = {
  'turn.ended': [{ guard: 'failed', target: '#thread.work.failed' }, { target: '#thread.work.idle' }],
  'thread.ended': '#thread.work.done',
  'thread.terminated': '#thread.work.terminated',
} as const

/** Where a step stands after a call landed or was held. */
const standing = [
  { guard: 'allLanded', target: '#thread.work.thinking' },
  { guard: 'someRun', target: '#thread.work.acting' },
  { guard: 'forApproval', target: '#thread.work.waiting.approval' },
  { guard: 'forPerson', target: '#thread.work.waiting.person' },
  { guard: 'forVariables', target: '#thread.work.waiting.variables' },
  { guard: 'forChildren', target: '#thread.work.waiting.children' },
] as const

const landings = { 'call.returned': standing, 'call.held': standing } as const

export const threadMachine = setup({
  types: { events: {} as Signal },
  guards: {
    failed: ({ event }: Guarded) => event.reason === 'failed',
    hasCalls: ({ event }: Guarded) => event.open > 0,
    allLanded: ({ event }: Guarded) => event.open === 0,
    someRun: ({ event }: Guarded) => event.open > event.held,
    forApproval: ({ event }: Guarded) => event.why === 'approval',
    forPerson: ({ event }: Guarded) => event.why === 'person',
    forVariables: ({ event }: Guarded) => event.why === 'variables',
    forChildren: ({ event }: Guarded) => event.why === 'children',
  },
}).createMachine({
  id: 'thread',
  type: 'parallel',
  states: {
    work: {
      initial: 'fresh',
      states: {
        fresh: { on: { 'thread.created': 'idle' } },
        idle: { on: { ...ends, 'turn.started': 'thinking' } },
        thinking: { on: { ...ends, 'model.replied': [{ guard: 'hasCalls', target: 'acting' }] } },
        acting: { on: { ...ends, ...landings } },
        waiting: {
          on: { ...ends, ...landings },
          initial: 'person',
          states: { approval: {}, person: {}, variables: {}, children: {} },
        },
        /** The last turn failed; a message or `resume` starts another. */
        failed: { on: { ...ends, 'turn.started': 'thinking' } },
        done: { on: { 'thread.terminated': 'terminated' } },
        terminated: {},
      },
    },
    gate: {
      initial: 'open',
      states: {
        open: { on: { 'thread.paused': 'paused' } },
        paused: { on: { 'thread.resumed': 'open' } },
      },
    },
  },
})
