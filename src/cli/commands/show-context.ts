/** `skein show --context`: prints what the model of a thread would read now, and what was left out and why. */
import type { LeftOutMessage, ThreadContext } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { counted } from '../format.js'
import { groupBy } from '../group-by.js'
import type { CommandContext } from '../run-command.js'
import { messageText } from '../turn/message-text.js'
import { label } from '../visible.js'
import type { AnyClient } from '../store.js'

const reasons: Readonly<Record<LeftOutMessage['why'], string>> = {
  archived: 'archived, get_tool_response gives the results',
  summarised: 'summarised',
  hidden: 'hidden',
  past: 'of past turns, which the prompt leaves out',
  other_side: 'of the other side',
}

/** Ids that are named for each reason. */
const named = 8

export async function showContext({ out }: CommandContext, client: AnyClient, id: string): Promise<ExitCode> {
  const thread = await client.threads.get(id)
  const context = await thread.context()
  if (out.mode === 'json') {
    out.json({ thread: thread.id, ...context })
    return exitCode.ok
  }
  for (const message of context.messages) out.print(`${messageText(out, message)}\n`)
  for (const line of linesOf(context)) out.print(`${out.paint('dim', label(line))}\n`)
  return exitCode.ok
}

function linesOf({ messages, leftOut, limit, side }: ThreadContext): readonly string[] {
  const of = side === undefined ? '' : ` of side ${side.toUpperCase()}`
  const size = limit
    ? `, about ${limit.tokens} tokens; it is reduced at ${limit.nextTokens}`
    : '; nothing limits how many'
  const groups = [...groupBy(leftOut, ({ why }) => why).values()]
  return [
    `the model${of} reads ${counted(messages.length, 'message')}${size}`,
    ...(groups.length === 0 ? ['nothing was left out'] : groups.map(groupLine)),
  ]
}

function groupLine(list: readonly LeftOutMessage[]): string {
  const characters = list.reduce((sum, each) => sum + each.characters, 0)
  const ids = list.slice(0, named).map(({ id, call }) => call ?? id)
  const more = list.length > named ? `, … ${list.length - named} more` : ''
  const why = list[0] ? reasons[list[0].why] : ''
  return `left out ${counted(list.length, 'message')} (${characters} characters), ${why}: ${ids.join(', ')}${more}`
}
