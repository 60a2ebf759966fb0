/**
 * The guards of the thread machine, by name. They read only the event, which carries what they need (`Signal`).
 */
import type { Signal } from './signal.js'

type Guarded = { readonly event: Signal }

export const guards = {
  failed: ({ event }: Guarded) => event.reason === 'failed',
  allLanded: ({ event }: Guarded) => event.open === 0,
  someRun: ({ event }: Guarded) => event.open > event.held,
  forApproval: ({ event }: Guarded) => event.why === 'approval',
  forPerson: ({ event }: Guarded) => event.why === 'person',
  forVariables: ({ event }: Guarded) => event.why === 'variables',
  forChildren: ({ event }: Guarded) => event.why === 'children',
  wasIdle: ({ event }: Guarded) => event.stands === 'idle',
  wasFailed: ({ event }: Guarded) => event.stands === 'failed',
  wasHeld: ({ event }: Guarded) => event.stands === 'waiting.variables',
}
