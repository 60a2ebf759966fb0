/**
 * Signals on plain NATS: nothing is kept, nothing is acknowledged. Listeners in this process hear each other
 * directly, those of other processes through the server. Owns the subscriptions.
 *
 * - A listener here hears what is published here at once and once, whether the server is there or not.
 * NG2 After a reconnect, once where servers form a cluster (they tell each other of a subscription a little later),
 *     and for a value that is too long for a message, listeners are told that they missed something; and every few
 *     seconds, since what is lost on the way from its publisher leaves no trace here. So nobody waits for ever for
 *     one signal.
 * - Whoever wants to know whether anyone listens is told by the server, which answers a message that nobody gets.
 */
import type { Msg, Subscription } from '@nats-io/transport-node'
import type { Json } from '../../../core/json.js'
import type { Signals } from '../../port.js'
import { createTopics, tell } from '../../topics.js'
import { after, every } from '../connection/timers.js'
import type { ServerConnection } from '../connection/connection.js'
import type { Subjects } from '../subjects.js'

interface Listening {
  readonly subscription: Subscription
  count: number
}

const clusterDelayMs = 500
/** How late the loss of a signal that nobody noticed may be healed. */
const lookAgainMs = 5_000
/** After this long someone heard it. */
const heardAfterMs = 2_000
const noResponders = 503

export function createSignals(connection: ServerConnection, subjects: Subjects, assertOpen: () => void): Signals {
  const topics = createTopics()
  const subscriptions = new Map<string, Listening>()
  const missing = new Map<() => void, string>()
  const missedOn = (topic?: string): void => {
    for (const [missed, on] of [...missing]) if (topic === undefined || on === topic) tell(missed)
  }
  connection.onReconnect(() => missedOn())
  const doubts = createDoubts(connection)

  function listen(topic: string): void {
    const there = subscriptions.get(topic)
    if (there) return void there.count++
    const subscription = connection.subscribe(subjects.signal(topic), (message) => {
      if (message.data.length === 0) return missedOn(topic)
      const value = parsed(message)
      if (value !== undefined) topics.publish(topic, value)
    })
    subscriptions.set(topic, { subscription, count: 1 })
  }

  function unlisten(topic: string): void {
    const there = subscriptions.get(topic)
    if (!there || --there.count > 0) return
    subscriptions.delete(topic)
    there.subscription.unsubscribe()
  }

  return {
    publish(topic, value, unheard) {
      assertOpen()
      const here = topics.heard(topic)
      topics.publish(topic, value)
      const text = JSON.stringify(value)
      const fits = Buffer.byteLength(text) < (connection.nc.info?.max_payload ?? Infinity)
      connection.nc.publish(
        subjects.signal(topic),
        fits ? text : '',
        unheard && !here ? { reply: doubts(unheard) } : {},
      )
    },
    subscribe(topic, heard, missed) {
      assertOpen()
      const stop = topics.subscribe(topic, heard)
      listen(topic)
      const late = missed && connection.nc.info?.cluster !== undefined ? after(clusterDelayMs, missed) : undefined
      // A wrapper of its own, so that the same function may listen twice.
      const told = missed && ((): void => missed())
      if (told) missing.set(told, topic)
      const stopLooking = told && every(lookAgainMs, () => tell(told))
      let stopped = false
      return () => {
        if (stopped) return
        stopped = true
        late?.()
        stopLooking?.()
        if (told) missing.delete(told)
        stop()
        unlisten(topic)
      }
    },
    // Who listens elsewhere is not known here.
    heard: () => true,
  }
}

/** Gives the address that the server answers to when nobody listens. */
function createDoubts(connection: ServerConnection): (unheard: () => void) => string {
  const inbox = connection.inbox()
  const waiting = new Map<string, () => void>()
  let [last, listening] = [0, false]
  return (unheard) => {
    if (!listening)
      connection.subscribe(
        `${inbox}.*`,
        ({ subject, headers }) => headers?.code === noResponders && waiting.get(subject)?.(),
      )
    listening = true
    const address = `${inbox}.${++last}`
    const forget = after(heardAfterMs, () => void waiting.delete(address))
    waiting.set(address, () => {
      forget()
      waiting.delete(address)
      tell(unheard)
    })
    return address
  }
}

/** Anything that is no JSON was not sent by us. */
function parsed(message: Msg): Json | undefined {
  try {
    return message.json<Json>()
  } catch {
    return undefined
  }
}
