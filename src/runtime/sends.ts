/**
 * What goes out with a record: mail to children and parents. Made from the record and the state it was folded into, so the
 * same mail is found again in the journal; its id names the effect, so that sending twice is sending once.
 */
import type { ThreadState } from '../../actors/thread/state.js'
import type { Send } from '../backend/port.js'
import type { Command } from '../core/command.js'
import { callKey } from '../core/effect.js'
import { callId } from '../core/message.js'
import type { ChildCall, ChildCalled, ThreadRecord } from '../core/record.js'
import { freezeTree } from '../core/tree.js'
import type { FrozenTree } from '../core/tree.js'
import { sealMail } from './mail.js'

export function sendsOf(state: ThreadState, record: ThreadRecord): readonly Send[] {
  switch (record.type) {
    case 'child.called': {
      const call = state.slots.items[record.index]?.call.child
      return call && !record.refused ? toChild(state, { call, base: state.slots.items[record.index]?.base }, record) : []
    }
    case 'children.stopped':
      return record.children.map((child) => mail(child, `${state.id}/stop/${record.seq}`, { kind: record.how, reason: record.reason }))
    case 'report.sent': {
      const { outcome, over, spent } = record
      const child = { child: state.id, reference: state.child?.reference ?? state.id, ...(state.child?.forked && { tree: freezeTree(state.files) }) }
      return record.to.map(({ thread, call }, index) =>
        mail(thread, `${state.id}/report/${record.seq}/${index}`, { kind: 'report', ...child, outcome, ...(call !== undefined && { call }), ...(over && { over }), ...(spent && index === 0 && { spent }) }),
      )
    }
    default:
      return []
  }
}

function toChild(state: ThreadState, { call, base }: { readonly call: ChildCall; readonly base: FrozenTree | undefined }, { step, index, attachments }: ChildCalled): readonly Send[] {
  const key = `${state.id}/${callKey(step, index)}`
  const { thread, agent, text, name, reference, lasting, blocking, gives } = call
  const replyTo = blocking ? { thread: state.id, call: callId(step, index) } : call.reports === 'implicit' ? { thread: state.id } : undefined
  const message = { role: 'user' as const, text, delivery: 'steer' as const, ...(replyTo && { replyTo }), ...(attachments && { attachments }) }
  if (!call.create) return [mail(thread, key, { kind: 'message', ...message })]
  const tags = name === undefined ? [] : [`name:${name}`]
  return [mail(thread, key, { kind: 'create', agent, tags, parent: state.id, path: [...state.path, thread], child: { reference, lasting, ...(base && { forked: true }), ...(gives && { gives }) }, ...(base && { tree: base }), message })]
}

function mail(to: string, id: string, command: Command): Send {
  return { to, id, body: sealMail(command) }
}
