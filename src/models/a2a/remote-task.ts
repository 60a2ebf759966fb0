/**
 * A task of a remote agent as A2A 1.0 has it, checked as far as it is read, and folded from the parts of a stream. A
 * remote agent is someone else's program: what is not understood is left out.
 */
import { z } from 'zod'

const part = z.looseObject({ text: z.string().optional(), data: z.unknown().optional() })
const parts = z.array(part).default([])
const message = z.looseObject({ messageId: z.string().default(''), parts })
const status = z.looseObject({ state: z.string(), message: message.nullish() })
const artifact = z.looseObject({ artifactId: z.string().default(''), parts })

const task = z.looseObject({
  id: z.string().min(1),
  contextId: z.string().default(''),
  status: status.nullish(),
  artifacts: z.array(artifact).default([]),
  history: z.array(message).default([]),
})

export type RemoteTask = z.output<typeof task>

export const taskResult = task
export const listResult = z.looseObject({ tasks: z.array(task).default([]) })
export const sendResult = z.looseObject({ task: task.optional(), message: message.optional() })
export const streamResult = z.looseObject({
  task: task.optional(),
  message: message.optional(),
  statusUpdate: z.looseObject({ taskId: z.string().default(''), status }).optional(),
  artifactUpdate: z.looseObject({ artifact, append: z.boolean().default(false) }).optional(),
})

export type StreamResult = z.output<typeof streamResult>

export const cardSchema = z.looseObject({
  supportedInterfaces: z
    .array(z.looseObject({ url: z.string(), protocolBinding: z.string(), protocolVersion: z.string().default('') }))
    .default([]),
  capabilities: z.looseObject({ streaming: z.boolean().optional() }).nullish(),
})

type Parts = z.output<typeof parts>

/** Agents that stream add a part for each piece, so parts follow one another without a break. */
function wordsIn(given: Parts): string {
  return given
    .flatMap(({ text, data }) => (text === undefined && data !== undefined ? [JSON.stringify(data)] : [text ?? '']))
    .join('')
}

/** What a stream has told so far. A message in place of a task is the whole answer. */
export class TaskFold {
  #task: RemoteTask | undefined
  #said: string | undefined

  get task(): RemoteTask | undefined {
    return this.#task
  }

  /** The answer of an agent that makes no task of it. */
  get said(): string | undefined {
    return this.#said
  }

  /** Returns the words that it adds to the answer. */
  take({ task: whole, message: said, statusUpdate, artifactUpdate }: StreamResult): string {
    if (whole) this.#task = whole
    if (said) this.#said = wordsIn(said.parts)
    const known = this.#task
    if (known && statusUpdate) this.#task = { ...known, status: statusUpdate.status }
    if (!known || !artifactUpdate) return ''
    const { artifact: piece, append } = artifactUpdate
    const before = known.artifacts.find(({ artifactId }) => artifactId === piece.artifactId)
    const merged = before && append ? { ...before, parts: [...before.parts, ...piece.parts] } : piece
    const others = known.artifacts.filter(({ artifactId }) => artifactId !== piece.artifactId)
    this.#task = { ...known, artifacts: [...others, merged] }
    return append || !before ? wordsIn(piece.parts) : ''
  }
}

/** Its answer: what it made, else what it says of its state. */
export function answerIn({ artifacts, status: now }: RemoteTask): string {
  const made = artifacts.map((each) => wordsIn(each.parts)).filter((text) => text !== '')
  return made.length > 0 ? made.join('\n\n') : wordsIn(now?.message?.parts ?? [])
}
