/** What is offered to type when a turn stands still. */
import { expect, it } from 'vitest'
import { nextSteps } from '../../../src/cli/turn/waiting-for.js'
import type { WaitingItem } from '../../../src/cli/turn/waiting-for.js'
import { localStore } from '../../../src/cli/store.js'

const store = localStore('.skein')
const item = (index: number, more: Partial<WaitingItem>): WaitingItem => ({
  id: `t1/call_1_${index}`,
  call: `call_1_${index}`,
  why: 'approval',
  tool: 'publish',
  args: {},
  requestedAt: 0,
  ...more,
})
const halt = (pending: readonly WaitingItem[]) => ({ thread: 't1', standstill: 'awaiting_variables' as const, pending })

it('C1: a value that many wait for is asked for once, above them all', () => {
  const pending = Array.from({ length: 24 }, (_, index) =>
    item(index, { why: 'variables', missing: ['CITY'], tool: 'look' }),
  )
  expect(nextSteps(halt(pending), { store })).toEqual([
    '24 calls wait for variables CITY',
    '  skein env t1 --stdin CITY',
  ])
})

it('C1: of many equal approvals the first are named, the rest is counted and found in the inbox', () => {
  const lines = nextSteps(halt(Array.from({ length: 10 }, (_, index) => item(index, {}))), { store })
  expect(lines.filter((line) => line.includes('skein approve'))).toHaveLength(3)
  expect(lines.slice(-2)).toEqual(['… and 7 more of publish', '  skein inbox --root t1'])
})

it('C1: what waits for different things is told apart; a child that has not begun has a request of its own', () => {
  const lines = nextSteps(
    halt([
      item(0, {}),
      item(1, { why: 'person', tool: 'ask' }),
      item(2, { why: 'variables', missing: ['A'], request: 'env_1_2' }),
      item(3, { why: 'variables', missing: ['A'], request: 'env_1_3' }),
    ]),
    { store },
  )
  expect(lines.filter((line) => line.startsWith('  '))).toEqual([
    '  skein approve t1/call_1_0',
    '  skein deny t1/call_1_0',
    '  skein answer t1/call_1_1 …',
    '  skein deny t1/call_1_1',
    '  skein env t1/call_1_2 --stdin A',
    '  skein deny t1/call_1_2',
    '  skein env t1/call_1_3 --stdin A',
    '  skein deny t1/call_1_3',
  ])
})
