/**
 * The tab's end of the connection: whether what is shown is true now, the server's time, and what came. In a shared
 * worker where the browser has one, else in the tab itself, which then pauses while it is hidden.
 *
 * LK1 The time that is shown stands still while the link is not live.
 */
import { computed, effect, signal } from '@preact/signals'
import { apiKey } from '../kit/api.js'
import { freshId, pageClock } from '../kit/clock.js'
import { serviceBase } from '../kit/router.js'
import { Connection } from './connection.js'
import type { LinkMessage, LinkState } from './connection.js'
import { noSubscription } from './subscription.js'
import type { Subscription, TreePosition } from './subscription.js'
import type { FromLink, ToLink } from './worker.js'
import workerUrl from './worker.js?sharedworker&url'

export const linkState = signal<LinkState>({ phase: 'connecting' })
export const isLive = computed(() => linkState.value.phase === 'live')
/** The server's time of the last message. */
export const asOf = signal<number | undefined>(undefined)
export const liveSince = signal<number | undefined>(undefined)

let offset = 0

/** LK1. */
export function serverNow(): number {
  return linkState.peek().phase === 'live' ? pageClock.now() + offset : (asOf.peek() ?? pageClock.now())
}

type Listener = (data: unknown) => void
const listeners = new Map<string, Set<Listener>>()

/** Returns what ends it. */
export function onLink(event: string, listener: Listener): () => void {
  const all = listeners.get(event) ?? new Set()
  all.add(listener)
  listeners.set(event, all)
  return () => void all.delete(listener)
}

function onMessage({ event, data }: LinkMessage): void {
  const { now }: { now?: number } = Object(data)
  if (now !== undefined) {
    offset = now - pageClock.now()
    asOf.value = now
  }
  for (const listener of listeners.get(event) ?? []) listener(data)
}

function onState(state: LinkState): void {
  if (state.phase === 'live' && linkState.peek().phase !== 'live') liveSince.value = serverNow()
  linkState.value = state
}

interface LinkEnd {
  want(subscription: Subscription): void
  authorize(key: string, beatMs: number): void
}

/** Trusted Types: the one script that is ever started by its address. */
interface ScriptPolicy {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): string }
}

function trusted(url: string): string {
  const { trustedTypes }: { trustedTypes?: ScriptPolicy } = Object(globalThis)
  if (!trustedTypes) return url
  const rules = {
    createScriptURL(asked: string) {
      if (asked === workerUrl) return asked
      throw new TypeError('the page starts one worker, and this is another one')
    },
  }
  return trustedTypes.createPolicy('skein-page', rules).createScriptURL(url)
}

function sharedEnd(): LinkEnd {
  const { port } = new SharedWorker(trusted(workerUrl), { type: 'module', name: 'skein' })
  const say = (said: ToLink): void => port.postMessage(said)
  port.addEventListener('message', ({ data }: MessageEvent<FromLink>) => {
    if (data.kind === 'state') onState(data.state)
    else onMessage(data.message)
  })
  port.start()
  const lock = freshId()
  // The worker may ask for it only when this tab has it: whoever gets it after that knows that the tab has gone.
  const hold = (): Promise<never> => {
    say({ kind: 'lock', lock })
    return new Promise<never>(() => undefined)
  }
  if ('locks' in navigator) void navigator.locks.request(lock, hold)
  addEventListener('pagehide', () => say({ kind: 'bye' }))
  let last: Subscription = noSubscription
  addEventListener('pageshow', ({ persisted }) => persisted && say({ kind: 'want', subscription: last }))
  return {
    want(subscription) {
      last = subscription
      say({ kind: 'want', subscription })
    },
    authorize: (key, beatMs) => say({ kind: 'hello', base: new URL(serviceBase, location.href).href, key, beatMs }),
  }
}

const hiddenMs = 30_000

function ownEnd(): LinkEnd {
  const base = new URL(serviceBase, location.href).href
  const connection = new Connection({ base, clock: pageClock, onState, onMessage })
  let cancel: (() => void) | undefined
  document.addEventListener('visibilitychange', () => {
    cancel?.()
    if (document.hidden) cancel = pageClock.after(hiddenMs, () => connection.pause())
    else connection.resume()
  })
  return {
    want: (subscription) => connection.want(subscription),
    authorize(key, beatMs) {
      connection.beat(beatMs)
      connection.authorize(key)
    },
  }
}

// ── what this tab looks at ──

const looked = signal<Subscription>({ ...noSubscription, roots: true, inbox: true })

/** Goes on from a state of the tree that this tab has read. */
export function followTree(root: string, position: TreePosition): void {
  const { trees } = looked.peek()
  looked.value = { ...looked.peek(), trees: { ...trees, [root]: position } }
}

export function leaveTree(root: string): void {
  const { [root]: _, ...trees } = looked.peek().trees
  looked.value = { ...looked.peek(), trees }
}

export function watchText(root: string, thread: string): () => void {
  const text = `${root}/${thread}`
  looked.value = { ...looked.peek(), texts: [...looked.peek().texts, text] }
  return () => {
    looked.value = { ...looked.peek(), texts: looked.peek().texts.filter((each) => each !== text) }
  }
}

export function startLink(beatMs: number): void {
  const end = typeof SharedWorker === 'undefined' ? ownEnd() : sharedEnd()
  effect(() => end.authorize(apiKey.value, beatMs))
  effect(() => end.want(looked.value))
}
