/** Args of a call as text that can be changed, and what was changed, line by line. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { LineChanges } from '../kit/line-changes.js'

function parsed(text: string): { readonly value?: unknown; readonly error?: string } {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { value }
    return { error: 'Args are an object: { … }' }
  } catch (thrown) {
    return { error: thrown instanceof Error ? thrown.message : 'This is no JSON' }
  }
}

export function ArgsEditor({ args, onChange }: { args: unknown; onChange: (value: unknown) => void }): VNode {
  const before = JSON.stringify(args, null, 2)
  const [text, setText] = useState(before)
  const field = useRef<HTMLTextAreaElement>(null)
  const { value, error } = parsed(text)
  useEffect(() => onChange(value), [text])
  useEffect(() => field.current?.focus(), [])
  const after = value === undefined ? undefined : JSON.stringify(value, null, 2)
  return h(
    'div',
    { class: 'editor' },
    h(
      'label',
      null,
      'Args as JSON',
      h('textarea', {
        ref: field,
        class: 'code',
        rows: Math.min(18, before.split('\n').length + 2),
        spellcheck: false,
        value: text,
        'aria-invalid': error !== undefined,
        'aria-describedby': error === undefined ? undefined : 'args-error',
        onInput: (event: Event) => event.target instanceof HTMLTextAreaElement && setText(event.target.value),
      }),
    ),
    error === undefined ? null : h('p', { class: 'error-line', id: 'args-error', role: 'alert' }, error),
    after === undefined || after === before ? null : h(LineChanges, { before, after }),
  )
}
