/**
 * A thread as a task of A2A 1.0: its state, its messages as history, what its last turn came to as an artifact. A
 * thread stays, so a task that has ended goes on with the next message.
 *
 * - What waits for people is `INPUT_REQUIRED`, with the entries of the inbox as data; values that are missing are
 *   `AUTH_REQUIRED`.
 */
import type { InboxItem, Message, RunResult, Thread, ThreadProjection } from '../../index.js'
import { defined } from '../../core/defined.js'
import type { RouteScene } from '../route.js'

export type TaskState =
  | 'TASK_STATE_SUBMITTED'
  | 'TASK_STATE_WORKING'
  | 'TASK_STATE_COMPLETED'
  | 'TASK_STATE_FAILED'
  | 'TASK_STATE_CANCELED'
  | 'TASK_STATE_INPUT_REQUIRED'
  | 'TASK_STATE_AUTH_REQUIRED'

export interface A2aPart {
  readonly text?: string
  readonly data?: unknown
  readonly mediaType?: string
}

export interface A2aTask {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: TaskState; readonly message?: object; readonly timestamp: string }
  readonly artifacts?: readonly object[]
  readonly history?: readonly object[]
}

const contextTag = 'a2a-context:'

/** The tags of a thread that a client of A2A has begun. */
export function taskTags(context: string | undefined): readonly string[] {
  return ['a2a', ...(context === undefined ? [] : [`${contextTag}${context}`])]
}

/** What its client calls the conversation; where it gave no name, the thread's own. */
export function contextOf({ id, tags }: Pick<Thread, 'id' | 'tags'>): string {
  return tags.find((tag) => tag.startsWith(contextTag))?.slice(contextTag.length) ?? id
}

export interface TaskOptions {
  /** Messages of the history, from its end. Default: all. */
  readonly historyLength?: number | undefined
  readonly includeArtifacts?: boolean | undefined
}

/** What a thread waits for people to do, with all below it. */
export async function requestsOf(
  { skein }: Pick<RouteScene, 'skein'>,
  { id }: Thread,
  { path: [root = id] }: Pick<ThreadProjection, 'path'>,
): Promise<readonly InboxItem[]> {
  const items = await skein.inbox.list({ root })
  return items.filter(({ path }) => path.includes(id))
}

export async function taskOf(
  scene: Pick<RouteScene, 'skein'>,
  thread: Thread,
  { historyLength, includeArtifacts = true }: TaskOptions = {},
): Promise<A2aTask> {
  const [now, { updatedAt }] = await Promise.all([thread.view().now(), thread.info()])
  const items = now.turn ? await requestsOf(scene, thread, now) : []
  const state = stateOf(now, items)
  const of = { taskId: thread.id, contextId: contextOf(thread) }
  const history = now.messages.filter(({ silent }) => !silent).flatMap((message) => toA2a(of, message))
  return {
    id: thread.id,
    contextId: of.contextId,
    status: taskStatus(of, { state, result: now.result, items, at: updatedAt }),
    ...(includeArtifacts && now.result && { artifacts: [artifactOf(now.result, history.length)] }),
    ...(historyLength !== 0 && { history: history.slice(-(historyLength ?? history.length)) }),
  }
}

function stateOf({ turn, status, result }: ThreadProjection, items: readonly InboxItem[]): TaskState {
  if (!turn) return result ? endState(result) : lifeState(status)
  return items.length > 0 ? waitState(items) : 'TASK_STATE_WORKING'
}

function lifeState(status: string): TaskState {
  return status === 'terminated' ? 'TASK_STATE_CANCELED' : 'TASK_STATE_SUBMITTED'
}

const canceled: ReadonlySet<string> = new Set(['cancelled', 'terminated'])

export function endState({ stopReason, failure }: RunResult): TaskState {
  if (canceled.has(stopReason)) return 'TASK_STATE_CANCELED'
  return failure || stopReason === 'failed' ? 'TASK_STATE_FAILED' : 'TASK_STATE_COMPLETED'
}

export function waitState(items: readonly InboxItem[]): TaskState {
  const isForValues = items.length > 0 && items.every(({ why }) => why === 'variables')
  return isForValues ? 'TASK_STATE_AUTH_REQUIRED' : 'TASK_STATE_INPUT_REQUIRED'
}

interface TaskRef {
  readonly taskId: string
  readonly contextId: string
}

interface StatusFacts {
  readonly state: TaskState
  readonly result?: RunResult | undefined
  readonly items?: readonly InboxItem[]
  readonly at: number
}

export function taskStatus(of: TaskRef, { state, result, items = [], at }: StatusFacts): A2aTask['status'] {
  const parts = items.length > 0 ? waitParts(items) : endParts(state, result)
  const message = parts && { messageId: `status-${of.taskId}-${at}`, role: 'ROLE_AGENT', ...of, parts }
  return { state, timestamp: new Date(at).toISOString(), ...defined({ message }) }
}

function endParts(state: TaskState, result: RunResult | undefined): readonly A2aPart[] | undefined {
  if (state === 'TASK_STATE_COMPLETED' || !result) return undefined
  const { failure, detail, stopReason } = result
  return [{ text: failure ? `${failure.code}: ${failure.message}` : (detail ?? stopReason) }]
}

const wanted: Readonly<Record<string, string>> = {
  approval: 'approve or reject it',
  person: 'answer it',
  variables: 'its values are given where secrets are kept, not here',
}

function waitParts(items: readonly InboxItem[]): readonly A2aPart[] {
  const lines = items.map(({ id, tool, why, prompt }) => `${id}: ${prompt ?? `${tool} waits`} (${wanted[why] ?? why})`)
  const inbox = items.map(({ id, why, tool, args, prompt }) => ({ id, why, tool, args, ...defined({ prompt }) }))
  return [{ text: lines.join('\n') }, { data: { inbox }, mediaType: 'application/json' }]
}

export const answerArtifact = 'answer'

export function artifactOf({ text, output }: RunResult, number: number): object {
  const parts: A2aPart[] = [{ text, mediaType: 'text/plain' }]
  if (output !== undefined) parts.push({ data: output, mediaType: 'application/json' })
  return { artifactId: `${answerArtifact}-${number}`, name: answerArtifact, parts }
}

function toA2a(of: TaskRef, { id, role, text }: Message): readonly object[] {
  if ((role !== 'user' && role !== 'assistant') || text === '') return []
  return [{ messageId: id, ...of, role: role === 'user' ? 'ROLE_USER' : 'ROLE_AGENT', parts: [{ text }] }]
}
