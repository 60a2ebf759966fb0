/**
 * Signals on plain NATS: nothing is stored, nothing is acknowledged. Listeners in this process are called directly,
 * those of other processes through the server. Owns the subscriptions.
 *
 * - A listener here hears what is published here at once and once, whether the server is there or not.
 * NG2 Listeners are told that they may have missed signals: after a reconnect; once where servers form a cluster, since
 *     these learn of a subscription a little later; for a value that is too long for a message; and every few seconds,
 *     since a signal that its publisher lost leaves no trace here. So nobody waits for ever for one signal.
 * - What nobody hears is not sent (NG3 in interest.ts). Who must know that nobody listens asks the server, which
 *   answers a message that has no receiver.
 */
import type { Msg, Subscription } from '@nats-io/transport-node'
import type { Json } from '../../../core/json.js'
import type { Signals } from '../../port.js'
import { createTopics, tell } from '../../topics.js'
import { after, every } from '../connection/timers.js'
import type { ServerConnection } from '../connection/connection.js'
import type { Subjects } from '../subjects.js'
import type { Interest } from './interest.js'

/** Within this the servers of a cluster know of each other's subscriptions. */
const clusterDelayMs = 500
/** How long the loss of a signal may go unnoticed. */
const lookAgainMs = 5_000
/** The server has said by then that nobody listens. */
const heardAfterMs = 2_000
const noResponders = 503

export interface SignalServices {
  readonly connection: ServerConnection
  readonly subjects: Subjects
  readonly assertOpen: () => void
  readonly interest: Interest
}

export function createSignals({ connection, subjects, assertOpen, interest }: SignalServices): Signals {
  const topics = createTopics()
  const missed = new MissedListeners(connection)
  const replyWhenUnheard = createUnheardReplies(connection)
  const subscriptions = createSubscriptions(interest, (topic) =>
    connection.subscribe(subjects.signal(topic), (message) => {
      if (message.data.length === 0) return missed.tell(topic)
      const value = parseSignal(message)
      if (value !== undefined) topics.publish(topic, value)
    }),
  )
  return {
    publish(topic, value, unheard) {
      assertOpen()
      const heardHere = topics.heard(topic)
      topics.publish(topic, value)
      if (!unheard && !interest.heard(topic)) return
      const text = JSON.stringify(value)
      const fits = Buffer.byteLength(text) < (connection.nc.info?.max_payload ?? Infinity)
      const options = unheard && !heardHere ? { reply: replyWhenUnheard(unheard) } : {}
      connection.nc.publish(subjects.signal(topic), fits ? text : '', options)
    },
    subscribe(topic, listener, onMissed) {
      assertOpen()
      const stop = topics.subscribe(topic, listener)
      subscriptions.add(topic)
      const stopMissed = onMissed && missed.add(topic, onMissed)
      let stopped = false
      return () => {
        if (stopped) return
        stopped = true
        stopMissed?.()
        stop()
        subscriptions.remove(topic)
      }
    },
    heard: (topic) => topics.heard(topic) || interest.heard(topic),
  }
}

/** One subscription per topic, however many listeners it has here. */
function createSubscriptions(interest: Interest, subscribe: (topic: string) => Subscription) {
  const open = new Map<string, { readonly subscription: Subscription; listeners: number }>()
  return {
    add(topic: string): void {
      const existing = open.get(topic)
      if (existing) return void existing.listeners++
      open.set(topic, { subscription: subscribe(topic), listeners: 1 })
      interest.began(topic) // NG3: after the subscription, and before anything that is sent because of it
    },
    remove(topic: string): void {
      const existing = open.get(topic)
      if (!existing || --existing.listeners > 0) return
      open.delete(topic)
      existing.subscription.unsubscribe()
      interest.ended(topic)
    },
  }
}

/** Those who want to know that they may have missed a signal (NG2). */
class MissedListeners {
  readonly #connection: ServerConnection
  readonly #listeners = new Map<() => void, string>()

  constructor(connection: ServerConnection) {
    this.#connection = connection
    connection.onReconnect(() => this.tell())
  }

  /** Of one topic, or of all. */
  tell(topic?: string): void {
    for (const [listener, on] of [...this.#listeners]) if (topic === undefined || on === topic) tell(listener)
  }

  add(topic: string, missed: () => void): () => void {
    // A wrapper of its own, so that the same function may listen twice.
    const listener = (): void => missed()
    this.#listeners.set(listener, topic)
    const clustered = this.#connection.nc.info?.cluster !== undefined
    const cancelLate = clustered ? after(clusterDelayMs, missed) : undefined
    const stopRepeating = every(lookAgainMs, () => tell(listener))
    return () => {
      cancelLate?.()
      stopRepeating()
      this.#listeners.delete(listener)
    }
  }
}

/** Gives an address to which the server answers when nobody listens. */
function createUnheardReplies(connection: ServerConnection): (unheard: () => void) => string {
  const inbox = connection.inbox()
  const waiting = new Map<string, () => void>()
  let [last, listening] = [0, false]
  const listen = (): void => {
    listening = true
    connection.subscribe(`${inbox}.*`, ({ subject, headers }) => {
      if (headers?.code === noResponders) waiting.get(subject)?.()
    })
  }
  return (unheard) => {
    if (!listening) listen()
    const address = `${inbox}.${++last}`
    const cancelForget = after(heardAfterMs, () => void waiting.delete(address))
    waiting.set(address, () => {
      cancelForget()
      waiting.delete(address)
      tell(unheard)
    })
    return address
  }
}

/** Undefined for what is no JSON: it was not sent by us. */
function parseSignal(message: Msg): Json | undefined {
  try {
    return message.json<Json>()
  } catch {
    return undefined
  }
}
