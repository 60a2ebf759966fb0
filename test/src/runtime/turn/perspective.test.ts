/** Views of a transcript: what each of two sides reads of it, and what that costs. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { startTurn } from '../../../../actors/thread/turn/turn.js'
import { createState } from '../../../../actors/thread/state.js'
import type { ThreadState } from '../../../../actors/thread/state.js'
import type { Message, SideName } from '../../../../src/core/records/message.js'
import { windowOf } from '../../../../src/runtime/resolve/prompt-window.js'
import { times } from '../../../helpers/soak.js'

const side = fc.constantFrom<SideName>('a', 'b')
const text = fc.constantFrom('', 'yes', 'no')
const message: fc.Arbitrary<Omit<Message, 'id'>> = fc.oneof(
  fc.record({
    role: fc.constantFrom('user' as const, 'assistant' as const, 'system' as const),
    text,
    at: fc.constant(1),
  }),
  fc.record({ role: fc.constant('assistant' as const), text, at: fc.constant(1), side }),
  fc.record({
    role: fc.constant('assistant' as const),
    text,
    at: fc.constant(1),
    side,
    calls: fc.constant([{ id: 'call_1_0', tool: 'look', args: {} }]),
  }),
  fc.record({
    role: fc.constant('tool' as const),
    text,
    at: fc.constant(1),
    side,
    call: fc.constant('call_1_0'),
    tool: fc.constant('look'),
  }),
  fc
    .record({ role: fc.constant('assistant' as const), text, at: fc.constant(1), side })
    .map((said): Omit<Message, 'id'> => ({ ...said, to: said.side === 'a' ? 'b' : 'a' })),
  fc.record({ role: fc.constant('user' as const), text, at: fc.constant(1), to: side }),
)

/** The rule of S11, said once more: from the whole history, for every request. */
function naive(items: readonly Message[], own: SideName): string[] {
  const seen: string[] = []
  for (const { id, role, text: said, side: by, to, calls } of items) {
    if (to !== undefined && to !== own) continue
    if (role === 'system') seen.push(`${id} system ${said}`)
    else if (by === own) seen.push(`${id} ${role} ${said}${calls ? ' calls' : ''}`)
    else if (by !== undefined) {
      if (role === 'assistant' && said !== '') seen.push(`${id} user ${said}`)
    } else if (to === own) seen.push(`${id} user ${said}`)
    else if (own === 'a') seen.push(`${id} ${role} ${said}`)
    else seen.push(`${id} ${role === 'user' ? 'assistant' : 'user'} ${said}`)
  }
  return seen
}

/** A thread whose side is to speak. */
function threadOf(items: Message[]): ThreadState {
  return { ...createState('t'), transcript: { skipped: 0, items } }
}

function viewOf(thread: ThreadState, own: SideName): readonly Message[] {
  startTurn(thread, { type: 'turn.started', run: 'r', at: 0, session: { side: own, maxTurns: 9 } })
  return windowOf(thread, {})
}

const told = (messages: readonly Message[]): string[] =>
  messages.map(({ id, role, text: said, calls }) => `${id} ${role} ${said}${calls ? ' calls' : ''}`)

it('S11: a view that grows with its transcript is what the whole history gives, also after that was read again', () => {
  const happens = fc.oneof(
    { weight: 6, arbitrary: message },
    { weight: 2, arbitrary: side },
    { weight: 1, arbitrary: fc.constant('read again' as const) },
  )
  fc.assert(
    fc.property(fc.array(happens, { maxLength: 60 }), (all) => {
      const thread = threadOf([])
      const { transcript } = thread
      const seen: string[][] = []
      const right: string[][] = []
      const ask = (own: SideName): void => {
        seen.push(told(viewOf(thread, own)))
        right.push(naive(transcript.items, own))
      }
      for (const [index, next] of all.entries()) {
        if (next === 'read again') transcript.items = [...transcript.items]
        else if (typeof next === 'string') ask(next)
        else transcript.items.push({ id: String(index), ...next })
      }
      ask('a')
      ask('b')
      expect(seen).toEqual(right)
    }),
    { numRuns: times(200, 500) },
  )
})

it('a request looks at nothing that an earlier one has looked at', () => {
  const read: string[] = []
  const items: Message[] = []
  const say = (id: string): void => {
    const said: Message = { id, role: 'assistant', side: 'a', at: 1, text: id }
    items.push(
      Object.defineProperty({ ...said }, 'text', {
        get: () => {
          read.push(id)
          return id
        },
      }),
    )
  }
  const thread = threadOf(items)
  for (let step = 0; step < 1_000; step++) {
    say(String(step))
    expect(viewOf(thread, 'b')).toHaveLength(step + 1)
    expect(viewOf(thread, 'b')).toBe(viewOf(thread, 'b'))
  }
  expect(read).toHaveLength(1_000)
})
