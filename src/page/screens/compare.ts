/**
 * Two threads, or two points of one, side by side: what both begin with, what each has after it, files and values that
 * differ. The address has both sides: `/compare/<a>/<b>`, each `<thread>` or `<thread>@<point>`.
 */
import '../style/lists.css'
import '../style/thread.css'
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import type { Message, ThreadDiff } from '../../index.js'
import { countWords, plural, timeOfDay } from '../kit/format.js'
import { MessageCall } from '../kit/message-call.js'
import { JsonView } from '../kit/json-view.js'
import { plainText } from '../kit/plain-text.js'
import { useResource } from '../kit/resource.js'
import { address, hrefOf } from '../kit/router.js'
import { Empty, Loading, Problem } from '../kit/ui.js'

export function CompareScreen(): VNode {
  const [, a = '', b = ''] = address.value.parts
  const path = `diff?a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}&patches=true`
  const { value, problem, again } = useResource<ThreadDiff>(path, 0)
  return h(
    'main',
    { id: 'main', class: 'screen' },
    h(
      'div',
      { class: 'bar' },
      h('h1', null, 'Compare'),
      h(SideLink, { side: a }),
      h('span', { class: 'muted' }, 'with'),
      h(SideLink, { side: b }),
      h('button', { type: 'button', class: 'chip', onClick: again }, 'Read again'),
    ),
    problem ? h(Problem, { problem, retry: again }) : null,
    !value && !problem ? h(Loading, { what: 'both sides' }) : null,
    value ? h(Differences, { value }) : null,
  )
}

function SideLink({ side }: { side: string }): VNode {
  const [thread = '', at] = side.split('@')
  return h(
    'span',
    null,
    h('a', { href: hrefOf(['threads', thread]) }, thread),
    h('span', { class: 'muted' }, at === undefined ? ' now' : ` at ${at.replace(/^(?=\d+$)/, 'step ')}`),
  )
}

function Differences({ value: { a, b, messages, files = [], values = [] } }: { value: ThreadDiff }): VNode {
  const isSame = messages?.a.length === 0 && messages.b.length === 0 && files.length + values.length === 0
  return h(
    'div',
    { class: 'padded compare' },
    h(
      'p',
      { class: 'muted number' },
      `Record ${countWords(a.seq)} of ${a.thread}, record ${countWords(b.seq)} of ${b.thread}`,
    ),
    isSame ? h(Empty, { title: 'The two are the same' }) : null,
    messages && !isSame
      ? h(
          'section',
          null,
          h('h2', null, 'Messages'),
          h('p', { class: 'muted' }, commonText(messages.common)),
          h(
            'div',
            { class: 'sides' },
            h(SideMessages, { thread: a.thread, messages: messages.a }),
            h(SideMessages, { thread: b.thread, messages: messages.b }),
          ),
        )
      : null,
    files.length === 0 ? null : h(FileDifferences, { files }),
    values.length === 0
      ? null
      : h(
          'section',
          null,
          h('h2', null, 'Values'),
          values.map((each) =>
            h(
              'div',
              { class: 'sides', key: each.key },
              h('div', { class: 'card' }, h('h3', null, plainText(each.key)), h(JsonView, { value: each.a ?? null })),
              h('div', { class: 'card' }, h('h3', null, plainText(each.key)), h(JsonView, { value: each.b ?? null })),
            ),
          ),
        ),
  )
}

const longest = 2_000
const mostMessages = 200

function SideMessages({ thread, messages }: { thread: string; messages: readonly Message[] }): VNode {
  return h(
    'div',
    { class: 'side' },
    h('h3', null, thread),
    messages.length === 0 ? h('p', { class: 'muted' }, 'Nothing after that.') : null,
    messages.slice(0, mostMessages).map(({ id, role, text, at, tool, calls = [] }) =>
      h(
        'article',
        { class: `message ${role}`, key: id },
        h('header', null, h('strong', null, tool ?? role), h('span', { class: 'muted number' }, timeOfDay(at))),
        text === '' ? null : h('div', { class: 'said' }, plainText(text.slice(0, longest))),
        text.length > longest
          ? h('p', { class: 'muted' }, `${countWords(longest)} of ${countWords(text.length)} characters`)
          : null,
        calls.map((call) => h(MessageCall, { call, key: call.id })),
      ),
    ),
    messages.length > mostMessages
      ? h('p', { class: 'muted' }, `${mostMessages} of ${plural(messages.length, 'message')}`)
      : null,
  )
}

const patchKinds: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed', '@': 'left-out' }

function FileDifferences({ files }: { files: NonNullable<ThreadDiff['files']> }): VNode {
  return h(
    'section',
    null,
    h('h2', null, 'Files'),
    files.map(({ path, change, sizes, patch }) =>
      h(
        'details',
        { class: 'card', key: path },
        h(
          'summary',
          null,
          h('strong', null, plainText(path)),
          h('span', { class: 'muted' }, ` ${change} · ${countWords(sizes.a)} → ${countWords(sizes.b)} bytes`),
        ),
        patch === undefined
          ? h('p', { class: 'muted' }, 'No text, or too long to be compared.')
          : h(
              'pre',
              { class: 'diff', tabIndex: 0 },
              patchLines(patch).map((line, at) =>
                h('span', { key: at, class: patchKinds[line[0] ?? ''] ?? 'same' }, `${plainText(line)}\n`),
              ),
            ),
      ),
    ),
  )
}

/** Without its head, which names what stands above it. */
function patchLines(patch: string): readonly string[] {
  const lines = patch.replace(/\n$/, '').split('\n')
  return lines
    .slice(
      Math.max(
        0,
        lines.findIndex((line) => line.startsWith('@@')),
      ),
    )
    .slice(0, 2_000)
}

function commonText(count: number): string {
  return count === 0 ? 'They have no message in common.' : `Both begin with the same ${plural(count, 'message')}.`
}
