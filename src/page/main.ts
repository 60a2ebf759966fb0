/** The page: header, screens by address, what is said to those who do not see it. Starts everything else. */
import { render } from 'preact'
import { h } from './kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { effect } from '@preact/signals'
import { apiKey, needsKey, toPageProblem, useKey } from './kit/api.js'
import { pageClock } from './kit/clock.js'
import { timeOfDay } from './kit/format.js'
import { leaveField, startKeys, useKeys } from './kit/keys.js'
import { address, goTo, hrefOf, startRouter } from './kit/router.js'
import { isOutdated, readSession } from './kit/session.js'
import { changeTheme, startTheme, theme } from './kit/theme.js'
import { Loading, Problem, announcement, startSeconds } from './kit/ui.js'
import { asOf, isLive, linkState, liveSince, serverNow, startLink } from './link/link.js'
import { isHelpOpen } from './kit/help-open.js'
import { TreesScreen } from './screens/trees.js'
import { startFlush } from './store/flush.js'
import { digestOf, epochOf, inboxItems, startStores, useTree } from './store/stores.js'

/** Screens that are not seen first are loaded when they are. */
const lazy = {
  inbox: async () => (await import('./screens/inbox.js')).InboxScreen,
  effects: async () => (await import('./screens/effects.js')).EffectsScreen,
  hosts: async () => (await import('./screens/hosts.js')).HostsScreen,
  agents: async () => (await import('./screens/agents.js')).AgentsScreen,
  compare: async () => (await import('./screens/compare.js')).CompareScreen,
  tree: async () => (await import('./tree/tree-screen.js')).TreeScreen,
  help: async () => (await import('./screens/help.js')).Help,
  thread: async () => (await import('./thread/thread-screen.js')).ThreadScreen,
}

type LoadedScreen = (props: { thread: string }) => VNode | null
const loadedScreens = new Map<string, LoadedScreen>()

function LazyScreen({ name, thread = '' }: { name: keyof typeof lazy; thread?: string }): VNode {
  const [screen, setScreen] = useState(() => loadedScreens.get(name))
  const [failure, setFailure] = useState<unknown>()
  useLayoutEffect(() => {
    lazy[name]()
      .then((loaded) => {
        loadedScreens.set(name, loaded)
        setScreen(() => loaded)
      })
      .catch(setFailure)
  }, [name])
  if (failure !== undefined)
    return h(
      'main',
      { id: 'main', class: 'screen' },
      h(Problem, {
        problem: {
          ...toPageProblem(failure),
          detail: 'this part of the page could not be loaded; load the page again',
        },
      }),
    )
  return screen ? h(screen, { thread }) : h('main', { id: 'main', class: 'screen' }, h(Loading, { what: 'the page' }))
}

function Screen(): VNode {
  const [name = 'trees', id] = address.value.parts
  if (needsKey.value) return h(KeyForm, {})
  if (name === 'trees')
    return id === undefined ? h(TreesScreen, {}) : h(LazyScreen, { name: 'tree', thread: id, key: id })
  if (name === 'threads' && id !== undefined) return h(LazyScreen, { name: 'thread', thread: id, key: id })
  if (name === 'inbox' || name === 'effects' || name === 'hosts' || name === 'agents' || name === 'compare')
    return h(LazyScreen, { name, key: name })
  const problem = { status: 404, code: 'NOT_FOUND', detail: 'the page has no such place' }
  return h(
    'main',
    { id: 'main', class: 'screen' },
    h('div', { class: 'bar' }, h('h1', null, 'No such place')),
    h(Problem, { problem }),
    h('p', { class: 'padded' }, h('a', { href: hrefOf(['trees']) }, 'All trees')),
  )
}

function KeyForm(): VNode {
  const [key, setKey] = useState('')
  return h(
    'main',
    { id: 'main', class: 'screen' },
    h(
      'form',
      {
        class: 'answer key-form',
        onSubmit: (event: Event) => {
          event.preventDefault()
          useKey(key)
          location.reload()
        },
      },
      h('h1', null, 'This server needs a key'),
      // One was sent, and this form is here nevertheless.
      apiKey.value === ''
        ? null
        : h('p', { class: 'error-line', role: 'alert' }, 'This server does not know that key. Enter another one.'),
      h(
        'label',
        null,
        'Key',
        h('input', {
          type: 'password',
          autoComplete: 'off',
          value: key,
          onInput: (event: Event) => event.target instanceof HTMLInputElement && setKey(event.target.value),
        }),
      ),
      h('p', { class: 'muted' }, 'It is kept in this tab until it is closed, and sent to this server alone.'),
      h('button', { type: 'submit', class: 'action primary', disabled: key === '' }, 'Use it'),
    ),
  )
}

const places: readonly (readonly [string, string])[] = [
  ['trees', 'Trees'],
  ['inbox', 'Inbox'],
  ['effects', 'Effects'],
  ['hosts', 'Hosts'],
  ['agents', 'Agents'],
]

function Header(): VNode {
  const [name = 'trees'] = address.value.parts
  const waiting = inboxItems.value?.length ?? 0
  const current = name === 'threads' || name === 'compare' ? 'trees' : name
  const badge = h('span', { class: 'badge', key: 'badge' }, waiting, h('span', { class: 'hidden-text' }, ' waiting'))
  return h(
    'header',
    { class: 'top' },
    h('a', { class: 'skip', href: '#main', onClick: toMain }, 'To the content'),
    h('a', { class: 'brand', href: hrefOf(['trees']) }, h(BrandMark, {}), 'Skein'),
    h(
      'nav',
      { 'aria-label': 'Places' },
      places.map(([place, label]) =>
        h(
          'a',
          { key: place, href: hrefOf([place]), 'aria-current': place === current ? 'page' : undefined },
          label,
          place === 'inbox' && waiting > 0 ? badge : null,
        ),
      ),
    ),
    h(LinkBadge, {}),
    h(
      'button',
      { type: 'button', class: 'plain-button', onClick: changeTheme, title: 'Light, dark, or as the system says' },
      theme.value === 'system' ? 'auto' : theme.value,
    ),
    h(
      'button',
      {
        type: 'button',
        class: 'plain-button',
        onClick: () => (isHelpOpen.value = true),
        'aria-label': 'Keys and marks',
      },
      '?',
    ),
  )
}

function toMain(event: Event): void {
  event.preventDefault()
  event.stopPropagation()
  const main = document.querySelector('main')
  main?.setAttribute('tabindex', '-1')
  if (main instanceof HTMLElement) main.focus()
}

function BrandMark(): VNode {
  return h(
    'svg',
    { viewBox: '0 0 16 16', width: 18, height: 18, class: 'brand-mark', 'aria-hidden': 'true' },
    h('path', { class: 'a', d: 'M2 4c4 0 4 8 12 8' }),
    h('path', { class: 'b', d: 'M2 8h12' }),
    h('path', { class: 'c', d: 'M2 12c4 0 4-8 12-8' }),
  )
}

const phases = { connecting: 'Connecting', live: 'Live', stale: 'Not live', paused: 'Paused' }

function LinkBadge(): VNode {
  const { phase, why } = linkState.value
  const when = phase === 'live' || asOf.value === undefined ? '' : ` · as of ${timeOfDay(asOf.value)}`
  return h(
    'span',
    { class: `link-badge ${phase}`, ...(why !== undefined && { title: why }) },
    h('i', { class: 'dot', 'aria-hidden': 'true' }),
    `${phases[phase]}${when}`,
    phase === 'stale' && why !== undefined ? h('span', { class: 'why' }, ` · ${why}`) : null,
  )
}

function Outdated(): VNode {
  return h(
    'div',
    { class: 'outdated', role: 'status' },
    'The server has a new version of this page.',
    h('button', { type: 'button', class: 'action', onClick: () => location.reload() }, 'Reload'),
  )
}

const betweenWordsMs = 5_000

/** Link and inbox in words, at most every five seconds, and nothing per event. */
function Announcer(): VNode {
  const { phase } = linkState.value
  const waiting = inboxItems.value?.length
  useEffect(
    () =>
      pageClock.after(betweenWordsMs, () => {
        announcement.value = `${phases[phase]}. ${waiting === undefined ? '' : `${waiting} waiting in the inbox.`}`
      }),
    [phase, waiting],
  )
  return h('div', { class: 'hidden-text', role: 'status', 'aria-live': 'polite' }, announcement.value)
}

function App(): VNode {
  useKeys({
    'g t': () => goTo(hrefOf(['trees'])),
    'g i': () => goTo(hrefOf(['inbox'])),
    'g e': () => goTo(hrefOf(['effects'])),
    'g h': () => goTo(hrefOf(['hosts'])),
    'g a': () => goTo(hrefOf(['agents'])),
    '/': () => document.querySelector<HTMLInputElement>('input.filter')?.focus(),
    '?': () => {
      isHelpOpen.value = true
    },
    Escape: () => void leaveField(),
  })
  const isStale = !isLive.value && linkState.value.phase !== 'connecting'
  return h(
    'div',
    { class: `page${isStale ? ' stale' : ''}` },
    h(Header, {}),
    isOutdated.value ? h(Outdated, {}) : null,
    h(Screen, {}),
    isHelpOpen.value ? h(LazyScreen, { name: 'help' }) : null,
    h(Announcer, {}),
  )
}

const earlyMs = 10_000

/** A tree that is looked at first is read while its screen is still on its way. */
function readEarly(): void {
  const [name, root] = address.peek().parts
  if (name !== 'trees' || root === undefined) return
  void lazy.tree()
  const { release } = useTree(root)
  pageClock.after(earlyMs, release)
}

async function start(): Promise<void> {
  startTheme()
  startRouter()
  startKeys()
  startFlush()
  startStores()
  startSeconds()
  readEarly()
  render(h(App, {}), document.body)
  // Without an answer the usual beat is as good: the link says what is wrong.
  const session = await readSession().catch(() => undefined)
  startLink(session?.heartbeatMs ?? 1_000)
  // Who comes back may be another server, with another page.
  effect(() => void (liveSince.value !== undefined && readSession().catch(() => undefined)))
}

Object.assign(globalThis, { skeinPage: { digestOf, epochOf, now: serverNow } })
void start()
