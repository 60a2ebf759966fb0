/** Small parts that screens share: marks of statuses, buttons, notes, problems, what is empty. */
import { h } from './element.js'
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { computed, signal } from '@preact/signals'
import { serverNow, isLive } from '../link/link.js'
import { age, statusWords } from './format.js'
import type { StatusWords, Tone } from './format.js'
import type { PageProblem } from './api.js'
import { pageClock } from './clock.js'

const shapes: Readonly<Record<StatusWords['shape'], string>> = {
  ring: 'M6 2.2a3.8 3.8 0 1 1 0 7.6a3.8 3.8 0 1 1 0-7.6z',
  half: 'M6 1.5a4.5 4.5 0 1 0 0 9z M6 1.5a4.5 4.5 0 1 1 0 9',
  play: 'M3 1.8l7 4.2l-7 4.2z',
  diamond: 'M6 .8L11.2 6L6 11.2L.8 6z',
  check: 'M1.8 6.4l2.8 2.8l5.6-6',
  cross: 'M2.2 2.2l7.6 7.6 M9.8 2.2l-7.6 7.6',
  square: 'M2.5 2.5h7v7h-7z',
  bars: 'M3.8 2v8 M8.2 2v8',
  dots: 'M1.6 6h.01 M6 6h.01 M10.4 6h.01',
}
const filled: ReadonlySet<StatusWords['shape']> = new Set(['play', 'diamond', 'square'])

export function mark(shape: StatusWords['shape'], tone: Tone): VNode {
  const isFilled = filled.has(shape)
  const style = { fill: isFilled || shape === 'half' ? 'currentColor' : 'none' }
  const d = shapes[shape]
  const [solid = d, outline] = shape === 'half' ? d.split(' M').map((part, at) => (at === 0 ? part : `M${part}`)) : [d]
  return h(
    'svg',
    { class: `mark tone-${tone}`, viewBox: '0 0 12 12', width: 12, height: 12, 'aria-hidden': 'true' },
    h('path', { d: solid, style, class: shape === 'dots' ? 'wide' : undefined }),
    outline === undefined ? null : h('path', { d: outline, style: { fill: 'none' } }),
  )
}

export function StatusMark({ status, quiet = false }: { status: string; quiet?: boolean }): VNode {
  const { word, tone, shape } = statusWords(status)
  const text = h('span', { class: quiet ? 'hidden-text' : 'status-word' }, word)
  return h('span', { class: `status tone-${tone}`, title: word }, mark(shape, tone), text)
}

export function Pill({ tone, title, children }: { tone: Tone; title: string; children: ComponentChildren }): VNode {
  return h('span', { class: `pill tone-${tone}`, title }, children, h('span', { class: 'hidden-text' }, ` ${title}`))
}

export interface ActionProps {
  readonly label: string
  readonly act: () => void
  /** Why it cannot be done now: said in words. */
  readonly blocked?: string | undefined
  readonly kind?: 'plain' | 'primary' | 'danger'
  readonly keyHint?: string
}

export function Action({ label, act, blocked, kind = 'plain', keyHint }: ActionProps): VNode {
  const key = keyHint === undefined ? null : h('kbd', { 'aria-hidden': 'true' }, keyHint)
  const props = { class: `action ${kind}`, disabled: blocked !== undefined, title: blocked }
  return h('button', { type: 'button', ...props, onClick: act }, label, key)
}

/** Why nothing may be written now, if so. */
export const writeBlocked = computed(() =>
  isLive.value ? undefined : 'Not live: what you see may be old, so nothing is sent from here',
)

export function Problem({ problem, retry }: { problem: PageProblem; retry?: () => void }): VNode {
  const { code, detail } = problem
  const again = retry ? h(Action, { label: 'Try again', act: retry }) : null
  return h(
    'div',
    { class: 'problem', role: 'alert' },
    mark('cross', 'bad'),
    h('div', null, h('strong', null, code), h('p', null, `${detail}.`), h('p', null, adviceOf(problem)), again),
  )
}

function adviceOf({ status, code }: PageProblem): string {
  if (code === 'UNKNOWN_THREAD') return 'It never was, was deleted, or belongs to a tree that your key may not see.'
  if (status === 0) return 'Is the server running? The page tries again by itself.'
  if (status === 401) return 'Enter a key of this server.'
  if (status === 403) return 'Use a key with the scope that it names.'
  if (status === 409) return 'Someone was faster, or it has ended: look at it as it is now.'
  if (status === 503) return 'It may pass: try again.'
  return 'Nothing was changed.'
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): VNode {
  return h('div', { class: 'empty' }, h('h2', null, title), children)
}

/** Nothing for a moment: most answers are there before anyone could read a word. */
export function Loading({ what }: { what: string }): VNode | null {
  const [isLate, setLate] = useState(false)
  useEffect(() => pageClock.after(150, () => setLate(true)), [])
  return isLate ? h('div', { class: 'loading', role: 'status' }, `Reading ${what} …`) : null
}

/** Goes on once a second while the link is live. */
export const second = signal(0)

export function startSeconds(): void {
  const next = (): void => {
    if (isLive.peek() && !document.hidden) second.value++
    pageClock.after(1_000, next)
  }
  next()
}

export function Age({ at }: { at: number }): VNode {
  void second.value
  return h('span', { class: 'number' }, age(serverNow() - at))
}

export function CopyButton({ text, label }: { text: string; label: string }): VNode {
  const [isCopied, setCopied] = useState(false)
  const copy = (): void => {
    void navigator.clipboard.writeText(text).then(() => {
      setCopied(true)
      pageClock.after(1_200, () => setCopied(false))
    })
  }
  return h('button', { type: 'button', class: 'copy', onClick: copy }, isCopied ? 'Copied' : label)
}

/** What was last said to people who do not see the page. */
export const announcement = signal('')
