/** The statechart of a thread as a drawing, with its place lit. Positions are data; a test sees that no state is missing. */
import { h } from '../kit/element.js'
import type { VNode } from 'preact'

interface Box {
  readonly x: number
  readonly y: number
  readonly label: string
}

const [wide, tall] = [112, 30]

export const chartStates: Readonly<Record<string, Box>> = {
  fresh: { x: 10, y: 74, label: 'fresh' },
  idle: { x: 150, y: 74, label: 'idle' },
  thinking: { x: 300, y: 24, label: 'thinking' },
  acting: { x: 450, y: 24, label: 'acting' },
  'waiting.approval': { x: 600, y: 6, label: 'waits: approval' },
  'waiting.person': { x: 600, y: 44, label: 'waits: a person' },
  'waiting.variables': { x: 600, y: 82, label: 'waits: variables' },
  'waiting.children': { x: 600, y: 120, label: 'waits: children' },
  failed: { x: 300, y: 74, label: 'failed' },
  done: { x: 150, y: 130, label: 'done' },
  terminated: { x: 300, y: 130, label: 'terminated' },
}

export const chartEdges: readonly (readonly [string, string])[] = [
  ['fresh', 'idle'],
  ['idle', 'thinking'],
  ['thinking', 'acting'],
  ['acting', 'thinking'],
  ['acting', 'waiting.approval'],
  ['acting', 'waiting.person'],
  ['acting', 'waiting.variables'],
  ['acting', 'waiting.children'],
  ['thinking', 'idle'],
  ['thinking', 'failed'],
  ['failed', 'thinking'],
  ['idle', 'done'],
  ['done', 'terminated'],
  ['idle', 'terminated'],
]

/** From the border of one box to that of the other. */
function line([from, to]: readonly [Box, Box]): string {
  const [x1, y1, x2, y2] = [from.x + wide / 2, from.y + tall / 2, to.x + wide / 2, to.y + tall / 2]
  const [dx, dy] = [x2 - x1, y2 - y1]
  const reach = Math.min(Math.abs(wide / 2 / (dx || 1e-6)), Math.abs(tall / 2 / (dy || 1e-6)))
  const [ax, ay, bx, by] = [x1 + dx * reach, y1 + dy * reach, x2 - dx * reach, y2 - dy * reach]
  return `M${ax.toFixed(1)} ${ay.toFixed(1)}L${bx.toFixed(1)} ${by.toFixed(1)}`
}

export function Statechart({ gate, work }: { gate: string; work: string }): VNode {
  const label = `The thread is ${work}${gate === 'paused' ? ', and paused' : ''}`
  return h(
    'figure',
    { class: `statechart gate-${gate}` },
    h(
      'svg',
      { viewBox: '0 0 724 168', role: 'img', 'aria-label': label },
      chartEdges.flatMap(([from, to]) => {
        const [a, b] = [chartStates[from], chartStates[to]]
        return a && b ? [h('path', { key: `${from} ${to}`, class: 'edge', d: line([a, b]) })] : []
      }),
      Object.entries(chartStates).map(([name, { x, y, label: text }]) =>
        h(
          'g',
          { key: name, class: name === work ? 'box lit' : 'box', transform: `translate(${x} ${y})` },
          h('rect', { width: wide, height: tall, rx: 5 }),
          h('text', { x: wide / 2, y: tall / 2 + 4 }, text),
        ),
      ),
    ),
    h('figcaption', null, label, gate === 'paused' ? ': nothing more is started until it is resumed' : ''),
  )
}
