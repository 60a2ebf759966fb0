/**
 * A chat of a web page on a thread: route handlers as Next.js has them (route.ts), and `Chat` of @ai-sdk/react, which
 * is what a component gives to `useChat({ chat, resume: true })`. A page that is closed loses nothing, another one goes
 * on with the same answer, and a person approves in the chat. It runs without a browser: the routes are called directly.
 *
 *   npx tsx examples/18-next-and-usechat/main.ts
 */
import { Chat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import type { UIMessage } from 'ai'
import { GET, POST, close, skein, tokenFor } from './route.js'

const thread = 'order-18'
const token = await tokenFor(thread)
const api = `https://shop.example/api/skein/threads/${thread}/ui`

/** A page that was opened; `before` is what the server has rendered. */
function openPage(before: UIMessage[] = []): Chat<UIMessage> {
  return new Chat<UIMessage>({
    id: thread,
    messages: before,
    transport: new DefaultChatTransport({
      api,
      headers: { authorization: `Bearer ${token}` },
      prepareSendMessagesRequest: ({ messages, trigger }) => ({ body: { message: messages.at(-1), trigger } }),
      prepareReconnectToStreamRequest: () => ({ api }),
      // In a browser this is the network and the router of Next.js.
      fetch: async (url, init) => (init?.method === 'POST' ? POST : GET)(new Request(url, init)),
    }),
    // Decisions are posted as soon as all of them are taken.
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
}

const told = (message: UIMessage | undefined): string =>
  (message?.role === 'assistant' ? message.parts : [])
    .flatMap((part) => (part.type === 'text' ? [part.text] : []))
    .join(' ')

/** A component is rendered again when something has changed. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10))
}

// The first page is closed while the clerk looks for the parcel.
const first = openPage()
void first.sendMessage({ text: 'Where is my parcel?' })
await until(() => told(first.lastMessage) !== '')
console.log(`first page: ${told(first.lastMessage)}`)
await first.stop()

// Another one is opened: the turn went on, and its answer comes from the beginning (`resume: true` of useChat).
const second = openPage(first.messages.slice(0, 1))
await second.resumeStream()
console.log(`second page: ${told(second.lastMessage)}`)

// What the clerk may not do alone is a part of the message; the page shows a button.
await second.sendMessage({ text: 'Send it again, please.' })
for (const part of second.lastMessage?.parts ?? []) {
  if (part.type !== 'tool-resend' || part.state !== 'approval-requested') continue
  console.log(`resend ${JSON.stringify(part.input)}: may it?`)
  await second.addToolApprovalResponse({ id: part.approval.id, approved: true })
}
await until(() => second.status === 'ready' && told(second.lastMessage) !== '')
console.log(`second page: ${told(second.lastMessage)}`)

const { length } = await (await skein.threads.get(thread)).messages()
console.log(`the thread has ${length} messages`)
await close()
