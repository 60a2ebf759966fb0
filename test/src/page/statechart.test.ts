/** V1: the drawing of the statechart has every state of the machine, and draws no edge that it does not have. */
import { expect, it } from 'vitest'
import { compileMachine } from '../../../actors/thread/machine-table.js'
import { chartEdges, chartStates } from '../../../src/page/thread/chart-places.js'

const table = compileMachine()
const open = [...table.keys()].filter((name) => name.startsWith('open.')).map((name) => name.slice('open.'.length))

it('V1: every state is drawn', () => {
  expect(Object.keys(chartStates).sort()).toEqual(open.sort())
})

it('V1: every edge that is drawn is one', () => {
  const edges = new Set(
    [...table].flatMap(([from, moves]) =>
      [...moves.values()].flat().map(({ target }) => `${from.slice('open.'.length)} ${target?.slice('open.'.length)}`),
    ),
  )
  expect(chartEdges.filter(([from, to]) => !edges.has(`${from} ${to}`))).toEqual([])
})
