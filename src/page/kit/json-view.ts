/** A JSON value as text with folds. Everything in it is text; what is long is cut, and says so. */
import { h } from './element.js'
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { countWords } from './format.js'
import { plainText } from './plain-text.js'

const mostEntries = 100
const longestText = 2_000
const openLevels = 2

export function JsonView({ value, level = 0 }: { value: unknown; level?: number }): VNode {
  if (typeof value === 'string') return h(TextValue, { text: value })
  if (typeof value !== 'object' || value === null)
    return h('span', { class: `json-${value === null ? 'null' : typeof value}` }, String(value))
  return h(Group, { value, level })
}

function TextValue({ text }: { text: string }): VNode {
  const [isWhole, setWhole] = useState(text.length <= longestText)
  const shownText = JSON.stringify(plainText(isWhole ? text : text.slice(0, longestText)))
  const more = `${countWords(longestText)} of ${countWords(text.length)} characters, show more`
  return h(
    'span',
    { class: 'json-string' },
    shownText,
    isWhole ? null : h('button', { type: 'button', class: 'more', onClick: () => setWhole(true) }, more),
  )
}

function Group({ value, level }: { value: object; level: number }): VNode {
  const isList = Array.isArray(value)
  const [isOpen, setOpen] = useState(level < openLevels)
  const [most, setMost] = useState(mostEntries)
  // Only as many as are shown are ever looked at.
  const size = isList ? value.length : Object.keys(value).length
  const [before, after] = isList ? ['[', ']'] : ['{', '}']
  if (size === 0) return h('span', { class: 'json-mark' }, `${before}${after}`)
  const toggle = h(
    'button',
    { type: 'button', class: 'json-fold', 'aria-expanded': isOpen, onClick: () => setOpen(!isOpen) },
    isOpen ? before : `${before} ${countWords(size)} … ${after}`,
  )
  if (!isOpen) return toggle
  return h(
    'span',
    { class: 'json-group' },
    toggle,
    h(
      'span',
      { class: 'json-entries' },
      Object.entries(value)
        .slice(0, most)
        .map(([name, item]) =>
          h(
            'span',
            { class: 'json-entry', key: name },
            isList ? null : h('span', { class: 'json-name' }, `${plainText(name).slice(0, 200)}: `),
            h(JsonView, { value: item, level: level + 1 }),
          ),
        ),
      size > most
        ? h(
            'button',
            { type: 'button', class: 'more', onClick: () => setMost(most * 10) },
            `${countWords(most)} of ${countWords(size)}, show more`,
          )
        : null,
    ),
    h('span', { class: 'json-mark' }, after),
  )
}
