/** A field of a form with its label, and what it changes. */
import { h } from './element.js'
import type { VNode } from 'preact'

export interface TextFieldProps {
  readonly label: string
  readonly value: string
  readonly onText: (text: string) => void
  /** More than one: a box of so many lines. */
  readonly rows?: number
  /** Not shown while it is typed, nor kept by the browser. */
  readonly isSecret?: boolean
  readonly pattern?: string
  readonly onSend?: () => void
}

export function TextField({ label, value, onText, rows = 1, isSecret, pattern, onSend }: TextFieldProps): VNode {
  const onInput = ({ target }: Event): void => {
    if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) onText(target.value)
  }
  const onKeyDown = ({ key, ctrlKey, metaKey }: KeyboardEvent): void => {
    if (key === 'Enter' && (rows === 1 || ctrlKey || metaKey)) onSend?.()
  }
  const own = { value, onInput, onKeyDown }
  if (rows > 1) return h('label', null, label, h('textarea', { rows, ...own }))
  const limit = pattern === undefined ? {} : { pattern }
  if (isSecret) return h('label', null, label, h('input', { type: 'password', autoComplete: 'off', ...limit, ...own }))
  return h('label', null, label, h('input', { type: 'text', autoComplete: 'off', ...limit, ...own }))
}
