/** Reading the messages of a thread over HTTP: all of them in order, or pages from the newest back. */
import type { Message, NumberedMessage, Thread } from '../index.js'
import { SkeinError } from '../core/failure.js'
import { checkKnown } from './transport.js'
import type { Transport } from './transport.js'

type Page = NonNullable<Parameters<Thread['messages']>[0]>

/** The server gives no more with one answer. */
const mostAtOnce = 1_000
const pageNames: ReadonlySet<string> = new Set(['after', 'before', 'limit', 'silent'])

export function createRemoteMessages(transport: Transport, path: string): Thread['messages'] {
  function read(page: Page & { readonly before: number }): Promise<readonly NumberedMessage[]>
  function read(page?: Page): Promise<readonly Message[]>
  async function read(page: Page = {}): Promise<readonly Message[]> {
    checkKnown('messages', page, pageNames)
    if (page.before === undefined) return readForward(transport, path, page)
    if (page.after === undefined) return readBack(transport, path, { ...page, before: page.before })
    throw new SkeinError('BAD_OPTION', 'messages: a page is after a message or before a record, not both')
  }
  return read
}

async function readForward(transport: Transport, path: string, page: Page): Promise<readonly Message[]> {
  const { limit: most = Infinity, silent } = page
  const messages: Message[] = []
  let { after } = page
  for (;;) {
    const limit = Math.min(mostAtOnce, most - messages.length)
    const query = { after, limit, silent: silent === 'show' ? true : undefined }
    const answer = await transport.json<{ messages: readonly Message[] }>(path, { query })
    messages.push(...answer.messages)
    if (answer.messages.length < limit || messages.length >= most) return messages
    after = messages.at(-1)?.id
  }
}

async function readBack(
  transport: Transport,
  path: string,
  { before, limit: most = Infinity, silent }: Page & { readonly before: number },
): Promise<readonly NumberedMessage[]> {
  const found: NumberedMessage[] = []
  for (let from = before, more = most > 0; more;) {
    const limit = Math.min(mostAtOnce, most - found.length)
    const query = { before: from === Infinity ? 'end' : from, limit, silent: silent === 'show' ? true : undefined }
    const { messages } = await transport.json<{ messages: readonly NumberedMessage[] }>(path, { query })
    found.unshift(...messages)
    from = messages[0]?.seq ?? 0
    more = messages.length > 0 && found.length < most
  }
  return found
}
