/**
 * Messages out of durable events, results in call order: the same slots that the fold uses, over a part of the
 * journal.
 */
import { resultMessage } from '../../actors/thread/fold.js'
import { createSlots, drain, fill } from '../../actors/thread/slots.js'
import type { DurableEvent } from '../core/event.js'
import type { Message } from '../core/message.js'

export function createAssembly() {
  let slots = createSlots([])
  let step = 0
  function* results(at: number): Generator<Message> {
    const ready: Message[] = []
    drain(slots, ({ call }, index, outcome) => ready.push(resultMessage(outcome, { step, index, tool: call.tool, at })))
    yield* ready
  }
  return {
    *take(event: DurableEvent): Generator<Message> {
      if (event.type === 'message.received') {
        const { id, role, text, at, silent } = event
        yield { id, role, text, at, ...(silent && { silent }) }
      } else if (event.type === 'model.replied') {
        const { text, reasoning, calls, callIds, at } = event
        step = event.step
        slots = createSlots(calls)
        yield {
          id: `step_${step}`,
          role: 'assistant',
          text,
          at,
          ...(reasoning !== undefined && { reasoning }),
          ...(calls.length > 0 && { calls: calls.map(({ tool, args }, index) => ({ id: callIds[index] ?? '', tool, args })) }),
        }
        yield* results(at)
      } else if (event.type === 'tool.result') {
        fill(slots, event.index, event.outcome)
        yield* results(event.at)
      }
    },
  }
}
