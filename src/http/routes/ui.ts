/**
 * Routes for pages on the AI SDK (`useChat`): a thread as a chat. What is posted is the last message: words of the
 * user, or what they decided in the message of the assistant.
 *
 * - A message has the id that the page gave it: posted again, it is one message. A decision that was taken is passed
 *   over.
 * - A run is readable from its beginning at any time, so that a page resumes without any store of streams.
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { InboxItem, Run, Thread } from '../../index.js'
import { defined } from '../../core/defined.js'
import { checkScope } from '../auth/principal.js'
import { answerOf } from '../faces/answer.js'
import { UiWriter, runOfAnswer } from '../faces/ui-chunks.js'
import type { UiChunk } from '../faces/ui-chunks.js'
import { badRequest, toProblem } from '../problem.js'
import { route, traceOf } from '../route.js'
import type { RouteAnswer, RouteScene } from '../route.js'
import { callIdText, messageId, threadId } from '../schemas.js'
import { dataStream } from '../stream/server-sent-events.js'

const params = { thread: threadId }
const chunks: RouteAnswer = {
  status: 200,
  type: 'events',
  description: 'Chunks of a UI message stream, and `[DONE]`; status 204 where nothing goes on',
}

const uiPart = z.looseObject({
  type: z.string(),
  text: z.string().optional(),
  toolCallId: z.string().optional(),
  state: z.string().optional(),
  approval: z
    .looseObject({ id: z.string(), approved: z.boolean().optional(), reason: z.string().optional() })
    .optional(),
  output: z.unknown().optional(),
})

const uiMessage = z.looseObject({
  id: z.string(),
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(uiPart),
})

type UiPart = z.output<typeof uiPart>
type UiMessage = z.output<typeof uiMessage>

const body = z.looseObject({
  message: uiMessage.optional().describe('The last message; or all of them as `messages`'),
  messages: z.array(uiMessage).max(10_000).optional(),
  trigger: z.string().optional(),
})

const postUi = route({
  method: 'post',
  path: '/threads/{thread}/ui',
  name: 'post_ui_message',
  summary: 'The last message of a chat on the AI SDK, or decisions in it; answers with the run as a UI message stream.',
  scope: 'write',
  params,
  body,
  answer: chunks,
  async run({ params: { thread: id }, body: { message, messages, trigger }, ...scene }) {
    const last = message ?? messages?.at(-1)
    if (!last) throw badRequest('the body has no message: send "message", or "messages" with the last one at their end')
    if (trigger === 'regenerate-message')
      throw badRequest('trigger: a thread keeps what was said, and says nothing anew; send another message')
    const thread = await scene.skein.threads.get(id)
    if (last.role === 'assistant') return decide(scene, thread, last)
    const run = thread.send(userText(last), { id: sentId(last.id), delivery: 'new_turn', ...traceOf(scene) })
    await run.accepted()
    return streamOf(scene, { thread, run })
  },
})

const getUi = route({
  method: 'get',
  path: '/threads/{thread}/ui',
  name: 'resume_ui_stream',
  summary: 'The run that is going on, from its beginning, as a UI message stream of the AI SDK; 204 where none is.',
  scope: 'read',
  params,
  answer: chunks,
  async run({ params: { thread: id }, ...scene }) {
    const thread = await scene.skein.threads.get(id)
    const run = await thread.current()
    return run ? streamOf(scene, { thread, run }) : new Response(null, { status: 204 })
  },
})

type Scene = Pick<RouteScene, 'skein' | 'principal' | 'signal' | 'streams' | 'clock'>

/** Ids of pages are free; those that a thread does not take are hashed. */
function sentId(id: string): string {
  const isTaken = messageId.safeParse(id).success && !/^(step|result)_\d/.test(id)
  return isTaken ? id : createHash('sha256').update(id).digest('hex').slice(0, 32)
}

function userText({ role, parts }: UiMessage): string {
  if (role !== 'user') throw badRequest(`the last message has the role ${role}; it must be of the user`)
  const others = parts.filter(({ type }) => type !== 'text' && !type.startsWith('data-'))
  if (others[0])
    throw badRequest(
      `the message has a part of type ${JSON.stringify(others[0].type.slice(0, 64))}; only text is taken`,
    )
  const text = parts.map((part) => part.text ?? '').join('')
  if (text.trim() === '') throw badRequest('the message has no text')
  return text
}

interface Decision {
  readonly call: string
  readonly approved?: boolean
  readonly reason?: string | undefined
  readonly output?: unknown
}

function decisionOf({ toolCallId, state, approval, output }: UiPart): readonly Decision[] {
  const call = callIdText.safeParse(toolCallId).data
  if (call === undefined) return []
  if (approval?.approved !== undefined) return [{ call, approved: approval.approved, reason: approval.reason }]
  return state === 'output-available' ? [{ call, output }] : []
}

/** The calls of the message that wait are decided as it says; then the rest of its run follows. */
async function decide(scene: Scene, thread: Thread, { id, parts }: UiMessage): Promise<Response> {
  const { skein, principal } = scene
  // Only calls of the last step can wait; those before it were decided in an earlier request.
  const step = parts.findLastIndex(({ type }) => type === 'step-start')
  const decisions = parts.slice(step + 1).flatMap(decisionOf)
  const runId = runOfAnswer(id)
  const run = runId === undefined ? await thread.current() : thread.run(runId)
  if (!run || decisions.length === 0)
    throw badRequest('the last message is of the assistant, and decides nothing that this thread waits for')
  await run.accepted()
  const items = await skein.inbox.list({ thread: thread.id })
  const waiting = decisions.flatMap((decision) => {
    const item = items.find(({ call }) => call === decision.call)
    return item && fits(item, decision) ? [{ item, decision }] : []
  })
  if (waiting.length > 0) checkScope(principal, 'approve')
  for (const { item, decision } of waiting) await carryOut(scene, item, decision)
  return streamOf(scene, { thread, run, known: new Set(decisions.map(({ call }) => call)) })
}

function fits({ why }: InboxItem, { approved }: Decision): boolean {
  return approved === undefined ? why === 'person' : why === 'approval'
}

async function carryOut({ skein, principal }: Scene, { id }: InboxItem, decision: Decision): Promise<void> {
  const { approved, reason, output } = decision
  const by = principal.name
  if (approved === undefined) return skein.inbox.answer(id, output, { by })
  const said = { by, ...defined({ comment: reason }) }
  return approved ? skein.inbox.approve(id, said) : skein.inbox.reject(id, said)
}

interface UiAnswer {
  readonly thread: Thread
  readonly run: Run
  readonly known?: ReadonlySet<string>
}

function streamOf({ skein, signal, streams, clock }: Scene, { thread, run, known }: UiAnswer): Response {
  async function* written(reading: AbortSignal): AsyncGenerator<UiChunk, void, undefined> {
    const writer = new UiWriter({ thread: thread.id, run: run.id, ...defined({ known }) })
    const source = { skein, thread, run, signal: reading, tree: true, maxBuffered: streams.maxBuffered }
    for await (const part of answerOf(source)) yield* 'change' in part ? writer.take(part.change) : writer.end(part)
  }
  return dataStream(written, {
    clock,
    signal,
    heartbeatMs: streams.heartbeatMs,
    enter: streams.enter,
    headers: { 'x-vercel-ai-ui-message-stream': 'v1' },
    failed(thrown) {
      const { code, message } = toProblem(thrown)
      return { type: 'error', errorText: `${code}: ${message}` }
    },
  })
}

export const uiRoutes = [postUi, getUi]
