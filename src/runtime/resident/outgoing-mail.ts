/**
 * What goes out with a record: mail to children and parents. Made from the record and the state it was folded into,
 * so the same mail is found again in the journal; its id names the effect, so that sending twice is sending once.
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
import type { ChildCall, ChildrenStopped, EnvChanged, ThreadRecord } from '../../core/records/record.js'
import { freezeTree } from '../../core/tree.js'
import { readMail, sealMail } from '../journal/mail.js'

export function sendsOf(state: ThreadState, record: ThreadRecord): readonly Send[] {
  switch (record.type) {
    case 'child.called':
    case 'child.booted':
    case 'child.restarted': {
      const begun = startOf(state, record)
      return begun ? [toChild(state, begun)] : []
    }
    case 'children.stopped':
      return record.children.map((child) => mail(child, `${state.id}/stop/${record.seq}`, stopping(record)))
    case 'thread.paused':
      return record.tree
        ? toChildren(state, record, {
            kind: 'pause',
            tree: true,
            inherited: true,
            ...(record.reason !== undefined && { reason: record.reason }),
          })
        : []
    case 'thread.resumed':
      return record.tree ? toChildren(state, record, { kind: 'resume', tree: true, inherited: true }) : []
    case 'env.changed':
      return flowOn(state, record)
    case 'budget.granted': {
      const { amounts, child, resume } = record
      return child === undefined
        ? []
        : [
            mail(child, `${state.id}/grant/${record.seq}`, {
              kind: 'grant',
              amounts,
              from: state.id,
              ...defined({ resume }),
            }),
          ]
    }
    case 'report.sent': {
      const { outcome, over, to, spent, attachments, note, failed } = record
      const child = { ...nameOf(state), ...(state.child?.forked && { tree: freezeTree(state.files) }) }
      return to.map(({ thread, call, quiet, unasked, began }, index) =>
        mail(thread, `${state.id}/report/${record.seq}/${index}`, {
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
    case 'parent.told':
      return state.parent === undefined
        ? []
        : [
            mail(state.parent, `${state.id}/told/${record.seq}`, {
              kind: 'tell',
              ...nameOf(state),
              words: [...record.words],
              number: state.mailsToParent,
            }),
          ]
    default:
      return []
  }
}

/**
 * What goes out when a command is refused. A call may wait for the answer to a message: it is told that there will be
 * none. A child that speaks to a thread which is gone works for nobody.
 */
export function refusalsOf(state: ThreadState, { id, body }: StoredMail, why: Failure): readonly Send[] {
  const command = readMail(body)
  // The place of a child is taken by a thread of someone else.
  const taken = command?.kind === 'create' && state.seq > 0 && state.parent !== command.parent
  // One that was made before is asked for again: it has heard this.
  const said =
    command?.kind === 'create'
      ? state.seq === 0 || taken
        ? command.message
        : undefined
      : command?.kind === 'message'
        ? command
        : undefined
  if (said?.replyTo) {
    const { thread, call, quiet } = said.replyTo
    const name =
      command?.kind === 'create' && command.child
        ? { child: state.id, reference: command.child.reference }
        : nameOf(state)
    const outcome: Outcome = {
      ok: false,
      failure: { ...failure('CHILD_FAILED', `it did not take this: ${why.message}`), cause: why },
    }
    const spent = said.grant && { byModel: [], returned: said.grant } // BG2
    return [
      mail(thread, `${id}/refused`, {
        kind: 'report',
        ...name,
        outcome,
        ...defined({ spent, call, quiet }),
        ...((state.seq === 0 || taken || hasEnded(state)) && { over: true }),
      }),
    ]
  }
  // GT2
  if (command?.kind === 'grant' && command.from !== undefined) {
    const account = {
      kind: 'report' as const,
      ...nameOf(state),
      outcome: { ok: true as const, value: null },
      quiet: true as const,
    }
    return [mail(command.from, `${id}/refused`, { ...account, ...returnGrant(command.amounts) })]
  }
  if ((command?.kind === 'report' || command?.kind === 'tell') && state.seq === 0)
    return [mail(command.child, `${id}/orphan`, { kind: 'terminate', reason: `its parent ${state.id} is gone` })]
  return []
}

/** As its parent knows it. */
function nameOf({ id, child }: ThreadState): { readonly child: string; readonly reference: string } {
  return { child: id, reference: child?.reference ?? id }
}

function toChild(state: ThreadState, { key, call, waits, attachments, grant, base }: Start): Send {
  const { thread, agent, text, name, reference, lasting, blocking, gives, reports, steer, caller } = call
  const replyTo = {
    thread: state.id,
    ...(waits === undefined ? reports === 'explicit' && { quiet: true as const } : { call: waits }),
  }
  const said = { role: roleOf(call), text, delivery: steer ? ('steer' as const) : ('new_turn' as const), replyTo }
  const message = { ...said, ...defined({ attachments, grant }) }
  if (!call.create) return mail(thread, key, { kind: 'message', ...message })
  // Files that nobody waits for are not merged.
  const child = {
    reference,
    lasting,
    ...(base && blocking && { forked: true as const }),
    ...defined({ gives }),
    ...(lasting && reports === 'implicit' && { reports }),
    ...defined({ caller }),
  }
  const tags = name === undefined ? [] : [`name:${name}`]
  const path = [...state.path, thread]
  return mail(thread, key, {
    kind: 'create',
    agent,
    tags,
    parent: state.id,
    path,
    child,
    ...defined({ tree: base }),
    ...envOf(state, call),
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
  return { env: { keys, own: { ...own?.set }, inherited: inheritedEnv(threadEnv(env), [...scoped, ...apart]) } }
}

/** EN5. What a parent passed on although the name is scoped below comes from where it is scoped (EN2), and goes on. */
function flowOn(
  { id, env, children }: ThreadState,
  { seq, set, level }: EnvChanged & { readonly seq: number },
): readonly Send[] {
  const all = flowingEnv(env, Object.keys(set))
  return [...children.values()].flatMap(({ id: child, ended: over, scoped = [], apart = [] }): Send[] => {
    const told = over ? {} : inheritedEnv(all, level === 'inherited' ? apart : [...scoped, ...apart])
    return Object.keys(told).length === 0
      ? []
      : [mail(child, `${id}/env/${seq}`, { kind: 'env', level: 'inherited', keys: [...env.keys], set: told })]
  })
}

/** To all that live. */
function toChildren({ id, children }: ThreadState, { seq }: ThreadRecord, command: Command): readonly Send[] {
  return [...children.values()].flatMap((child) => (child.ended ? [] : [mail(child.id, `${id}/gate/${seq}`, command)]))
}

function mail(to: string, id: string, command: Command): Send {
  return { to, id, body: sealMail(command) }
}
