/**
 * Following a stream live, from the first message that a filter finds: the messages that exist, then new ones. Owns the
 * consumer on the server, which has no state that is needed after it is removed.
 *
 * NT1 Messages come in order, each once; after a break, a restart of the server or a gap it resumes after the last one.
 * - It never gives up by itself: until `stop` it waits for a server that is away.
 * - It does not wait for a message that is removed before it is delivered.
 */
import { nanos, nuid } from '@nats-io/transport-node'
import type { Msg, Subscription } from '@nats-io/transport-node'
import { AckPolicy, DeliverPolicy } from '@nats-io/jetstream'
import { steadyClock } from '../../../core/clock.js'
import { defined } from '../../../core/defined.js'
import { every, sleep } from './timers.js'
import type { ServerConnection } from './connection.js'
import { toMessage } from './read.js'
import type { StreamMessage } from './read.js'

export interface TailOptions {
  readonly stream: string
  readonly filter: string
  readonly each: (message: StreamMessage) => void
  /** Of the messages that exist, only the last one of each subject. */
  readonly last?: true
  /** Leave the payloads out. */
  readonly headersOnly?: true
}

const heartbeatMs = 2_000
/** Without a message or heartbeat for this long the consumer is taken for removed. */
const silenceMs = 3 * heartbeatMs
const unusedMs = 30_000
const retryMs = 200

export class StreamTail {
  readonly #connection: ServerConnection
  readonly #options: TailOptions
  readonly #stops: (() => void)[] = []
  #subscription: Subscription | undefined
  #consumer = ''
  #last = 0
  #delivered = 0
  #lastSignAt = 0
  #stopped = false
  #starting = false
  /** The consumer, also one that is being made, must be replaced. */
  #stale = false
  #caughtUp: () => void = () => undefined

  private constructor(connection: ServerConnection, options: TailOptions) {
    this.#connection = connection
    this.#options = options
  }

  /** Resolves when the messages that existed have been given. */
  static async open(connection: ServerConnection, options: TailOptions): Promise<StreamTail> {
    const tail = new StreamTail(connection, options)
    const caughtUp = new Promise<void>((resolve) => (tail.#caughtUp = resolve))
    tail.#stops.push(connection.onReconnect(() => tail.#restart()))
    tail.#stops.push(every(heartbeatMs, () => tail.#checkSilence()))
    try {
      await tail.#follow('once')
      await caughtUp
      return tail
    } catch (thrown) {
      tail.stop()
      throw thrown
    }
  }

  /** Sequence of the last message that was given. */
  get last(): number {
    return this.#last
  }

  stop(): void {
    this.#stopped = true
    for (const stop of this.#stops) stop()
    this.#drop()
    this.#caughtUp()
  }

  async #start(): Promise<void> {
    const { stream, filter, last, headersOnly } = this.#options
    const { jsm } = this.#connection
    const inbox = this.#connection.inbox()
    const name = nuid.next()
    this.#delivered = 0
    this.#lastSignAt = steadyClock.now()
    this.#consumer = name
    const subscription = this.#connection.subscribe(
      inbox,
      (message) => this.#consumer === name && this.#receive(message),
    )
    this.#subscription = subscription
    const info = await this.#connection.persist(`following ${filter}`, () =>
      jsm.consumers.add(stream, {
        name,
        deliver_subject: inbox,
        ack_policy: AckPolicy.None,
        mem_storage: true,
        num_replicas: 1,
        flow_control: true,
        idle_heartbeat: nanos(heartbeatMs),
        inactive_threshold: nanos(unusedMs),
        filter_subject: filter,
        ...(last && this.#last === 0
          ? { deliver_policy: DeliverPolicy.LastPerSubject }
          : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: this.#last + 1 }),
        ...defined({ headers_only: headersOnly }),
      }),
    )
    if (info.num_pending === 0 && this.#delivered === 0) this.#caughtUp()
  }

  #receive(message: Msg): void {
    this.#lastSignAt = steadyClock.now()
    const stored = toMessage(message)
    if (!stored) return this.#status(message)
    if (stored.delivered !== this.#delivered + 1) return this.#restart()
    this.#delivered = stored.delivered
    this.#last = stored.seq
    this.#options.each(stored)
    if (stored.pending === 0) this.#caughtUp()
  }

  #status({ reply, headers }: Msg): void {
    // Flow control: the server continues when this is answered.
    const stalled = headers?.get('Nats-Consumer-Stalled')
    if (reply) this.#connection.nc.publish(reply)
    else if (stalled) this.#connection.nc.publish(stalled)
    const last = headers?.get('Nats-Last-Consumer')
    if (Number(last || 0) > this.#delivered) this.#restart()
    // Messages that were pending at the start may have been removed: an idle heartbeat means that none is left.
    else if (last && !stalled) this.#caughtUp()
  }

  #checkSilence(): void {
    if (steadyClock.now() - this.#lastSignAt > silenceMs) this.#restart()
  }

  #restart(): void {
    this.#stale = true
    if (!this.#stopped && !this.#starting) void this.#follow('for ever')
  }

  async #follow(tries: 'once' | 'for ever'): Promise<void> {
    this.#starting = true
    try {
      do {
        this.#stale = false
        this.#drop()
        try {
          await this.#start()
        } catch (thrown) {
          // The server is away, and `persist` has retried for long already.
          if (tries === 'once') throw thrown
          this.#stale = true
          await sleep(retryMs)
        }
      } while (this.#stale && !this.#stopped)
    } finally {
      this.#starting = false
    }
  }

  #drop(): void {
    this.#subscription?.unsubscribe()
    const name = this.#consumer
    this.#consumer = ''
    if (name)
      void this.#connection
        .ask(() => this.#connection.jsm.consumers.delete(this.#options.stream, name))
        .catch(() => undefined)
  }
}
