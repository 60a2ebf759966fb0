/** The overlay that says which keys there are and what shapes and colours mean. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { allStatuses } from '../kit/format.js'
import { isHelpOpen } from '../kit/help-open.js'
import { StatusMark } from '../kit/ui.js'

const keys: readonly (readonly [string, string])[] = [
  ['g t · g i · g e · g h · g a', 'Trees, Inbox, Effects, Hosts, Agents'],
  ['/', 'Filter'],
  ['↑ ↓ or k j', 'Row before, row after'],
  ['← →', 'Close, open, to the parent'],
  ['Enter', 'Open the thread'],
  ['o', 'Open or close all'],
  ['w · f · u', 'Next that waits, has failed, has an unknown effect'],
  ['Space', 'Freeze the view; data goes on'],
  ['z · x · 0', 'Zoom in, out, all'],
  ['c · y', 'Copy the id, copy the address'],
  ['a · e · r, then Enter', 'In the inbox: approve, edit args, reject'],
  ['[ · ] · .', 'Files: the change before, the next one, now'],
  ['Esc', 'Close the innermost'],
  ['?', 'This'],
]

const kinds: readonly (readonly [string, string])[] = [
  ['model', 'A model is called'],
  ['tool', 'A tool runs'],
  ['child', 'A child works on it'],
  ['person', 'A person is asked'],
  ['queue', 'In line: it has not begun yet'],
  ['critical', 'On the critical path: the end waited for it'],
]

export function Help(): VNode | null {
  const dialog = useRef<HTMLDialogElement>(null)
  const isOpen = isHelpOpen.value
  useEffect(() => {
    if (isOpen && !dialog.current?.open) dialog.current?.showModal()
  }, [isOpen])
  if (!isOpen) return null
  const close = (): void => {
    isHelpOpen.value = false
  }
  return h(
    'dialog',
    { ref: dialog, class: 'help', onClose: close, 'aria-labelledby': 'help-title' },
    h(
      'div',
      { class: 'help-head' },
      h('h2', { id: 'help-title' }, 'Keys and marks'),
      h(
        'button',
        { type: 'button', class: 'action', onClick: close },
        'Close',
        h('kbd', { 'aria-hidden': 'true' }, 'Esc'),
      ),
    ),
    h(
      'div',
      { class: 'help-columns' },
      h(
        'dl',
        null,
        keys.flatMap(([key, does]) => [h('dt', { key }, h('kbd', null, key)), h('dd', null, does)]),
      ),
      h(
        'div',
        null,
        h(
          'ul',
          { class: 'legend' },
          kinds.map(([kind, means]) =>
            h('li', { key: kind }, h('i', { class: `swatch kind-${kind}`, 'aria-hidden': 'true' }), means),
          ),
        ),
        h(
          'ul',
          { class: 'legend' },
          allStatuses.map((status) => h('li', { key: status }, h(StatusMark, { status }))),
        ),
      ),
    ),
  )
}
