/**
 * Requests to JetStream and their answers, over one subscription. The client's own `request` makes an error and three
 * promises for every request that succeeds, which is a tenth of the work of a busy host. Owns the open requests.
 *
 * - A request ends once: with its answer or the last of its answers, when nobody answers the subject, when this user
 *   lacks the permission, or at its deadline.
 */
import { errors } from '@nats-io/transport-node'
import type { Msg, MsgHdrs, NatsConnection, PermissionViolationError } from '@nats-io/transport-node'
import { JetStreamApiError } from '@nats-io/jetstream'
import { z } from 'zod'
import { defined } from '../../../core/defined.js'
import { after } from './timers.js'

export interface PendingRequest {
  readonly subject: string
  readonly payload: Uint8Array | string
  readonly headers?: MsgHdrs
  readonly timeoutMs: number
}

/** Whether the request has its answer, or waits for more messages. */
export type TakeAnswer = (message: Msg) => 'ended' | 'more'

interface OpenRequest {
  readonly subject: string
  take(message: Msg): void
  reject(error: Error): void
}

const errorSchema = z.object({ code: z.number(), err_code: z.number(), description: z.string() })
const answerSchema = z.looseObject({ error: errorSchema.optional(), seq: z.number().optional() })
/** The status with which the server says that nobody answers a subject. */
const noResponders = 503

export class Requests {
  readonly #nc: NatsConnection
  readonly #inbox: string
  readonly #open = new Map<string, OpenRequest>()
  #count = 0

  /** `inbox`: a subject that nobody else listens to. */
  constructor(nc: NatsConnection, inbox: string) {
    this.#nc = nc
    this.#inbox = inbox
    nc.subscribe(`${this.#inbox}.*`, {
      callback: (failed, message) => (failed ? this.#failAll(failed) : this.#receive(message)),
    })
  }

  /** The answer of the server; its refusal is thrown as a JetStreamApiError. */
  async ask(request: PendingRequest): Promise<z.infer<typeof answerSchema>> {
    let text = ''
    await this.read(request, (message) => {
      text = message.string()
      return 'ended'
    })
    const given: unknown = JSON.parse(text)
    if (isWritten(given)) return given
    const answer = answerSchema.parse(given)
    if (answer.error) throw new JetStreamApiError(answer.error)
    return answer
  }

  /** The server said that this user may not publish to a subject. */
  forbid(violation: PermissionViolationError): void {
    for (const request of [...this.#open.values()]) if (request.subject === violation.subject) request.reject(violation)
  }

  /** Gives every answer to `take` until that says that it was the last one. */
  read({ subject, payload, headers, timeoutMs }: PendingRequest, take: TakeAnswer): Promise<void> {
    return new Promise((resolve, reject) => {
      const token = (this.#count++).toString(36)
      let hasMore = false
      const end = (): void => {
        this.#open.delete(token)
        cancel()
      }
      const request: OpenRequest = {
        subject,
        take(message) {
          if (take(message) === 'more') return void (hasMore = true)
          end()
          resolve()
        },
        reject(error) {
          end()
          reject(error)
        },
      }
      // As long as answers come, it is waited for the next one.
      const late = (): void => {
        if (!hasMore) return request.reject(new errors.TimeoutError())
        hasMore = false
        cancel = after(timeoutMs, late)
      }
      let cancel = after(timeoutMs, late)
      this.#open.set(token, request)
      try {
        this.#nc.publish(subject, payload, { reply: `${this.#inbox}.${token}`, ...defined({ headers }) })
      } catch (thrown) {
        end()
        throw thrown
      }
    })
  }

  #receive(message: Msg): void {
    const request = this.#open.get(message.subject.slice(this.#inbox.length + 1))
    if (message.data.length === 0 && message.headers?.code === noResponders)
      request?.reject(new errors.NoRespondersError(request.subject))
    else request?.take(message)
  }

  #failAll(error: Error): void {
    for (const request of [...this.#open.values()]) request.reject(error)
  }
}

/** The answer to almost every request: the schema is for the others. */
function isWritten(answer: unknown): answer is { seq: number } {
  return (
    typeof answer === 'object' &&
    answer !== null &&
    'seq' in answer &&
    typeof answer.seq === 'number' &&
    !('error' in answer)
  )
}
