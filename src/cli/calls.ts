/** The calls of a turn as a watcher needs them: each when it is asked for, and again when it is answered. */
import type { Json, Outcome, SkeinEvent } from '../index.js'

export interface ShownCall {
  readonly id: string
  readonly tool: string
  readonly args: Json
  readonly askedAt: number
}

export interface CallNews {
  readonly call: ShownCall
  /** Absent: it was asked for. */
  readonly outcome?: Outcome
  readonly tookMs: number
}

/** A result names its call only by id: the request must be remembered. */
export function createCalls() {
  const open = new Map<string, ShownCall>()
  return {
    take(event: SkeinEvent): readonly CallNews[] {
      if (event.type === 'model.replied') {
        return event.calls.flatMap(({ tool, args, refused }, index): readonly CallNews[] => {
          const call = { id: event.callIds[index] ?? '', tool, args, askedAt: event.at }
          if (refused) return [{ call, outcome: { ok: false, failure: refused }, tookMs: 0 }]
          open.set(call.id, call)
          return [{ call, tookMs: 0 }]
        })
      }
      if (event.type !== 'tool.result') return []
      const call = open.get(event.call) ?? { id: event.call, tool: event.call, args: null, askedAt: event.at }
      open.delete(event.call)
      return [{ call, outcome: event.outcome, tookMs: event.at - call.askedAt }]
    },
  }
}
