/**
 * What goes out with a record: mail to children and parents. Made from the record and the state it was folded into, so the
 * same mail is found again in the journal; its id names the effect, so that sending twice is sending once.
 */
import { isOver } from '../../actors/thread/state.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { Send, StoredMail } from '../backend/port.js'
import type { Command } from '../core/command.js'
import { callKey } from '../core/effect.js'
import type { Outcome } from '../core/effect.js'
import { failure } from '../core/failure.js'
import type { Failure } from '../core/failure.js'
import { callId } from '../core/message.js'
import { flowing, inheritedEnv, threadEnv } from '../core/env.js'
import type { ChildBooted, ChildCall, ChildCalled, EnvChanged, ThreadRecord } from '../core/record.js'
import { freezeTree } from '../core/tree.js'
import type { FrozenTree } from '../core/tree.js'
import { readMail, sealMail } from './mail.js'

export function sendsOf(state: ThreadState, record: ThreadRecord): readonly Send[] {
  switch (record.type) {
    case 'child.called': {
      const call = state.slots.items[record.index]?.call.child
      return call && !record.refused ? toChild(state, { call, base: state.slots.items[record.index]?.base }, record) : []
    }
    case 'child.restarted': {
      const charge = state.children.get(record.reference)?.charge
      if (!charge || record.refused) return []
      const { call, step, index, attachments, base } = charge
      return toChild(state, { call: { ...call, thread: record.child, create: true }, base }, { type: 'child.called', step, index, ...(attachments && { attachments }), ...(record.grant && { grant: record.grant }) })
    }
    case 'children.stopped':
      return record.children.map((child) => mail(child, `${state.id}/stop/${record.seq}`, { kind: record.how, reason: record.reason, ...(record.how === 'terminate' && { inherited: true as const }) }))
    case 'thread.paused':
      return record.tree ? toChildren(state, record, { kind: 'pause', tree: true, inherited: true, ...(record.reason !== undefined && { reason: record.reason }) }) : []
    case 'thread.resumed':
      return record.tree ? toChildren(state, record, { kind: 'resume', tree: true, inherited: true }) : []
    case 'child.booted':
      return record.refused ? [] : boot(state, record)
    case 'env.changed':
      return flowOn(state, record)
    case 'report.sent': {
      const { outcome, over, to, spent, attachments, note, failed } = record
      const child = { ...nameOf(state), ...(state.child?.forked && { tree: freezeTree(state.files) }) }
      return to.map(({ thread, call, quiet, unasked }, index) =>
        mail(thread, `${state.id}/report/${record.seq}/${index}`, { kind: 'report', ...child, outcome, number: state.told - to.length + index + 1, ...(call !== undefined && { call }), ...(quiet && { quiet }), ...(unasked && { unasked }), ...(failed && { failed }), ...(over && { over }), ...(attachments && { attachments: { files: attachments.files, paths: [...attachments.paths] } }), ...(note !== undefined && { note }), ...(spent && index === 0 && { spent }) }),
      )
    }
    case 'parent.told':
      return state.parent === undefined ? [] : [mail(state.parent, `${state.id}/told/${record.seq}`, { kind: 'tell', ...nameOf(state), words: [...record.words], number: state.told })]
    default:
      return []
  }
}

/**
 * What goes out when a command is refused. A call may wait for the answer to a message: it is told that there will be none. A
 * child that speaks to a thread which is gone works for nobody.
 */
export function refusalsOf(state: ThreadState, { id, body }: StoredMail, why: Failure): readonly Send[] {
  const command = readMail(body)
  // One that was made before is asked for again: it has heard this.
  const said = command?.kind === 'create' ? (state.seq === 0 ? command.message : undefined) : command?.kind === 'message' ? command : undefined
  if (said?.replyTo) {
    const { thread, call, quiet } = said.replyTo
    const name = command?.kind === 'create' && command.child ? { child: state.id, reference: command.child.reference } : nameOf(state)
    const outcome: Outcome = { ok: false, failure: { ...failure('CHILD_FAILED', `it did not take this: ${why.message}`), cause: why } }
    const spent = said.grant && { byModel: [], returned: said.grant } // BG2
    return [mail(thread, `${id}/refused`, { kind: 'report', ...name, outcome, ...(spent && { spent }), ...(call !== undefined && { call }), ...(quiet && { quiet }), ...((state.seq === 0 || isOver(state)) && { over: true }) })]
  }
  if ((command?.kind === 'report' || command?.kind === 'tell') && state.seq === 0) return [mail(command.child, `${id}/orphan`, { kind: 'terminate', reason: `its parent ${state.id} is gone` })]
  return []
}

/** As its parent knows it. */
function nameOf({ id, child }: ThreadState): { readonly child: string; readonly reference: string } {
  return { child: id, reference: child?.reference ?? id }
}

function toChild(state: ThreadState, { call, base }: { readonly call: ChildCall; readonly base: FrozenTree | undefined }, { step, index, attachments, grant }: ChildCalled): readonly Send[] {
  const key = `${state.id}/${callKey(step, index)}`
  const { thread, agent, text, name, reference, lasting, blocking, gives } = call
  const replyTo = blocking ? { thread: state.id, call: callId(step, index) } : { thread: state.id, ...(call.reports === 'explicit' && { quiet: true as const }) }
  const message = { role: roleOf(call), text, delivery: 'steer' as const, replyTo, ...(attachments && { attachments }), ...(grant && { grant }) }
  if (!call.create) return [mail(thread, key, { kind: 'message', ...message })]
  const tags = name === undefined ? [] : [`name:${name}`]
  return [mail(thread, key, { kind: 'create', agent, tags, parent: state.id, path: [...state.path, thread], child: { reference, lasting, ...(base && { forked: true }), ...(gives && { gives }) }, ...(base && { tree: base }), ...envOf(state, call), message })]
}

/** The side of a child that a message is for. */
function roleOf({ side }: ChildCall): 'assistant' | 'user' {
  return side === 'b' ? 'assistant' : 'user'
}

/** A child that was deferred: nobody waits for it. */
function boot(state: ThreadState, { request, child: call, attachments, grant }: ChildBooted): readonly Send[] {
  const { thread, agent, text, name, reference, lasting, files } = call
  const replyTo = { thread: state.id, ...(call.reports === 'explicit' && { quiet: true as const }) }
  const message = { role: roleOf(call), text, delivery: 'steer' as const, replyTo, ...(attachments && { attachments }), ...(grant && { grant }) }
  const tags = name === undefined ? [] : [`name:${name}`]
  return [mail(thread, `${state.id}/${request}`, { kind: 'create', agent, tags, parent: state.id, path: [...state.path, thread], child: { reference, lasting }, ...(files && { tree: freezeTree(state.files) }), ...envOf(state, call), message })]
}

function envOf({ env }: ThreadState, { scoped = [], own }: ChildCall): Pick<Extract<Command, { kind: 'create' }>, 'env'> {
  if (env.keys.length === 0 && !own) return {}
  const keys = [...new Set([...env.keys, ...(own?.keys ?? [])])]
  return { env: { keys, own: { ...own?.set }, inherited: inheritedEnv(threadEnv(env), scoped) } }
}

/** EN5 */
function flowOn({ id, env, children }: ThreadState, { seq, set }: EnvChanged & { readonly seq: number }): readonly Send[] {
  const all = flowing(env, Object.keys(set))
  return [...children.values()].flatMap(({ id: child, over, scoped }): Send[] => {
    const told = over ? {} : scoped ? Object.fromEntries(Object.entries(all).filter(([name]) => !scoped.includes(name))) : all
    return Object.keys(told).length === 0 ? [] : [mail(child, `${id}/env/${seq}`, { kind: 'env', level: 'inherited', keys: [...env.keys], set: told })]
  })
}

/** To all that live. */
function toChildren({ id, children }: ThreadState, { seq }: ThreadRecord, command: Command): readonly Send[] {
  return [...children.values()].flatMap((child) => (child.over ? [] : [mail(child.id, `${id}/gate/${seq}`, command)]))
}

function mail(to: string, id: string, command: Command): Send {
  return { to, id, body: sealMail(command) }
}
