/**
 * The worker that all tabs of a browser share: one connection for all of them. A browser opens six connections to one
 * server at most, so that with one stream per tab the seventh would never load.
 *
 * - A tab that has gone is noticed by its lock, where there are locks, and by its last word.
 */
import { pageClock } from '../kit/clock.js'
import { Connection } from './connection.js'
import type { LinkMessage, LinkState } from './connection.js'
import { joined, noSubscription, watchedIn } from './subscription.js'
import type { Subscription } from './subscription.js'

export type ToLink =
  | { readonly kind: 'hello'; readonly base: string; readonly key: string; readonly beatMs: number }
  /** The tab holds it as long as it is there. */
  | { readonly kind: 'lock'; readonly lock: string }
  | { readonly kind: 'want'; readonly subscription: Subscription }
  | { readonly kind: 'bye' }

export type FromLink =
  | { readonly kind: 'state'; readonly state: LinkState }
  | { readonly kind: 'message'; readonly message: LinkMessage }

const tabs = new Map<MessagePort, Subscription>()
let connection: Connection | undefined
let state: LinkState = { phase: 'connecting' }

function tell(port: MessagePort, said: FromLink): void {
  port.postMessage(said)
}

function open(base: string): Connection {
  return new Connection({
    base,
    clock: pageClock,
    onState(next) {
      state = next
      for (const port of tabs.keys()) tell(port, { kind: 'state', state })
    },
    onMessage(message) {
      for (const port of tabs.keys()) tell(port, { kind: 'message', message })
    },
  })
}

function leave(port: MessagePort): void {
  if (tabs.delete(port)) connection?.want(joined(tabs.values()))
}

function onMessage(port: MessagePort, said: ToLink): void {
  if (said.kind === 'bye') return leave(port)
  if (said.kind === 'lock') return void navigator.locks.request(said.lock, () => leave(port))
  if (said.kind === 'want') {
    const before = tabs.get(port) ?? noSubscription
    tabs.set(port, said.subscription)
    // Who begins to look is told all of it, also where others look already.
    const isNew = watchedIn(before) !== watchedIn(said.subscription)
    return connection?.want(joined(tabs.values()), isNew)
  }
  connection ??= open(said.base)
  connection.beat(said.beatMs)
  connection.authorize(said.key)
  tabs.set(port, tabs.get(port) ?? noSubscription)
  tell(port, { kind: 'state', state })
}

addEventListener('connect', (event) => {
  const ports: readonly MessagePort[] = 'ports' in event && Array.isArray(event.ports) ? event.ports : []
  const [port] = ports
  if (!port) return
  port.addEventListener('message', ({ data }: MessageEvent<ToLink>) => onMessage(port, data))
  port.start()
})
