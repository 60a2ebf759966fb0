/** A remote agent on the official server of A2A: it answers, waits, asks back or fails as it is told. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AgentCard, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server'
import { UserBuilder, agentCardHandler, jsonRpcHandler } from '@a2a-js/sdk/server/express'
import express from 'express'
import { deferred } from './deferred.js'

export interface RemoteOptions {
  readonly streaming?: boolean
  /** What its card says of where it is. */
  readonly cardUrl?: string
  readonly key?: string
}

export async function startA2aAgent({ streaming = true, cardUrl, key }: RemoteOptions = {}) {
  const heard: string[] = []
  const canceled: string[] = []
  const [begun, go, stopped] = [deferred(), deferred(), deferred()]
  const executor: AgentExecutor = {
    async execute(request, bus) {
      const text = textOf(request)
      heard.push(text)
      publishTask(bus, request)
      if (text === 'slow') {
        begun.resolve()
        await go.promise
      }
      answer(text, request, bus)
      bus.finished()
    },
    async cancelTask(taskId, bus) {
      canceled.push(taskId)
      stopped.resolve()
      const status = { state: 'TASK_STATE_CANCELED' }
      bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId: '', status })))
      bus.finished()
    },
  }
  const app = express()
  const server = createServer(app)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const card = AgentCard.fromJSON({
    name: 'remote',
    description: 'Answers',
    version: '1',
    supportedInterfaces: [{ url: cardUrl ?? `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming },
  })
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
  app.use((request, response, next) => {
    if (key === undefined || request.headers.authorization === `Bearer ${key}`) next()
    else response.status(401).end()
  })
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  return {
    url,
    heard,
    canceled,
    begun,
    go,
    /** A task was cancelled. */
    stopped,
    async close() {
      if (!server.listening) return
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function textOf({ userMessage: { parts } }: RequestContext): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
}

function answer(text: string, request: RequestContext, bus: ExecutionEventBus): void {
  if (text === 'ask') return tell(bus, request, { state: 'TASK_STATE_INPUT_REQUIRED', text: 'Which town?' })
  if (text === 'fail') return tell(bus, request, { state: 'TASK_STATE_FAILED', text: 'the sky fell' })
  const said = request.task && text !== 'slow' ? `in ${text} it rains` : `you said ${text}`
  const { taskId, contextId } = request
  for (const [index, piece] of [said.slice(0, 4), said.slice(4)].entries()) {
    const artifact = { artifactId: 'answer', parts: [{ text: piece }] }
    bus.publish(
      AgentEvent.artifactUpdate(
        TaskArtifactUpdateEvent.fromJSON({ taskId, contextId, artifact, append: index > 0, lastChunk: index > 0 }),
      ),
    )
  }
  tell(bus, request, { state: 'TASK_STATE_COMPLETED' })
}

/** What a stream begins with. */
function publishTask(bus: ExecutionEventBus, { taskId, contextId, userMessage, task }: RequestContext): void {
  const begun = Task.fromJSON({ id: taskId, contextId, status: { state: 'TASK_STATE_WORKING' } })
  bus.publish(AgentEvent.task({ ...begun, history: [...(task?.history ?? []), userMessage] }))
}

interface Status {
  readonly state: string
  readonly text?: string
}

function tell(bus: ExecutionEventBus, { taskId, contextId }: RequestContext, { state, text }: Status): void {
  const message = { messageId: `${taskId}-${state}`, role: 'ROLE_AGENT', parts: [{ text }] }
  const status = { state, ...(text !== undefined && { message }), timestamp: new Date().toISOString() }
  bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON({ taskId, contextId, status })))
}
