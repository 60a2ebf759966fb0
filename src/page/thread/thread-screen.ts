/** The screen of one thread: what was said, what it did, where it stands. Steered from here. */
import '../style/lists.css'
import '../style/thread.css'
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ThreadInfo } from '../../index.js'
import { pathTo } from '../kit/api.js'
import { useKeys } from '../kit/keys.js'
import { useResource } from '../kit/resource.js'
import { address, goTo, hrefOf } from '../kit/router.js'
import { Loading, Problem, StatusMark } from '../kit/ui.js'
import { showings } from '../store/flush.js'
import { useTree } from '../store/stores.js'
import type { PageRow, TreeStore } from '../store/tree-store.js'
import { threadLabel } from '../tree/thread-label.js'
import { ThreadEffects } from '../screens/effects.js'
import { Chat } from './chat.js'
import { EnvTab } from './env-tab.js'
import { FilesTab } from './files-tab.js'
import { RecordsTab } from './records-tab.js'
import { StateTab } from './state-tab.js'
import { StepsTab } from './steps-tab.js'
import { ThreadControls } from './thread-controls.js'

export interface ThreadTabProps {
  readonly thread: string
  readonly row: PageRow
  readonly store: TreeStore
}

const tabs = ['chat', 'steps', 'files', 'effects', 'state', 'env', 'records'] as const
type TabName = (typeof tabs)[number]

const isTab = (name: string | undefined): name is TabName => tabs.some((tab) => tab === name)

export function ThreadScreen({ thread }: { thread: string }): VNode {
  const { value: info, problem, again } = useResource<ThreadInfo>(pathTo`threads/${thread}`, 0)
  if (problem && !info)
    return h(
      'main',
      { id: 'main', class: 'screen' },
      h('div', { class: 'bar' }, h('h1', null, thread)),
      h(Problem, { problem, retry: again }),
    )
  if (!info) return h('main', { id: 'main', class: 'screen' }, h(Loading, { what: 'the thread' }))
  return h(OpenThread, { info, key: thread })
}

function OpenThread({ info }: { info: ThreadInfo }): VNode {
  const { root, thread } = info
  const [held, setHeld] = useState<ReturnType<typeof useTree>>()
  useEffect(() => {
    const used = useTree(root)
    setHeld(used)
    return () => used.release()
  }, [root])
  void showings.value
  const name = address.value.parts[2]
  const tab: TabName = isTab(name) ? name : 'chat'
  const go = (by: number) => (): void => {
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length]
    if (next) goTo(hrefOf(['threads', thread, next]))
  }
  useKeys({
    ArrowRight: go(1),
    ArrowLeft: go(-1),
    c: () => void navigator.clipboard.writeText(thread),
    y: () => void navigator.clipboard.writeText(location.href),
    Escape: () => goTo(hrefOf(['trees', root], { sel: thread })),
  })
  const open = held?.tree.value
  if (!open?.isLoaded)
    return h(
      'main',
      { id: 'main', class: 'screen' },
      open?.problem ? h(Problem, { problem: open.problem }) : h(Loading, { what: 'the thread' }),
    )
  const row = open.store.row(thread)
  if (!row) return h('main', { id: 'main', class: 'screen' }, h(Loading, { what: 'the thread' }))
  return h(
    'main',
    { id: 'main', class: 'screen thread-screen' },
    h(ThreadBar, { info, row, store: open.store }),
    h(TabList, { thread, tab }),
    h(
      'div',
      {
        class: `tab-panel tab-${tab}`,
        role: 'tabpanel',
        id: 'tab-panel',
        tabIndex: 0,
        'aria-labelledby': `tab-${tab}`,
      },
      panelOf(tab, { thread, row, store: open.store }),
    ),
  )
}

function TabList({ thread, tab }: { thread: string; tab: TabName }): VNode {
  return h(
    'div',
    { class: 'tabs', role: 'tablist', 'aria-label': 'Views of the thread' },
    tabs.map((each) =>
      h(
        'a',
        {
          role: 'tab',
          key: each,
          id: `tab-${each}`,
          'aria-selected': each === tab,
          'aria-controls': 'tab-panel',
          href: hrefOf(['threads', thread, each]),
        },
        each,
      ),
    ),
  )
}

function panelOf(tab: TabName, props: ThreadTabProps): VNode {
  switch (tab) {
    case 'chat':
      return h(Chat, props)
    case 'steps':
      return h(StepsTab, props)
    case 'files':
      return h(FilesTab, props)
    case 'effects':
      return h(ThreadEffects, { thread: props.thread, version: String(props.row.seq) })
    case 'state':
      return h(StateTab, props)
    case 'env':
      return h(EnvTab, props)
    case 'records':
      return h(RecordsTab, props)
  }
}

function ThreadBar({ info, row, store }: { info: ThreadInfo; row: PageRow; store: TreeStore }): VNode {
  const parents = info.path.slice(0, -1)
  const nameOf = (id: string): string => {
    const found = store.row(id)
    return found ? threadLabel(found) : id
  }
  return h(
    'div',
    { class: 'bar thread-bar' },
    h(
      'h1',
      null,
      h('a', { href: hrefOf(['trees']) }, 'Trees'),
      h('span', { class: 'slash', 'aria-hidden': 'true' }, '/'),
      parents.flatMap((id, index) => [
        h(
          'a',
          {
            key: id,
            class: 'crumb',
            href: index === 0 ? hrefOf(['trees', id], { sel: info.thread }) : hrefOf(['threads', id]),
          },
          nameOf(id),
        ),
        h('span', { class: 'slash', 'aria-hidden': 'true' }, '/'),
      ]),
      h('span', { class: 'title', title: info.thread }, threadLabel(row)),
    ),
    h(StatusMark, { status: row.status }),
    row.reason ? h('span', { class: 'muted' }, row.reason) : null,
    parents.length === 0 ? h('a', { class: 'chip', href: hrefOf(['trees', info.root]) }, 'Waterfall') : null,
    row.waiting
      ? h('a', { class: 'chip waits', href: hrefOf(['inbox'], { thread: info.thread }) }, `◆ ${row.waiting} to decide`)
      : null,
    h(ThreadControls, { row }),
  )
}
