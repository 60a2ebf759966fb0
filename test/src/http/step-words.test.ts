/** EV2 at the edges: what clients that cannot take words back are told of a step. */
import { expect, it } from 'vitest'
import { StepWords } from '../../../src/http/faces/step-words.js'
import type { WordPiece } from '../../../src/http/faces/step-words.js'
import type { SkeinEvent } from '../../../src/index.js'

const origin = { thread: 'one', path: ['one'], run: 'm', step: 1, attempt: 1 }
const delta = (offset: number, text: string): SkeinEvent => ({ ...origin, type: 'text.delta', offset, text })
const reset = (text: string): SkeinEvent => ({ ...origin, type: 'stream.reset', text })
const reply = (text: string): SkeinEvent => ({
  type: 'model.replied',
  thread: 'one',
  path: ['one'],
  seq: 3,
  at: 0,
  cursor: '3.3',
  step: 1,
  model: 'm',
  text,
  calls: [],
  callIds: [],
  usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
  finish: 'stop',
})

function told(...events: readonly SkeinEvent[]): readonly WordPiece[] {
  const words = new StepWords('text')
  return events.flatMap((event) => words.take(event) ?? [])
}

it('EV2: the reply adds what no delta said, also after a gap', () => {
  expect(told(delta(0, 'one '), delta(8, 'lost'), reply('one two lost'))).toEqual([
    { step: 1, piece: 'one ' },
    { step: 1, piece: 'two lost', last: true },
  ])
})

it('EV2: an attempt that begins with the same words goes on with what was told', () => {
  expect(told(delta(0, 'one two'), reset(''), delta(0, 'one'), delta(3, ' two three'), reply('one two three'))).toEqual(
    [
      { step: 1, piece: 'one two' },
      { step: 1, piece: ' three' },
      { step: 1, piece: '', last: true },
    ],
  )
})

it('EV2: only the reply takes words back', () => {
  expect(told(delta(0, 'one'), reset(''), delta(0, 'other'), reply('other words'))).toEqual([
    { step: 1, piece: 'one' },
    { step: 1, piece: 'other words', void: true, last: true },
  ])
})
