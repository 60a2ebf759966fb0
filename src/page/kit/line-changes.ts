/** What differs between two texts, line by line: equal lines far from any change are left out, and counted. */
import { h } from './element.js'
import type { VNode } from 'preact'
import { useMemo } from 'preact/hooks'
import { diffLines } from 'diff'
import { plural } from './format.js'
import { plainText } from './plain-text.js'

interface Line {
  readonly kind: 'added' | 'removed' | 'same' | 'left-out'
  readonly text: string
}

const around = 3
const mostLines = 2_000
const signs: Readonly<Record<Line['kind'], string>> = { added: '+ ', removed: '- ', same: '  ', 'left-out': '' }

/** Undefined: they are too different to be compared in the time that a reader waits. */
function linesOf(before: string, after: string): readonly Line[] | undefined {
  const parts = diffLines(before, after, { timeout: 200 })
  return parts?.flatMap(({ value, added, removed }, index) => {
    const texts = value.replace(/\n$/, '').split('\n')
    const changed = added ? 'added' : 'removed'
    const kind = added || removed ? changed : 'same'
    const lines = texts.map((text): Line => ({ kind, text }))
    return kind === 'same' ? shortened(lines, { isFirst: index === 0, isLast: index === parts.length - 1 }) : lines
  })
}

function shortened(
  lines: readonly Line[],
  { isFirst, isLast }: { readonly isFirst: boolean; readonly isLast: boolean },
): readonly Line[] {
  const head = isFirst ? 0 : around
  const tail = isLast ? 0 : around
  const hidden = lines.length - head - tail
  if (hidden < 2) return lines
  const note: Line = { kind: 'left-out', text: `… ${plural(hidden, 'line')} the same` }
  return [...lines.slice(0, head), note, ...lines.slice(lines.length - tail)]
}

export function LineChanges({ before, after }: { before: string; after: string }): VNode {
  const lines = useMemo(() => linesOf(before, after), [before, after])
  if (!lines) return h('p', { class: 'muted' }, 'The two are too different to be compared line by line.')
  return h(
    'pre',
    { class: 'diff', 'aria-label': 'What changes', tabIndex: 0 },
    lines
      .slice(0, mostLines)
      .map(({ kind, text }, at) => h('span', { class: kind, key: at }, `${signs[kind]}${plainText(text)}\n`)),
    lines.length > mostLines ? h('span', { class: 'left-out' }, `${mostLines} of ${lines.length} lines\n`) : null,
  )
}
