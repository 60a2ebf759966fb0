/**
 * Outgoing mail: what a record sends to children and parents. Made from the record and the state after it, so that the
 * same mail can be made again from the journal; its id names the effect, so that sending it twice is sending it once.
 */
import { returnGrant } from '../../../actors/thread/budget/grants.js'
import { startOf } from '../../../actors/thread/children/start.js'
import type { Start } from '../../../actors/thread/children/start.js'
import { hasEnded } from '../../../actors/thread/state.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Send, StoredMail } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import type { Command } from '../../core/records/command.js'
import type { Outcome } from '../../core/effect.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { flowingEnv, inheritedEnv, threadEnv } from '../../core/env.js'
import { noItems } from '../../core/lists.js'
import type { ChildCall, ChildrenStopped, EnvChanged, ThreadRecord } from '../../core/records/record.js'
import { freezeTree } from '../../core/tree.js'
import { readMail, sealMail } from '../journal/mail.js'

export function sendsOf(state: ThreadState, record: ThreadRecord): readonly Send[] {
  switch (record.type) {
    case 'child.called':
    case 'child.booted':
    case 'child.restarted': {
      const start = startOf(state, record)
      return start ? [toChild(state, start)] : []
    }
    case 'children.stopped':
      return record.children.map((child) => mail(child, `${state.id}/stop/${record.seq}`, stopping(record)))
    case 'thread.paused': {
      const { reason } = record
      if (!record.tree) return []
      return toChildren(state, record, { kind: 'pause', tree: true, inherited: true, ...defined({ reason }) })
    }
    case 'thread.resumed':
      return record.tree ? toChildren(state, record, { kind: 'resume', tree: true, inherited: true }) : []
    case 'env.changed':
      return passOnEnv(state, record)
    case 'budget.granted':
      return grantToChild(state, record)
    case 'report.sent':
      return reportsOf(state, record)
    case 'parent.told':
      return messagesToParent(state, record)
    default:
      return noItems
  }
}

type RecordOf<Type extends ThreadRecord['type']> = Extract<ThreadRecord, { readonly type: Type }>

function grantToChild(
  { id }: ThreadState,
  { seq, amounts, child, resume }: RecordOf<'budget.granted'>,
): readonly Send[] {
  if (child === undefined) return []
  return [mail(child, `${id}/grant/${seq}`, { kind: 'grant', amounts, from: id, ...defined({ resume }) })]
}

function reportsOf(state: ThreadState, record: RecordOf<'report.sent'>): readonly Send[] {
  const { seq, outcome, over, to, spent, attachments, note, failed } = record
  const child = { ...nameOf(state), ...(state.child?.forked && { tree: freezeTree(state.files) }) }
  return to.map(({ thread, call, quiet, unasked, began }, index) =>
    mail(thread, `${state.id}/report/${seq}/${index}`, {
      kind: 'report',
      ...child,
      outcome,
      number: state.mailsToParent - to.length + index + 1,
      ...defined({ call, quiet, unasked, began, failed, over }),
      ...(attachments && { attachments: { files: attachments.files, paths: [...attachments.paths] } }),
      ...defined({ note }),
      ...(spent && index === 0 && { spent }),
    }),
  )
}

function messagesToParent(state: ThreadState, { seq, words }: RecordOf<'parent.told'>): readonly Send[] {
  if (state.parent === undefined) return []
  const number = state.mailsToParent
  const command: Command = { kind: 'tell', ...nameOf(state), words: [...words], number }
  return [mail(state.parent, `${state.id}/told/${seq}`, command)]
}

/** What a refused command sends: so that no call waits for ever, no budget is lost, and no orphan works on. */
export function refusalsOf(state: ThreadState, { id, body }: StoredMail, why: Failure): readonly Send[] {
  const command = readMail(body)
  switch (command?.kind) {
    case 'create':
    case 'message':
      return refusedMessage(state, { id, command, why })
    case 'grant': {
      // GT2: what a child cannot take any more goes back to its parent.
      if (command.from === undefined) return []
      const account = { kind: 'report', ...nameOf(state), outcome: { ok: true, value: null }, quiet: true } as const
      return [mail(command.from, `${id}/refused`, { ...account, ...returnGrant(command.amounts) })]
    }
    case 'report':
    case 'tell':
      if (state.seq > 0) return []
      return [mail(command.child, `${id}/orphan`, { kind: 'terminate', reason: `its parent ${state.id} is gone` })]
    default:
      return []
  }
}

interface RefusedMessage {
  readonly id: string
  readonly command: Extract<Command, { kind: 'create' | 'message' }>
  readonly why: Failure
}

/** A call may wait for the answer to a message: it is told that there will be none. */
function refusedMessage(state: ThreadState, { id, command, why }: RefusedMessage): readonly Send[] {
  const creates = command.kind === 'create'
  // A thread of this id exists already, and is not the child of that parent.
  const idTaken = creates && state.seq > 0 && state.parent !== command.parent
  // A repeated `create` of an existing child: its first message was delivered already, so there is nothing to report.
  if (creates && state.seq > 0 && !idTaken) return []
  const message = creates ? command.message : command
  if (!message?.replyTo) return []
  const { thread, call, quiet } = message.replyTo
  const name = creates && command.child ? { child: state.id, reference: command.child.reference } : nameOf(state)
  const outcome: Outcome = {
    ok: false,
    failure: { ...failure('CHILD_FAILED', `it did not take this: ${why.message}`), cause: why },
  }
  // BG2: every end gives the budget back, a message that was never taken too.
  const spent = message.grant && { byModel: [], returned: message.grant }
  const ended = state.seq === 0 || idTaken || hasEnded(state)
  return [
    mail(thread, `${id}/refused`, {
      kind: 'report',
      ...name,
      outcome,
      ...defined({ spent, call, quiet }),
      ...(ended && { over: true }),
    }),
  ]
}

/** The thread as its parent knows it. */
function nameOf({ id, child }: ThreadState): { readonly child: string; readonly reference: string } {
  return { child: id, reference: child?.reference ?? id }
}

function toChild(state: ThreadState, { key, call, waits, attachments, grant, base, trace }: Start): Send {
  const { thread, agent, text, name, reference, lasting, blocking, gives, reports, steer, caller } = call
  const replyTo = {
    thread: state.id,
    ...(waits === undefined ? reports === 'explicit' && { quiet: true as const } : { call: waits }),
  }
  const delivery = steer ? ('steer' as const) : ('new_turn' as const)
  const message = { role: roleOf(call), text, delivery, replyTo, ...defined({ attachments, grant, trace }) }
  if (!call.create) return mail(thread, key, { kind: 'message', ...message })
  // A fork is merged into the files of a call that waits for the child; without one the files are only copied.
  const child = {
    reference,
    lasting,
    ...(base && blocking && { forked: true as const }),
    ...defined({ gives }),
    ...(lasting && reports === 'implicit' && { reports }),
    ...defined({ caller }),
  }
  const tags = name === undefined ? noItems : [`name:${name}`]
  // Not by a spread, which makes room for 17.
  const path = state.path.concat(thread)
  return mail(thread, key, {
    kind: 'create',
    agent,
    tags,
    parent: state.id,
    path,
    child,
    ...defined({ tree: base }),
    ...envOf(state, call),
    ...defined({ guard: state.lineage.guard }),
    message,
  })
}

function stopping({ how, reason, messages }: ChildrenStopped): Command {
  if (how === 'terminate') return { kind: how, reason, inherited: true }
  return { kind: how, reason, ...(messages && { messages: [...messages] }) }
}

/** The side of a child that a message is for. */
function roleOf({ side }: ChildCall): 'assistant' | 'user' {
  return side === 'b' ? 'assistant' : 'user'
}

function envOf(
  { env }: ThreadState,
  { scoped = [], apart = [], own }: ChildCall,
): Pick<Extract<Command, { kind: 'create' }>, 'env'> {
  if (env.keys.length === 0 && !own) return {}
  const keys = [...new Set([...env.keys, ...(own?.keys ?? [])])]
  const inherited = inheritedEnv(threadEnv(env), [...scoped, ...apart])
  return { env: { keys, own: { ...own?.set }, inherited, ...(env.roots && { roots: [...env.roots] }) } }
}

/**
 * EN5: a change flows on to children by name. A scoped name is not passed on (EN2), but a value that the parent has
 * inherited under it comes from where it is scoped, and is.
 */
function passOnEnv(
  { id, env, children }: ThreadState,
  { seq, set, level }: EnvChanged & { readonly seq: number },
): readonly Send[] {
  const all = flowingEnv(env, Object.keys(set))
  return [...children.values()].flatMap(({ id: child, ended, scoped = [], apart = [] }): Send[] => {
    const changed = ended ? {} : inheritedEnv(all, level === 'inherited' ? apart : [...scoped, ...apart])
    return Object.keys(changed).length === 0
      ? []
      : [mail(child, `${id}/env/${seq}`, { kind: 'env', level: 'inherited', keys: [...env.keys], set: changed })]
  })
}

/** To every child that has not ended. */
function toChildren({ id, children }: ThreadState, { seq }: ThreadRecord, command: Command): readonly Send[] {
  return [...children.values()].flatMap((child) => (child.ended ? [] : [mail(child.id, `${id}/gate/${seq}`, command)]))
}

function mail(to: string, id: string, command: Command): Send {
  return { to, id, body: sealMail(command) }
}
