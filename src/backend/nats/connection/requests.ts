/**
 * Requests to JetStream and their answers, over one subscription. The client has its own way, which makes an error
 * and three promises for every request that succeeds: a tenth of what a host at work does. Owns the requests that are
 * open.
 *
 * - A request ends once: with its answer, when nobody is there to answer, when this user may not ask, or when its
 *   time is over.
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

interface Asked {
  readonly subject: string
  answer(text: string): void
  fail(why: Error): void
}

const errorSchema = z.object({ code: z.number(), err_code: z.number(), description: z.string() })
const answerSchema = z.looseObject({ error: errorSchema.optional(), seq: z.number().optional() })
/** Nobody is there to answer. */
const noResponders = 503

export class Requests {
  readonly #nc: NatsConnection
  readonly #inbox: string
  readonly #open = new Map<string, Asked>()
  #asked = 0

  /** `inbox`: a subject that nobody else listens to. */
  constructor(nc: NatsConnection, inbox: string) {
    this.#nc = nc
    this.#inbox = inbox
    nc.subscribe(`${this.#inbox}.*`, {
      callback: (failed, message) => (failed ? this.#failAll(failed) : this.#hear(message)),
    })
  }

  /** What the server says; its refusal is a JetStreamApiError. */
  async ask(question: PendingRequest): Promise<z.infer<typeof answerSchema>> {
    const answer = answerSchema.parse(JSON.parse(await this.#ask(question)))
    if (answer.error) throw new JetStreamApiError(answer.error)
    return answer
  }

  /** The server told that this user may not publish to a subject. */
  forbid(why: PermissionViolationError): void {
    for (const asked of [...this.#open.values()]) if (asked.subject === why.subject) asked.fail(why)
  }

  #ask({ subject, payload, headers, timeoutMs }: PendingRequest): Promise<string> {
    return new Promise((resolve, reject) => {
      const token = (this.#asked++).toString(36)
      const end = (): void => {
        this.#open.delete(token)
        cancel()
      }
      const asked: Asked = {
        subject,
        answer: (text) => (end(), resolve(text)),
        fail: (why) => (end(), reject(why)),
      }
      const cancel = after(timeoutMs, () => asked.fail(new errors.TimeoutError()))
      this.#open.set(token, asked)
      try {
        this.#nc.publish(subject, payload, { reply: `${this.#inbox}.${token}`, ...defined({ headers }) })
      } catch (thrown) {
        end()
        throw thrown
      }
    })
  }

  #hear(message: Msg): void {
    const asked = this.#open.get(message.subject.slice(this.#inbox.length + 1))
    if (message.data.length === 0 && message.headers?.code === noResponders)
      asked?.fail(new errors.NoRespondersError(asked.subject))
    else asked?.answer(message.string())
  }

  #failAll(why: Error): void {
    for (const asked of [...this.#open.values()]) asked.fail(why)
  }
}
