/**
 * Routes for clients of OpenAI: chat completions by an agent, and the agents as models.
 *
 * - A request that is sent again is one message, with one run: also after the run waited for a person.
 */
import { jsonResponse } from '../answer.js'
import { z } from 'zod'
import type { Run, Thread } from '../../index.js'
import { defined } from '../../core/defined.js'
import { derivedId, idHash } from '../auth/derived-id.js'
import { createTreeGuard } from '../auth/principal.js'
import { answerOf } from '../faces/answer.js'
import {
  chatRequest,
  checkAsked,
  chunkOf,
  completionOf,
  deltaOf,
  errorOf,
  lastChunkOf,
  conversationOf,
  problemOf,
  usageOf,
} from '../faces/openai.js'
import type { ChatLine, ChatRequest, Completion } from '../faces/openai.js'
import { StepWords } from '../faces/step-words.js'
import { HttpProblem, badRequest, toProblem } from '../problem.js'
import { route, traceOf } from '../route.js'
import type { RouteScene } from '../route.js'
import { threadId } from '../schemas.js'
import { dataStream } from '../stream/server-sent-events.js'
import { servedOutline } from './service.js'

const models = route({
  method: 'get',
  path: '/v1/models',
  name: 'list_openai_models',
  summary: 'Agents, as models of OpenAI.',
  scope: 'read',
  answer: {
    status: 200,
    description: 'The agents',
    schema: z.object({
      object: z.literal('list'),
      data: z.array(
        z.object({ id: z.string(), object: z.literal('model'), created: z.number(), owned_by: z.string() }),
      ),
    }),
  },
  errorOf,
  run: async ({ skein }) => ({
    object: 'list',
    data: servedOutline(skein).agents.map(({ name }) => ({ id: name, object: 'model', created: 0, owned_by: 'skein' })),
  }),
})

const completions = route({
  method: 'post',
  path: '/v1/chat/completions',
  name: 'create_chat_completion',
  summary: 'An answer of an agent in the form of OpenAI; with `stream` as server-sent events.',
  scope: 'write',
  body: chatRequest,
  answer: {
    status: 200,
    description: 'A chat completion, or its chunks and `[DONE]`',
    schema: z.looseObject({ id: z.string(), object: z.literal('chat.completion'), choices: z.array(z.unknown()) }),
  },
  errorOf,
  async run({ body, ...scene }) {
    checkAsked(body)
    const { earlier, last } = conversationOf(body)
    const given = threadIn(scene.request, body)
    const thread = given === undefined ? await begin(scene, body, earlier) : await goOn(scene, given)
    const key = scene.request.headers.get('idempotency-key')
    const id = idHash(thread.id, key ?? body.messages.map(({ role, content }) => [role, content]))
    // A turn of its own: an answer belongs to one message.
    const run = thread.send(last, { id, delivery: 'new_turn', ...traceOf(scene) })
    await run.accepted()
    const completion = { thread: thread.id, run: run.id, agent: thread.agent, createdAt: scene.clock.now() }
    return body.stream === true
      ? streamOf({ ...scene, thread, run }, completion, body.stream_options?.include_usage === true)
      : wholeOf({ ...scene, thread, run }, completion)
  },
})

type Scene = Pick<RouteScene, 'skein' | 'principal' | 'request' | 'signal' | 'streams' | 'clock'>
type Answering = Scene & { readonly thread: Thread; readonly run: Run }

function threadIn(request: Request, { metadata }: ChatRequest): string | undefined {
  const given = request.headers.get('x-skein-thread') ?? metadata?.['thread'] ?? undefined
  if (given === undefined) return undefined
  const checked = threadId.safeParse(given)
  if (checked.success) return checked.data
  throw badRequest(
    'the header x-skein-thread, or metadata.thread: an id of a thread is 1 to 64 letters, digits, "_" or "-"',
  )
}

async function goOn({ skein, principal }: Scene, id: string): Promise<Thread> {
  await createTreeGuard(skein, principal).checkThread(id)
  return skein.threads.get(id)
}

/** A new thread that knows what was said before. With an Idempotency-Key it is the one of the first attempt. */
async function begin(scene: Scene, { model }: ChatRequest, earlier: readonly ChatLine[]): Promise<Thread> {
  const { skein, principal, request, signal } = scene
  if (principal.roots)
    throw new HttpProblem(
      { status: 403, code: 'FORBIDDEN' },
      'this key is bound to trees that exist already: name one in the header x-skein-thread',
    )
  const key = request.headers.get('idempotency-key')
  const id = key === null ? undefined : derivedId('openai', principal, key)
  const tags = [...new Set(['openai', ...(principal.tags ?? [])])]
  const thread = await skein.threads.create({ agent: model, tags, signal, ...defined({ id }) })
  await createTreeGuard(skein, principal).checkThread(thread.id)
  for (const [index, { role, text }] of earlier.entries()) await thread.inject(text, { role, id: `earlier_${index}` })
  return thread
}

async function wholeOf({ skein, thread, run, signal }: Answering, completion: Completion): Promise<Response> {
  let said = ''
  for await (const part of answerOf({ skein, thread, run, signal })) {
    if ('change' in part) {
      const { event } = part.change
      if (event?.type === 'model.replied' && event.text !== '') said = event.text
      continue
    }
    const problem = 'ended' in part ? problemOf(part.ended) : undefined
    if (problem) throw problem
    const text = 'ended' in part ? part.ended.text : said
    return jsonResponse(completionOf(completion, text, part), { headers: headersOf(completion) })
  }
  throw new HttpProblem({ status: 503, code: 'STORE_CLOSED' }, 'the server is closing; the turn goes on: send it again')
}

function headersOf({ thread }: Completion): Record<string, string> {
  return { 'x-skein-thread': thread, 'cache-control': 'no-store' }
}

function streamOf(answering: Answering, completion: Completion, withUsage: boolean): Response {
  const { clock, signal, streams } = answering
  return dataStream((reading) => chunksOf({ ...answering, signal: reading }, completion, withUsage), {
    clock,
    signal,
    heartbeatMs: streams.heartbeatMs,
    enter: streams.enter,
    headers: headersOf(completion),
    failed: (thrown) => errorOf(toProblem(thrown)),
  })
}

async function* chunksOf(
  { skein, thread, run, signal, streams }: Answering,
  completion: Completion,
  withUsage: boolean,
): AsyncGenerator<object, void, undefined> {
  const words = new StepWords('text')
  let lastStep: number | undefined
  yield deltaOf(completion, { role: 'assistant', content: '' })
  for await (const part of answerOf({ skein, thread, run, signal, maxBuffered: streams.maxBuffered })) {
    if ('change' in part) {
      const spoken = part.change.event && words.take(part.change.event)
      if (spoken?.void) throw takenBack(spoken.step)
      if (!spoken || spoken.piece === '') continue
      const between = lastStep === undefined || lastStep === spoken.step ? '' : '\n\n'
      lastStep = spoken.step
      yield deltaOf(completion, { content: `${between}${spoken.piece}` })
      continue
    }
    const problem = 'ended' in part ? problemOf(part.ended) : undefined
    if (problem) throw problem
    yield lastChunkOf(completion, part)
    if (withUsage && 'ended' in part)
      yield chunkOf(completion, { choices: [], usage: usageOf(part.ended.subtreeUsage) })
  }
}

function takenBack(step: number): HttpProblem {
  return new HttpProblem(
    { status: 503, code: 'TEXT_TAKEN_BACK' },
    `the model broke off in step ${step} and answered otherwise: what was streamed of this step is void. The turn ` +
      `goes on; send the same request again for the whole`,
  )
}

export const openaiRoutes = [models, completions]
