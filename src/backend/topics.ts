/**
 * Listeners of topics within one process: the signals of `memory`, and those of `local` and `nats` that do not leave
 * the process. Owns the lists of listeners; knows nothing of sockets or storage.
 *
 * - Listeners of a topic are called synchronously, in the order in which they subscribed, once for each value.
 * - A listener that throws harms neither the publisher nor the other listeners: its error is uncaught in the process.
 */
import type { Json } from '../core/json.js'

/** Calls a listener; an error that it throws is rethrown as uncaught, outside of our own work. */
export function tell(listener: () => void): void
export function tell<Value>(listener: (value: Value) => void, value: Value): void
export function tell(listener: (value?: unknown) => void, value?: unknown): void {
  try {
    listener(value)
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}

export interface Topics {
  /** `unheard` is called when nobody listens. */
  publish(topic: string, value: Json, unheard?: () => void): void
  subscribe(topic: string, listener: (value: Json) => void): () => void
  heard(topic: string): boolean
}

export function createTopics(): Topics {
  const topics = new Map<string, Set<(value: Json) => void>>()
  return {
    publish(topic, value, unheard) {
      const listeners = topics.get(topic)
      if (!listeners) return unheard?.()
      if (listeners.size > 1) return [...listeners].forEach((listener) => tell(listener, value))
      // The only one, and none that it subscribes meanwhile.
      for (const listener of listeners) return tell(listener, value)
    },
    subscribe(topic, listener) {
      // A wrapper of its own, so that the same function may listen twice and stop once.
      const own = (value: Json): void => listener(value)
      const listeners = topics.get(topic) ?? new Set()
      topics.set(topic, listeners.add(own))
      return () => {
        listeners.delete(own)
        if (listeners.size === 0 && topics.get(topic) === listeners) topics.delete(topic)
      }
    },
    heard: (topic) => topics.has(topic),
  }
}
