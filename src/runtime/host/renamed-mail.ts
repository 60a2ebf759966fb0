/** Mail between threads of a tree, as it is between their copies: other names, and nothing else. */
import type { Copying } from '../../../actors/thread/travel/lineage.js'
import { renamedKey } from '../../../actors/thread/travel/rename.js'
import type { Send } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import type { Command } from '../../core/records/command.js'
import { renamedThread } from '../../core/records/travel.js'
import type { TreeRename } from '../../core/records/travel.js'
import { readMail, sealMail } from '../journal/mail.js'

type Terms = Copying & { readonly guard?: 'ask' | 'refuse' }

export function renamedMail(terms: Terms, { to, id, body }: Send): Send {
  const { tree } = terms
  const command = readMail(body)
  return {
    to: renamedThread(tree, to),
    id: renamedKey(tree, id),
    body: command ? sealMail(renamedCommand(terms, command)) : body,
  }
}

function renamedCommand(terms: Terms, command: Command): Command {
  const { tree } = terms
  const rename = (thread: string): string => renamedThread(tree, thread)
  switch (command.kind) {
    case 'create':
      return renamedCreation(terms, command)
    case 'message':
      return { ...command, ...renamedReply(tree, command) }
    case 'report':
    case 'tell':
      return { ...command, child: rename(command.child) }
    case 'grant':
      return { ...command, ...(command.from !== undefined && { from: rename(command.from) }) }
    case 'cancel':
      return { ...command, ...(command.messages && { messages: command.messages.map((key) => renamedKey(tree, key)) }) }
    default:
      return command
  }
}

type Creation = Extract<Command, { readonly kind: 'create' }>
type Message = Pick<Extract<Command, { readonly kind: 'message' }>, 'replyTo'>

function renamedCreation({ tree, roots, drops, guard }: Terms, command: Creation): Creation {
  const { path, parent, message, env } = command
  const from = path.indexOf(tree.top)
  const dropsEnv = drops?.includes('env') === true
  const { env: _, ...rest } = command
  return {
    ...rest,
    path: path.slice(from).map((thread) => renamedThread(tree, thread)),
    ...defined({ parent: parent === undefined ? undefined : renamedThread(tree, parent), guard }),
    ...(env && !dropsEnv && { env: { ...env, roots: [...roots] } }),
    ...(message && { message: { ...message, ...renamedReply(tree, message) } }),
  }
}

function renamedReply(tree: TreeRename, { replyTo }: Message): Message {
  return replyTo ? { replyTo: { ...replyTo, thread: renamedThread(tree, replyTo.thread) } } : {}
}
