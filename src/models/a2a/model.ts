/**
 * A remote agent as a model: a turn of its thread is a message to the remote agent, and the answer is the reply. So it
 * is a child like any other: durable, cancelled, limited, and asked in parallel as children are.
 *
 * - The id of a message follows from the thread. Before anything is sent, the remote agent is asked whether it has the
 *   message: after a crash, and before a retry, its task goes on here. Nothing is sent twice to who keeps tasks.
 * - A turn that is no longer wanted cancels the task. A host that leaves does not: the next one goes on with it.
 * - A task that waits for input is an answer, and the next message goes to that task.
 */
import { createHash } from 'node:crypto'
import { systemClock } from '../../core/clock.js'
import { abandonReason } from '../../core/effect.js'
import { SkeinError, isSkeinError } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import type { Message } from '../../core/records/message.js'
import { noUsage } from '../../core/usage.js'
import type { Model, ModelCallOptions, ModelReply, ModelRequest } from '../port.js'
import { abortableSleep } from '../retry/abort.js'
import { RemoteAgent } from './remote-agent.js'
import type { RemoteAddress } from './remote-agent.js'
import { TaskFold, answerIn, listResult, sendResult, taskResult } from './remote-task.js'
import type { RemoteTask } from './remote-task.js'

export interface A2aModelOptions extends RemoteAddress {
  /** The name of the model; that of the agent is in what people read. */
  readonly model: string
  /** How long to wait before a task is asked for again, where it is not streamed. */
  readonly pollMs: number
}

export function createA2aModel(options: A2aModelOptions): Model {
  const agent = new RemoteAgent(options)
  return {
    name: options.model,
    async call(request, call) {
      const said = saidIn(options, request)
      const turn = new RemoteTurn(agent, options, said)
      try {
        return turn.reply(await turn.end(call))
      } catch (thrown) {
        if (isUnwanted(call.signal)) turn.cancel()
        throw thrown
      }
    },
  }
}

function isUnwanted({ aborted, reason }: AbortSignal): boolean {
  return aborted && isSkeinError(reason) && reason.message === abandonReason
}

interface Said {
  readonly text: string
  readonly messageId: string
  readonly contextId: string
  /** The task that waits for it. */
  readonly taskId?: string
}

/** What was said since the last answer, and where it goes. */
function saidIn({ name, model }: A2aModelOptions, { messages, thread }: ModelRequest): Said {
  const last = messages.findLastIndex(({ role }) => role === 'assistant')
  const fresh = messages.slice(last + 1).filter(({ role }) => role === 'user')
  const latest = fresh.at(-1)
  if (!latest) throw new SkeinError('MODEL_REJECTED', `there is nothing to say to the A2A agent ${name}`)
  const [first = latest] = messages
  const before = last === -1 ? undefined : waitingTask(model, messages[last])
  return {
    text: fresh.map(({ text }) => text).join('\n\n'),
    messageId: idOf(thread, latest),
    contextId: `skein-${idOf(thread, first)}`,
    ...(before !== undefined && { taskId: before }),
  }
}

/** Stable over crashes, and not the same in another store that has a thread of the same id. */
function idOf(thread: string, { id, at }: Message): string {
  return createHash('sha256')
    .update(JSON.stringify([thread, id, at]))
    .digest('hex')
    .slice(0, 32)
}

const interrupted: ReadonlySet<string> = new Set(['TASK_STATE_INPUT_REQUIRED', 'TASK_STATE_AUTH_REQUIRED'])
const lost: ReadonlySet<string> = new Set(['TASK_STATE_FAILED', 'TASK_STATE_REJECTED', 'TASK_STATE_CANCELED'])

function isOver({ status }: RemoteTask): boolean {
  const state = status?.state ?? ''
  return state === 'TASK_STATE_COMPLETED' || interrupted.has(state) || lost.has(state)
}

function waitingTask(model: string, message: Message | undefined): string | undefined {
  const kept = message?.kept
  if (kept?.origin !== model) return undefined
  const [meta] = kept.parts.flatMap((part) => ('meta' in part && isObject(part.meta) ? [part.meta] : []))
  const task = meta?.['waits']
  return typeof task === 'string' ? task : undefined
}

/** Codes of methods that an agent does not have. */
const notThere: ReadonlySet<unknown> = new Set([-32_601, -32_004])
const cancelWithinMs = 5_000
const longestPollMs = 15_000

class RemoteTurn {
  readonly #agent: RemoteAgent
  readonly #options: A2aModelOptions
  readonly #said: Said
  readonly #fold = new TaskFold()

  constructor(agent: RemoteAgent, options: A2aModelOptions, said: Said) {
    this.#agent = agent
    this.#options = options
    this.#said = said
  }

  /** The task when it is over; undefined: the agent answered without one. */
  async end(call: ModelCallOptions): Promise<RemoteTask | undefined> {
    const known = await this.#find(call.signal)
    if (known) this.#fold.take({ task: known })
    else await this.#send(call)
    return this.#fold.said === undefined ? this.#wait(call) : undefined
  }

  reply(task: RemoteTask | undefined): ModelReply {
    const words = task ? answerIn(task) : (this.#fold.said ?? '')
    const text = words === '' ? '(the agent gave no words)' : words
    const state = task?.status?.state ?? ''
    if (lost.has(state)) throw this.#ended(state, words)
    const waits = task && interrupted.has(state) ? { waits: task.id } : undefined
    return {
      text,
      calls: [],
      usage: noUsage,
      finish: 'stop',
      ...(waits && {
        kept: { origin: this.#options.model, parts: [{ type: 'text', length: text.length, meta: waits }] },
      }),
    }
  }

  #ended(state: string, text: string): SkeinError {
    const word = state.replace('TASK_STATE_', '').toLowerCase()
    const why = text === '' ? '' : `: ${text.slice(0, 500)}`
    return new SkeinError('MODEL_REJECTED', `the task at the A2A agent ${this.#options.name} has ${word}${why}`)
  }

  /** The task that has this message already. */
  async #find(signal: AbortSignal): Promise<RemoteTask | undefined> {
    const { contextId, messageId } = this.#said
    const params = { contextId, pageSize: 50, historyLength: 50, includeArtifacts: true }
    try {
      const { tasks } = await this.#agent.call(listResult, { method: 'ListTasks', params, signal })
      return tasks.find(({ history }) => history.some((message) => message.messageId === messageId))
    } catch (thrown) {
      if (isSkeinError(thrown) && notThere.has(thrown.data?.['code'])) return undefined
      throw thrown
    }
  }

  async #send(call: ModelCallOptions): Promise<void> {
    const { signal } = call
    const { text, ...ids } = this.#said
    const message = { ...ids, role: 'ROLE_USER', parts: [{ text }] }
    if (!(await this.#agent.streams(signal))) {
      const params = { message, configuration: { returnImmediately: true } }
      this.#fold.take(await this.#agent.call(sendResult, { method: 'SendMessage', params, signal }))
      return
    }
    const parts = this.#agent.stream({ method: 'SendStreamingMessage', params: { message }, signal })
    try {
      for await (const part of parts) {
        const words = this.#fold.take(part)
        call.heard?.()
        if (words !== '') call.emit({ type: 'text', text: words })
      }
    } catch (thrown) {
      signal.throwIfAborted()
      // A stream that broke off says nothing about the task.
      if (!this.#fold.task || isSkeinError(thrown)) throw thrown
    }
  }

  async #wait(call: ModelCallOptions): Promise<RemoteTask> {
    const { signal } = call
    let { pollMs } = this.#options
    for (;;) {
      const { task } = this.#fold
      if (!task)
        throw new SkeinError('MODEL_REJECTED', `the A2A agent ${this.#options.name} gave neither task nor message`)
      if (isOver(task)) return task
      await abortableSleep(pollMs, systemClock, signal)
      pollMs = Math.min(pollMs * 2, longestPollMs)
      const params = { id: task.id, historyLength: 0 }
      this.#fold.take({ task: await this.#agent.call(taskResult, { method: 'GetTask', params, signal }) })
      call.heard?.()
    }
  }

  /** As far as it can be done: nobody waits for it. */
  cancel(): void {
    const signal = AbortSignal.timeout(cancelWithinMs)
    const found = this.#fold.task ? Promise.resolve(this.#fold.task) : this.#find(signal)
    found
      .then((task) => task && this.#agent.call(taskResult, { method: 'CancelTask', params: { id: task.id }, signal }))
      .catch(() => undefined)
  }
}
