/** Requests and call options for tests of models: the dull parts filled in, what was emitted kept. */
import type { ModelCallOptions, ModelDelta, ModelRequest } from '../../src/models/port.js'
import type { Message } from '../../src/core/records/message.js'

export function modelRequest(fields: Partial<ModelRequest> = {}): ModelRequest {
  return { system: 'You help.', messages: [user('hello')], tools: [], thread: 't1', step: 0, ...fields }
}

export function user(text: string): Message {
  return { id: 'm1', role: 'user', text, at: 0 }
}

export interface Watched {
  readonly options: ModelCallOptions
  readonly deltas: readonly (ModelDelta | 'restarted')[]
  readonly abort: (reason: unknown) => void
}

/** `seen` is called with each delta, after it was kept. */
export function watched(seen?: (delta: ModelDelta) => void): Watched {
  const deltas: (ModelDelta | 'restarted')[] = []
  const control = new AbortController()
  return {
    deltas,
    abort: (reason) => control.abort(reason),
    options: {
      signal: control.signal,
      emit(delta) {
        deltas.push(delta)
        seen?.(delta)
      },
      restarted: () => deltas.push('restarted'),
    },
  }
}
