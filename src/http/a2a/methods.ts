/**
 * The methods of A2A 1.0 over JSON-RPC, for one agent: send, stream, get, list, cancel, subscribe. Push notifications
 * are off, and said to be.
 *
 * - A client that leaves ends nothing.
 */
import type { RunResult } from '../../index.js'
import { checkAccess } from '../auth/principal.js'
import { answerOf } from '../faces/answer.js'
import type { Waiting } from '../faces/answer.js'
import { StepWords } from '../faces/step-words.js'
import { callRoute } from '../mcp/route-tools.js'
import type { McpScene } from '../mcp/route-tools.js'
import { listParams, parseParams, sendParams, taskParams } from './forms.js'
import { RpcError, rpcCodes } from './rpc-error.js'
import { takeMessage, taskThread } from './send.js'
import type { Sent } from './send.js'
import { answerArtifact, artifactOf, contextOf, endState, taskStatus, taskOf, waitState } from './task.js'
import type { A2aTask } from './task.js'
import { threadPage } from './task-page.js'

export interface A2aScene extends McpScene {
  readonly agent: string
}

/** What a stream gives: each is the `result` of one response. */
type StreamPart = object

/** A value, or what is streamed. */
export type MethodResult =
  | { readonly value: unknown }
  | { readonly stream: (signal: AbortSignal) => AsyncGenerator<StreamPart, void, undefined> }

type Method = (scene: A2aScene, params: unknown) => Promise<MethodResult>

async function sendMessage(scene: A2aScene, raw: unknown): Promise<MethodResult> {
  const params = parseParams(sendParams, raw)
  const sent = await takeMessage(scene, scene.agent, params)
  const { returnImmediately = false, historyLength } = params.configuration ?? {}
  if (!returnImmediately) for await (const _ of partsOf(scene, sent, scene.signal)) continue
  return { value: { task: await taskOf(scene, sent.thread, { historyLength }) } }
}

async function streamMessage(scene: A2aScene, raw: unknown): Promise<MethodResult> {
  const params = parseParams(sendParams, raw)
  const sent = await takeMessage(scene, scene.agent, params)
  return { stream: (signal) => streamOf(scene, sent, signal) }
}

async function getTask(scene: A2aScene, raw: unknown): Promise<MethodResult> {
  const { id, historyLength } = parseParams(taskParams, raw)
  return { value: await taskOf(scene, await taskThread(scene, scene.agent, id), { historyLength }) }
}

async function cancelTask(scene: A2aScene, raw: unknown): Promise<MethodResult> {
  const { id } = parseParams(taskParams, raw)
  const { skein, principal, agent } = scene
  await checkAccess(skein, principal, { scope: 'write' })
  const thread = await taskThread(scene, agent, id)
  if (!(await thread.cancel({ reason: `cancelled over A2A by ${principal.name}` })))
    throw new RpcError(rpcCodes.taskNotCancelable, `the task ${id} has no turn that goes on`)
  return { value: await taskOf(scene, thread) }
}

async function subscribe(scene: A2aScene, raw: unknown): Promise<MethodResult> {
  const { id } = parseParams(taskParams, raw)
  const thread = await taskThread(scene, scene.agent, id)
  const { turn } = await thread.view().now()
  if (!turn) throw new RpcError(rpcCodes.unsupported, `the task ${id} has ended; GetTask has what it came to`)
  return { stream: (signal) => streamOf(scene, { thread, run: thread.run(turn.run) }, signal) }
}

async function listTasks(scene: A2aScene, raw: unknown): Promise<MethodResult> {
  const params = parseParams(listParams, raw)
  const { includeArtifacts = false, historyLength = 0 } = params
  const listThreads = scene.routes.find(({ name }) => name === 'list_threads')
  const { threads, next, size } = await threadPage(scene, params, (args) =>
    listThreads ? callRoute(scene, listThreads, args) : Promise.resolve({ threads: [] }),
  )
  const tasks = await Promise.all(threads.map((thread) => taskOf(scene, thread, { includeArtifacts, historyLength })))
  const shown = isStated(params.status) ? tasks.filter(({ status }) => status.state === params.status) : tasks
  return { value: { tasks: shown, nextPageToken: next ?? '', pageSize: size, totalSize: shown.length } }
}

const isStated = (status: string | undefined): boolean =>
  status !== undefined && status !== '' && status !== 'TASK_STATE_UNSPECIFIED'

function refuse(code: number, message: string): Method {
  return async () => {
    throw new RpcError(code, message)
  }
}

const noPush = refuse(rpcCodes.pushNotSupported, 'push notifications are off; use SubscribeToTask or GetTask')

export const methods: Readonly<Record<string, Method>> = {
  SendMessage: sendMessage,
  SendStreamingMessage: streamMessage,
  GetTask: getTask,
  ListTasks: listTasks,
  CancelTask: cancelTask,
  SubscribeToTask: subscribe,
  GetExtendedAgentCard: refuse(rpcCodes.noExtendedCard, 'there is one card for everybody'),
  CreateTaskPushNotificationConfig: noPush,
  GetTaskPushNotificationConfig: noPush,
  ListTaskPushNotificationConfigs: noPush,
  DeleteTaskPushNotificationConfig: noPush,
}

type RunPart =
  | { readonly piece: string; readonly again: boolean }
  | { readonly ended: RunResult }
  | { readonly waiting: Waiting }

/** Words as they are said, then how the turn ended or what it waits for. */
async function* partsOf(
  { skein, streams }: A2aScene,
  { thread, run }: Sent,
  signal: AbortSignal,
): AsyncGenerator<RunPart, void, undefined> {
  const words = new StepWords('text')
  for await (const part of answerOf({ skein, thread, run, signal, maxBuffered: streams.maxBuffered })) {
    if (!('change' in part)) {
      yield part
      continue
    }
    const said = part.change.event && words.take(part.change.event)
    if (said && said.piece !== '') yield { piece: said.piece, again: said.void === true }
  }
}

/** The task as it stands, then what happens to it, until it has ended or waits for people. */
async function* streamOf(
  scene: A2aScene,
  sent: Sent,
  signal: AbortSignal,
): AsyncGenerator<StreamPart, void, undefined> {
  const { thread } = sent
  const of = { taskId: thread.id, contextId: contextOf(thread) }
  // What this turn makes is told by its own parts.
  const task = await taskOf(scene, thread, { historyLength: 1, includeArtifacts: false })
  yield { task: { ...task, status: { ...task.status, state: 'TASK_STATE_WORKING' } } satisfies A2aTask }
  const progress = { artifactId: `words-${sent.run.id}`, name: 'words' }
  let isBegun = false
  for await (const part of partsOf(scene, sent, signal)) {
    const at = scene.clock.now()
    if ('piece' in part) {
      const append = isBegun && !part.again
      isBegun = true
      yield { artifactUpdate: { ...of, artifact: { ...progress, parts: [{ text: part.piece }] }, append } }
    } else if ('ended' in part) {
      const { ended } = part
      const artifact = { ...artifactOf(ended, 0), artifactId: isBegun ? progress.artifactId : answerArtifact }
      yield { artifactUpdate: { ...of, artifact, append: false, lastChunk: true } }
      yield { statusUpdate: { ...of, status: taskStatus(of, { state: endState(ended), result: ended, at }) } }
    } else {
      const { items } = part.waiting
      yield { statusUpdate: { ...of, status: taskStatus(of, { state: waitState(items), items, at }) } }
    }
  }
}
