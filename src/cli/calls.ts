/** The calls of a turn as a watcher needs them: each when it is asked for, when it waits, and when it is answered. */
import type { Json, Outcome, SkeinEvent } from '../index.js'

export interface ShownCall {
  readonly id: string
  readonly tool: string
  readonly args: Json
  readonly askedAt: number
}

export type CallNews =
  | { readonly state: 'asked'; readonly call: ShownCall }
  | { readonly state: 'held'; readonly call: ShownCall; readonly why: string }
  | { readonly state: 'answered'; readonly call: ShownCall; readonly outcome: Outcome; readonly tookMs: number }

/** What is told of a call later has neither its args nor its time: the request must be remembered. */
export function createCalls() {
  const open = new Map<string, ShownCall>()
  return {
    take(event: SkeinEvent): readonly CallNews[] {
      switch (event.type) {
        case 'model.replied':
          return event.calls.map(({ tool, args, refused }, index): CallNews => {
            const call = { id: event.callIds[index] ?? '', tool, args, askedAt: event.at }
            if (refused) return { state: 'answered', call, outcome: { ok: false, failure: refused }, tookMs: 0 }
            open.set(call.id, call)
            return { state: 'asked', call }
          })
        case 'call.held': {
          const id = `call_${event.step}_${event.index}`
          return [{ state: 'held', call: open.get(id) ?? { id, tool: id, args: null, askedAt: event.at }, why: event.why }]
        }
        case 'tool.result': {
          const { call: id, tool, at, outcome } = event
          const call = open.get(id) ?? { id, tool, args: null, askedAt: at }
          open.delete(id)
          return [{ state: 'answered', call, outcome, tookMs: at - call.askedAt }]
        }
        default:
          return []
      }
    },
  }
}
