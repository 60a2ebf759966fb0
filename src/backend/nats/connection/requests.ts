/**
 * Requests to JetStream and their answers, over one subscription. The client's own `request` makes an error, a timer
 * and three promises for every request that succeeds, which is a tenth of the work of a busy host. Owns the open
 * requests, and one timer for all of them.
 *
 * - A request ends once: with its answer or the last of its answers, when nobody answers the subject, when this user
 *   lacks the permission, when the connection breaks, or at its deadline.
 */
import { errors } from '@nats-io/transport-node'
import type { Msg, NatsConnection, PermissionViolationError } from '@nats-io/transport-node'
import { JetStreamApiError } from '@nats-io/jetstream'
import { z } from 'zod'
import { steadyClock } from '../../../core/clock.js'
import { asHeaders } from './encoding.js'
import { after } from './timers.js'

export interface PendingRequest {
  readonly subject: string
  readonly payload: Uint8Array | string
  /** As they are sent (encoding.ts). */
  readonly headers?: Uint8Array | undefined
  /** Default, and at most: a request whose answer is lost is repeated the sooner. */
  readonly timeoutMs?: number | undefined
}

/** Whether the request has its answer, or waits for more messages. */
export type TakeAnswer = (message: Msg) => 'ended' | 'more'

interface OpenRequest {
  readonly subject: string
  readonly timeoutMs: number
  readonly take: TakeAnswer
  readonly reject: (error: unknown) => void
  /** On the monotonic clock. */
  until: number
  /** An answer came since `until` was set, and another one is to come. */
  hasMore: boolean
}

interface Answer {
  readonly seq?: number | undefined
}

const errorSchema = z.object({ code: z.number(), err_code: z.number(), description: z.string() })
const answerSchema = z.looseObject({ error: errorSchema.optional(), seq: z.number().optional() })
/** The status with which the server says that nobody answers a subject. */
const noResponders = 503
const mostMs = 5_000

export class Requests {
  readonly #nc: NatsConnection
  readonly #inbox: string
  readonly #open = new Map<string, OpenRequest>()
  #count = 0
  /** When deadlines are looked at next. */
  #lookAt = Infinity
  #cancelLook: () => void = () => undefined

  /** `inbox`: a subject that nobody else listens to. */
  constructor(nc: NatsConnection, inbox: string) {
    this.#nc = nc
    this.#inbox = inbox
    nc.subscribe(`${this.#inbox}.*`, {
      callback: (failed, message) => (failed ? this.failAll(failed) : this.#receive(message)),
    })
  }

  /** The answer of the server; its refusal is thrown as a JetStreamApiError. */
  ask(request: PendingRequest): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const take = (message: Msg): 'ended' => {
        resolve(answerIn(message))
        return 'ended'
      }
      this.#send(request, take, reject)
    })
  }

  /** Gives every answer to `take` until that says that it was the last one. */
  read(request: PendingRequest, take: TakeAnswer): Promise<void> {
    return new Promise((resolve, reject) => {
      const takeOne = (message: Msg): 'ended' | 'more' => {
        const taken = take(message)
        if (taken === 'ended') resolve()
        return taken
      }
      this.#send(request, takeOne, reject)
    })
  }

  /** The server said that this user may not publish to a subject. */
  forbid(violation: PermissionViolationError): void {
    for (const [token, { subject }] of [...this.#open]) if (subject === violation.subject) this.#fail(token, violation)
  }

  failAll(error: Error): void {
    for (const token of [...this.#open.keys()]) this.#fail(token, error)
  }

  close(error: Error): void {
    this.failAll(error)
    this.#cancelLook()
  }

  #send(request: PendingRequest, take: TakeAnswer, reject: (error: unknown) => void): void {
    const { subject, payload, headers, timeoutMs = mostMs } = request
    const token = (this.#count++).toString(36)
    const capped = Math.min(timeoutMs, mostMs)
    const until = steadyClock.now() + capped
    this.#open.set(token, { subject, timeoutMs: capped, take, reject, until, hasMore: false })
    if (until < this.#lookAt) this.#lookLater(until, capped)
    const reply = `${this.#inbox}.${token}`
    try {
      this.#nc.publish(subject, payload, headers ? { reply, headers: asHeaders(headers) } : { reply })
    } catch (thrown) {
      this.#fail(token, thrown)
    }
  }

  #receive(message: Msg): void {
    const token = message.subject.slice(this.#inbox.length + 1)
    const request = this.#open.get(token)
    if (!request) return
    if (message.data.length === 0 && message.headers?.code === noResponders)
      return this.#fail(token, new errors.NoRespondersError(request.subject))
    try {
      if (request.take(message) === 'ended') this.#open.delete(token)
      else request.hasMore = true
    } catch (thrown) {
      this.#fail(token, thrown)
    }
  }

  #fail(token: string, error: unknown): void {
    const request = this.#open.get(token)
    this.#open.delete(token)
    request?.reject(error)
  }

  /** One timer for the earliest deadline: almost no request reaches its own. */
  #lookLater(at: number, delayMs: number): void {
    this.#cancelLook()
    this.#lookAt = at
    this.#cancelLook = after(delayMs, () => this.#look())
  }

  #look(): void {
    const now = steadyClock.now()
    let next = Infinity
    for (const [token, request] of [...this.#open]) {
      // As long as answers come, it is waited for the next one.
      if (request.until <= now && request.hasMore) {
        request.until = now + request.timeoutMs
        request.hasMore = false
      }
      if (request.until <= now) this.#fail(token, new errors.TimeoutError())
      else next = Math.min(next, request.until)
    }
    this.#lookAt = Infinity
    if (next < Infinity) this.#lookLater(next, next - now)
  }
}

function answerIn(message: Msg): Answer {
  const seq = writtenSeq(message.data)
  if (seq !== undefined) return { seq }
  const given: unknown = JSON.parse(message.string())
  if (isDone(given)) return {}
  const answer = answerSchema.parse(given)
  if (answer.error) throw new JetStreamApiError(answer.error)
  return answer
}

const ackStart = Buffer.from('{"stream":"')
/** Of newer and older servers. */
const ackMiddles = [Buffer.from('","seq":'), Buffer.from('", "seq":')] as const
const [quote, zero, nine, brace] = [0x22, 0x30, 0x39, 0x7d]

/** Of `{"stream":"…","seq":n}`, the answer to almost every request; undefined for any other text. */
export function writtenSeq(data: Uint8Array): number | undefined {
  if (!isAt(data, 0, ackStart)) return undefined
  const nameEnd = data.indexOf(quote, ackStart.length)
  const [newer, older] = ackMiddles
  if (isAt(data, nameEnd, newer)) return lastNumber(data, nameEnd + newer.length)
  return isAt(data, nameEnd, older) ? lastNumber(data, nameEnd + older.length) : undefined
}

function isAt(data: Uint8Array, start: number, part: Uint8Array): boolean {
  for (let index = 0; index < part.length; index++) if (data[start + index] !== part[index]) return false
  return true
}

/** Digits and the brace that ends the text. */
function lastNumber(data: Uint8Array, start: number): number | undefined {
  let number = 0
  let at = start
  for (let digit = data[at] ?? 0; digit >= zero && digit <= nine; digit = data[++at] ?? 0)
    number = number * 10 + (digit - zero)
  return at > start && at === data.length - 1 && data[at] === brace ? number : undefined
}

/** The answer to a removal. */
function isDone(answer: unknown): boolean {
  return (
    typeof answer === 'object' &&
    answer !== null &&
    'success' in answer &&
    answer.success === true &&
    !('error' in answer)
  )
}
