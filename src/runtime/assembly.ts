/**
 * Messages out of durable events, results in call order: the same slots that the fold uses, over a part of the
 * journal.
 */
import { resultMessage, stepMessage } from '../../actors/thread/results.js'
import type { Spoken } from '../../actors/thread/results.js'
import { passedOn } from '../../actors/thread/session.js'
import { begin, close, closeRest, createSlots, drain, edit, fill, release, settle, unbegin } from '../../actors/thread/slots.js'
import type { Slots } from '../../actors/thread/slots.js'
import type { DurableEvent } from '../core/event.js'
import { parseCallId } from '../core/message.js'
import type { Message } from '../core/message.js'
import type { CallDecided, ChildCalled, ChildReported } from '../core/record.js'
import { started } from '../../actors/thread/children.js'
import { cutOff, denied } from '../../actors/thread/denied.js'

function decide(slots: Slots, event: CallDecided): boolean {
  const slot = slots.items[event.index]
  if (!slot) return false
  if (event.decision === 'reject') close(slots, slot, denied(slot, event))
  else {
    release(slots, slot)
    if (event.call) edit(slots, slot, event.call)
    unbegin(slots, event.index)
  }
  return true
}

function callChild(slots: Slots, { index, refused }: ChildCalled): boolean {
  const slot = slots.items[index]
  const call = slot?.call.child
  if (!slot || !call) return false
  if (refused) close(slots, slot, { ok: false, failure: refused })
  else if (!call.blocking) close(slots, slot, started(call))
  return true
}

/** Files of its own are merged first, and the call returns by itself then. */
function answerFor(slots: Slots, { call, outcome, tree, reference, note }: ChildReported): boolean {
  const slot = call === undefined || tree ? undefined : slots.items[parseCallId(call)?.index ?? -1]
  if (!slot || slot.outcome) return false
  close(slots, slot, outcome)
  const named = slot.call.tool === 'subagent_create'
  if (note !== undefined || named) slot.given = { ...(note !== undefined && { note }), ...(named && { reference }) }
  return true
}

/** When all calls are settled, once. */
function* handedOver(slots: Slots, when: { readonly step: number; readonly at: number }): Generator<Message> {
  if (slots.open > 0 || !slots.decides) return
  slots.decides = false
  const passed = passedOn(slots, when)
  if (passed) yield passed
}

export function createAssembly() {
  let slots: Slots = createSlots([])
  let step = 0
  function* results(at: number): Generator<Message> {
    const ready: Message[] = []
    drain(slots, (slot, index, outcome) => ready.push(resultMessage(slot, outcome, { step, index, at, ...(slots.side && { side: slots.side }) })))
    yield* ready
    yield* handedOver(slots, { step, at })
  }
  function* open(asked: Spoken): Generator<Message> {
    const { calls, at } = asked
    step = asked.step
    slots = createSlots(calls, at, asked)
    yield stepMessage(asked)
    yield* results(at)
  }
  /** Changes the slots as the fold does. */
  function land(event: DurableEvent): boolean {
    switch (event.type) {
      case 'tool.result':
        return fill(slots, event.index, event)
      case 'call.settled':
        return settle(slots, event) !== undefined
      case 'call.decided':
        return decide(slots, event)
      case 'call.began':
        return begin(slots, event)
      case 'call.unbegun':
        return unbegin(slots, event.index)
      case 'child.called':
        return callChild(slots, event)
      case 'child.reported':
        return answerFor(slots, event)
      case 'turn.ended':
        slots.decides = false
        closeRest(slots, cutOff(event))
        return true
      default:
        return false
    }
  }
  return {
    *take(event: DurableEvent): Generator<Message> {
      if (event.type === 'message.received') {
        const { id, role, text, at, silent } = event
        yield { id, role, text, at, ...(silent && { silent }) }
      } else if (event.type === 'model.replied') yield* open(event)
      else if (event.type === 'calls.made') yield* open({ ...event, text: '' })
      else if (land(event)) yield* results(event.at)
    },
  }
}
