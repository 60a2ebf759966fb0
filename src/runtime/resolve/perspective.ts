/**
 * What each of two sides reads of one transcript (S11): its own words and calls as they are, the other's words as a
 * user's, and nothing of the other's calls. Whoever speaks from outside plays the other side: a user's message is for
 * side A, an assistant's for side B.
 */
import { defined } from '../../core/defined.js'
import type { Message, SideName } from '../../core/records/message.js'

/** Undefined: it is not for this side. */
export function seenBy(side: SideName, message: Message): Message | undefined {
  const { id, role, text, at, attachments, media, silent } = message
  if (message.to !== undefined && message.to !== side) return undefined
  if (message.side === side || role === 'system') return message
  const seen = { id, text, at, ...defined({ attachments, media, silent: silent || undefined }) }
  // From outside: a user's words are for side A, and are those of side B; and the other way round.
  if (message.side === undefined)
    return { ...seen, role: message.to === side || (role === 'user') === (side === 'a') ? 'user' : 'assistant' }
  return role === 'tool' || text === '' ? undefined : { ...seen, role: 'user' }
}
