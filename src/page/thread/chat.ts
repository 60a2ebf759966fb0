/**
 * What was said in a thread, newest at the end, with the words of a model as they come, and a box to steer it. What is
 * sent is shown as sent, accepted and read; never as said before the record says so.
 */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Message } from '../../index.js'
import { pathTo, getJson } from '../kit/api.js'
import { freshId } from '../kit/clock.js'
import { timeOfDay, countWords } from '../kit/format.js'
import { Markdown } from '../kit/markdown.js'
import { MessageCall } from '../kit/message-call.js'
import { plainText } from '../kit/plain-text.js'
import { useResource } from '../kit/resource.js'
import { hrefOf } from '../kit/router.js'
import { Loading, Problem, writeBlocked } from '../kit/ui.js'
import { receiptWords, receipts, setReceipt, write } from '../kit/write.js'
import { onLink, watchText } from '../link/link.js'
import { isOver } from '../store/below.js'
import type { ThreadTabProps } from './thread-screen.js'

type NumberedMessage = Message & { readonly seq: number }

interface Page {
  readonly messages: readonly NumberedMessage[]
}

interface Words {
  readonly step: number
  readonly text: string
  readonly reasoning: string
}

/** What the model says now, until the record has it. */
function useWords(root: string, thread: string): Words | undefined {
  const [words, setWords] = useState<Words>()
  useEffect(() => {
    const stop = onLink('text', (data) => {
      const said: {
        thread?: string
        step?: number
        at?: number
        text?: string
        reasonedAt?: number
        reasoning?: string
      } = Object(data)
      if (said.thread !== thread) return
      const { step, text = '', reasoning = '' } = said
      if (step === undefined) return setWords(undefined)
      setWords((before) => ({
        step,
        text: (before?.text ?? '').slice(0, said.at ?? 0) + text,
        reasoning: (before?.reasoning ?? '').slice(0, said.reasonedAt ?? 0) + reasoning,
      }))
    })
    const leave = watchText(root, thread)
    return () => {
      stop()
      leave()
    }
  }, [root, thread])
  return words
}

/** Pages before the newest one, which were asked for. */
function useEarlier(thread: string): {
  readonly messages: readonly NumberedMessage[]
  readonly isAll: boolean
  load(before: number): void
} {
  const [state, setState] = useState<{ messages: readonly NumberedMessage[]; isAll: boolean }>({
    messages: [],
    isAll: false,
  })
  return {
    ...state,
    load(before) {
      void getJson<Page>(pathTo`threads/${thread}/messages`, { query: { before, limit: 100, silent: 'true' } }).then(
        ({ messages }) =>
          setState((now) => ({ messages: [...messages, ...now.messages], isAll: messages.length === 0 })),
      )
    },
  }
}

export function Chat({ thread, row, store }: ThreadTabProps): VNode {
  const path = `${pathTo`threads/${thread}/messages`}?before=end&limit=100&silent=true`
  const { value, problem, again } = useResource<Page>(path, row.seq)
  const words = useWords(store.root, thread)
  const earlier = useEarlier(thread)
  const box = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  useLayoutEffect(() => {
    if (box.current && isAtEnd.current) box.current.scrollTop = box.current.scrollHeight
  })
  if (problem && !value) return h(Problem, { problem, retry: again })
  if (!value) return h(Loading, { what: 'messages' }) ?? h('div', null)
  const [newest] = value.messages
  const messages = [
    ...earlier.messages.filter(({ seq }) => newest === undefined || seq < newest.seq),
    ...value.messages,
  ]
  const [first] = messages
  const onScroll = (): void => {
    const element = box.current
    if (element) isAtEnd.current = element.scrollTop + element.clientHeight > element.scrollHeight - 40
  }
  return h(
    'div',
    { class: 'chat' },
    h(
      'div',
      { class: 'chat-box', ref: box, onScroll, tabIndex: 0, role: 'log', 'aria-label': 'Messages', 'aria-live': 'off' },
      first && first.seq > 2 && !earlier.isAll && value.messages.length >= 100
        ? h(
            'button',
            { type: 'button', class: 'chip', onClick: () => earlier.load(first.seq) },
            `${countWords(messages.length)} newest messages: load earlier`,
          )
        : null,
      messages.length === 0 && !words ? h('p', { class: 'muted padded' }, 'Nothing was said yet.') : null,
      messages.map((message) => h(MessageView, { message, thread, key: message.id })),
      words ? h(LiveWords, { words }) : null,
    ),
    h(Composer, { thread, row, messages }),
  )
}

function LiveWords({ words: { text, reasoning } }: { words: Words }): VNode {
  return h(
    'article',
    { class: 'message assistant live' },
    h('header', null, h('strong', null, 'assistant'), h('span', { class: 'muted' }, 'is saying')),
    reasoning === '' ? null : h('p', { class: 'reasoning' }, plainText(reasoning)),
    text === '' ? null : h('div', { class: 'said' }, plainText(text)),
  )
}

function MessageView({ message, thread }: { message: Message; thread: string }): VNode {
  const { role, text, at: time, reasoning, calls = [], tool, failed, silent, label, attachments = [], call } = message
  const who = label ?? (role === 'tool' ? (tool ?? 'tool') : role)
  const isTool = role === 'tool'
  return h(
    'article',
    { class: `message ${role}${silent ? ' silent' : ''}${failed ? ' failed' : ''}` },
    h(
      'header',
      null,
      h('strong', null, who),
      h('span', { class: 'muted number' }, timeOfDay(time)),
      silent ? h('span', { class: 'tag' }, 'silent: only the model reads it') : null,
      failed ? h('span', { class: 'tag bad' }, failed.code) : null,
      call ? h('a', { class: 'muted', href: hrefOf(['threads', thread, 'steps'], { call }) }, call) : null,
    ),
    reasoning
      ? h('details', null, h('summary', null, 'Reasoning'), h('p', { class: 'reasoning' }, plainText(reasoning)))
      : null,
    text === '' ? null : h(isTool ? ToolText : Markdown, { text }),
    attachments.length > 0 ? h('p', { class: 'muted' }, `Attached: ${attachments.map(plainText).join(', ')}`) : null,
    calls.map((made) => h(MessageCall, { call: made, key: made.id })),
  )
}

const longestTool = 4_000

function ToolText({ text }: { text: string }): VNode {
  const [isWhole, setWhole] = useState(text.length <= longestTool)
  return h(
    'div',
    null,
    h('pre', { class: 'tool-text' }, plainText(isWhole ? text.slice(0, 200_000) : text.slice(0, longestTool))),
    isWhole
      ? null
      : h(
          'button',
          { type: 'button', class: 'more', onClick: () => setWhole(true) },
          `${countWords(longestTool)} of ${countWords(text.length)} characters, show more`,
        ),
  )
}

function Composer({
  thread,
  row,
  messages,
}: {
  thread: string
  row: ThreadTabProps['row']
  messages: readonly Message[]
}): VNode | null {
  const [text, setText] = useState('')
  const [sent, setSent] = useState<string>()
  const blocked = writeBlocked.value
  const about = `send ${thread}`
  const receipt = receipts.value[about]
  const isRead = sent !== undefined && messages.some(({ id }) => id === sent)
  useEffect(() => {
    if (isRead) setReceipt(about, undefined)
  }, [isRead])
  if (row.status === 'done' || row.status === 'terminated')
    return h('p', { class: 'muted padded' }, 'This thread takes no more messages.')
  const send = (): void => {
    if (text.trim() === '' || blocked !== undefined) return
    const id = `page-${freshId()}`
    setSent(id)
    void write({ about, what: 'message', path: pathTo`threads/${thread}/messages`, body: { text, id } }).then(
      (done) => done && setText(''),
    )
  }
  return h(
    'form',
    {
      class: 'composer',
      onSubmit: (event: Event) => {
        event.preventDefault()
        send()
      },
    },
    h(ComposerBox, { isResting: isOver(row), text, setText, send }),
    h(
      'button',
      {
        type: 'submit',
        class: 'action primary',
        disabled: text.trim() === '' || blocked !== undefined,
        title: blocked,
      },
      isOver(row) ? 'Send' : 'Steer',
      h('kbd', { 'aria-hidden': 'true' }, '↵'),
    ),
    h(
      'p',
      { class: `receipt ${receipt?.phase ?? ''}`, role: 'status' },
      blocked ?? (receipt ? receiptWords(receipt) : ''),
    ),
  )
}

interface ComposerBoxProps {
  readonly isResting: boolean
  readonly text: string
  readonly setText: (text: string) => void
  readonly send: () => void
}

function ComposerBox({ isResting, text, setText, send }: ComposerBoxProps): VNode {
  return h('textarea', {
    rows: 2,
    'aria-label': isResting ? 'Message' : 'Steer the thread',
    placeholder: isResting ? 'Say something' : 'Steer it: it is read at the next step',
    value: text,
    onInput: (event: Event) => event.target instanceof HTMLTextAreaElement && setText(event.target.value),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
      event.preventDefault()
      send()
    },
  })
}
