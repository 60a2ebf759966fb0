/** The statechart of a thread as a drawing, with its place lit. */
import { h } from '../kit/element.js'
import { chartBoxSize, chartEdges, chartStates } from './chart-places.js'
import type { ChartBox } from './chart-places.js'
import type { VNode } from 'preact'

const [wide, tall] = chartBoxSize

/** From the border of one box to that of the other. */
function line([from, to]: readonly [ChartBox, ChartBox]): string {
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
