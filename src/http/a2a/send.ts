/**
 * Messages of A2A clients: they begin a task, go on with it, or answer what it waits for.
 *
 * - A message that is sent again, by its `messageId`, is one message, also where it begins a task.
 * - While a task waits for people, a message to it is a decision, and needs the scope for that. It is taken once, too.
 */
import { SkeinError } from '../../index.js'
import type { InboxItem, Run, Thread } from '../../index.js'
import { z } from 'zod'
import { defined } from '../../core/defined.js'
import { checkAccess } from '../auth/principal.js'
import { derivedId, idHash } from '../auth/derived-id.js'
import { callRoute } from '../mcp/route-tools.js'
import type { McpScene } from '../mcp/route-tools.js'
import { issuesText } from '../problem.js'
import { messageId, threadId } from '../schemas.js'
import { decisionData } from './forms.js'
import type { SendParams } from './forms.js'
import { RpcError, rpcCodes } from './rpc-error.js'
import { taskTags, requestsOf } from './task.js'

export interface Sent {
  readonly thread: Thread
  readonly run: Run
}

export async function takeMessage(scene: McpScene, agent: string, { message }: SendParams): Promise<Sent> {
  const { skein, principal } = scene
  await checkAccess(skein, principal, { scope: 'write' })
  if (message.role !== 'ROLE_USER') throw new RpcError(rpcCodes.invalidParams, 'role: a client sends ROLE_USER')
  const thread = await threadFor(scene, agent, message)
  const now = await thread.view().now()
  const items = now.turn ? await requestsOf(scene, thread, now) : []
  const key = keyOf(message.messageId)
  const mark = `a2a/${key}`
  const decided = await thread.kv.get(mark)
  if (typeof decided === 'string') return { thread, run: thread.run(decided) }
  if (now.turn && items.length > 0 && message.taskId !== undefined) {
    // Before the decision: one that is sent again must not become words to the agent.
    await thread.kv.set(mark, now.turn.run)
    try {
      await answer(scene, items, message.parts)
    } catch (thrown) {
      await thread.kv.delete(mark)
      throw thrown
    }
    return { thread, run: thread.run(now.turn.run) }
  }
  const run = thread.send(textOf(message.parts), { id: key, delivery: 'new_turn', ...defined({ trace: scene.trace }) })
  await run.accepted()
  return { thread, run }
}

function keyOf(id: string): string {
  return messageId.safeParse(id).success ? id : idHash(id)
}

type Sender = SendParams['message']

/** The thread that is named, or the one of the conversation; there is one after the first message. */
async function threadFor(
  scene: McpScene,
  agent: string,
  { taskId, contextId, messageId: id }: Sender,
): Promise<Thread> {
  if (taskId !== undefined) return taskThread(scene, agent, taskId)
  const { skein, principal } = scene
  // A conversation that had no name is called after its thread.
  const named = contextId === undefined ? undefined : await findThread(scene, agent, contextId)
  if (named) return named
  const key = contextId === undefined ? ['message', id] : ['context', contextId]
  const create = scene.routes.find(({ name }) => name === 'create_thread')
  const body = { agent, id: derivedId('a2a', principal, agent, ...key), tags: taskTags(contextId) }
  const created = z
    .object({ thread: z.string() })
    .parse(create && (await callRoute({ ...scene, makesIds: true }, create, body)))
  return skein.threads.get(created.thread)
}

export async function taskThread(scene: McpScene, agent: string, id: string): Promise<Thread> {
  const found = await findThread(scene, agent, id)
  if (found) return found
  throw new RpcError(rpcCodes.taskNotFound, `there is no task ${JSON.stringify(id.slice(0, 128))}`)
}

/** Undefined: there is none that this client may see, or it is one of another agent. */
async function findThread(scene: McpScene, agent: string, id: string): Promise<Thread | undefined> {
  if (!threadId.safeParse(id).success) return undefined
  const { skein, principal } = scene
  try {
    await checkAccess(skein, principal, { scope: 'read', thread: id })
    const thread = await skein.threads.get(id)
    return thread.tags.includes('a2a') && thread.agent === agent ? thread : undefined
  } catch (thrown) {
    if (isUnknown(thrown)) return undefined
    throw thrown
  }
}

function isUnknown(thrown: unknown): boolean {
  return (
    SkeinError.is(thrown, 'UNKNOWN_THREAD') ||
    (thrown instanceof Error && 'code' in thrown && thrown.code === 'UNKNOWN_THREAD')
  )
}

type Parts = Sender['parts']

function textOf(parts: Parts): string {
  const texts = parts.map(({ text, data }, index) => {
    if (text !== undefined) return text
    if (data !== undefined) return JSON.stringify(data)
    throw new RpcError(rpcCodes.contentType, `parts.${index}: only text and data are taken`)
  })
  const whole = texts.join('\n')
  if (whole.trim() === '') throw new RpcError(rpcCodes.invalidParams, 'parts: the message has no words')
  return whole
}

async function answer(scene: McpScene, items: readonly InboxItem[], parts: Parts): Promise<void> {
  const { skein, principal } = scene
  await checkAccess(skein, principal, { scope: 'approve' })
  const given = parts.flatMap(({ data }) => (data === undefined ? [] : [data]))
  const decisions = given.length > 0 ? given.map(parseDecision) : [wordsOf(textOf(parts))]
  for (const decision of decisions) await decide(scene, items, decision)
}

type Decision = z.output<typeof decisionData>

function parseDecision(data: unknown): Decision {
  const checked = decisionData.safeParse(data)
  if (checked.success) return checked.data
  throw new RpcError(rpcCodes.invalidParams, `data: ${issuesText(checked.error)}`)
}

/** Words decide where there is one thing to decide. */
function wordsOf(text: string): Decision {
  const word = text.trim().toLowerCase()
  return word === 'approve' || word === 'reject' ? { decision: word } : { output: text }
}

async function decide({ skein, principal }: McpScene, items: readonly InboxItem[], given: Decision): Promise<void> {
  const [only] = items
  const item = given.id === undefined && items.length === 1 ? only : items.find(({ id }) => id === given.id)
  if (!item)
    throw new RpcError(rpcCodes.invalidParams, `say which, with data { id }: ${items.map(({ id }) => id).join()}`)
  const { id, why } = item
  const by = principal.name
  const { decision, comment, args, output } = given
  if (decision === 'reject') return skein.inbox.reject(id, { by, ...defined({ comment }) })
  if (why === 'person' && output !== undefined) return skein.inbox.answer(id, output, { by })
  if (why === 'approval' && decision === 'approve')
    return skein.inbox.approve(id, { by, ...defined({ comment, args }) })
  const how = why === 'approval' ? '"approve" or "reject"' : '{ output }'
  throw new RpcError(
    rpcCodes.invalidParams,
    `${id} waits (${why}); send ${how}, as data or, where it is alone, as text`,
  )
}
