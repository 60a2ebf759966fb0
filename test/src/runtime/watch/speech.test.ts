/** Spoken text as strings, and which deltas a watcher hears. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DeltaEvent, SkeinEvent } from '../../../../src/core/records/event.js'
import { isSkeinError } from '../../../../src/core/failure.js'
import { createQueue } from '../../../../src/runtime/watch/async-queue.js'
import { textPieces } from '../../../../src/core/records/run-text.js'
import { createDeltaFilter } from '../../../../src/runtime/watch/delta-filter.js'
import { collect } from '../../../helpers/deferred.js'

const place = { thread: 't', path: ['t'], run: 'r', step: 1 }

function delta(text: string, offset: number, attempt = 1): DeltaEvent {
  return { ...place, type: 'text.delta', attempt, offset, text }
}

function reset(text: string, attempt: number): DeltaEvent {
  return { ...place, type: 'stream.reset', attempt, text }
}

function replied(text: string, step = 1): SkeinEvent {
  return {
    type: 'model.replied',
    step,
    model: 'm',
    text,
    calls: [],
    callIds: [],
    usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
    finish: 'stop',
    seq: 1,
    at: 0,
    thread: 't',
    path: ['t'],
    cursor: '1.1',
  }
}

async function* from(events: readonly SkeinEvent[]): AsyncGenerator<SkeinEvent> {
  yield* events
}

const spoken = (events: readonly SkeinEvent[]): Promise<string[]> => collect(textPieces(from(events), 'text'))

/** The attempts of a step, each in pieces; the last one counts. Gives its text. */
function spokenStep(events: SkeinEvent[], attempts: readonly (readonly string[])[], step: number): string {
  attempts.forEach((pieces, number) => {
    if (number > 0) events.push({ ...reset('', number + 1), step })
    let length = 0
    for (const piece of pieces) {
      events.push({ ...delta(piece, length, number + 1), step })
      length += piece.length
    }
  })
  const whole = (attempts.at(-1) ?? []).join('')
  events.push(replied(whole, step))
  return whole
}

/** What whoever can only add to a text can have shown before the reply counts. */
function shownOf(attempts: readonly (readonly string[])[]): string {
  return attempts.map((pieces) => pieces.join('')).reduce((shown, text) => (text.startsWith(shown) ? text : shown), '')
}

describe('textStream', () => {
  it('R1: deltas as they come, then what is left of the reply', async () => {
    expect(await spoken([delta('One ', 0), delta('two ', 4), replied('One two three')])).toEqual([
      'One ',
      'two ',
      'three',
    ])
  })

  it('R1: without any delta the whole reply', async () => {
    expect(await spoken([replied('One'), replied('Two', 2)])).toEqual(['One', 'Two'])
  })

  it('EV2: after a reset it goes on where the new attempt says the same, and ends where it does not', async () => {
    expect(
      await spoken([
        delta('The cat', 0),
        reset('', 2),
        delta('The ', 0, 2),
        delta('cat sat', 4, 2),
        replied('The cat sat'),
      ]),
    ).toEqual(['The cat', ' sat'])
    expect(await spoken([reset('', 2), delta('The dog', 0, 2), replied('The dog')])).toEqual(['The dog'])
    for (const other of ['The dog', 'The', '']) {
      const heard: string[] = []
      const hearing = (async () => {
        for await (const piece of textPieces(
          from([delta('The cat', 0), reset('', 2), delta(other, 0, 2), replied(other)]),
          'text',
        ))
          heard.push(piece)
      })()
      await expect(hearing).rejects.toMatchObject({
        code: 'TEXT_TAKEN_BACK',
        retry: true,
        data: { thread: 't', step: 1 },
      })
      expect(heard).toEqual(['The cat'])
    }
  })

  it('whatever breaks off and however often, all that is given is the beginning of what counts, or the stream says that it is not', async () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 6 })
    const attempts = fc.array(fc.array(letters, { maxLength: 4 }), { minLength: 1, maxLength: 4 })
    await fc.assert(
      fc.asyncProperty(fc.array(attempts, { minLength: 1, maxLength: 3 }), async (steps) => {
        const events: SkeinEvent[] = []
        const texts = steps.map((all, index) => spokenStep(events, all, index + 1))
        let given = ''
        const end = await (async () => {
          for await (const piece of textPieces(from(events), 'text')) given += piece
        })().catch((thrown: unknown) => thrown)
        const broken = steps.findIndex((all) => !(all.at(-1) ?? []).join('').startsWith(shownOf(all)))
        const told = broken === -1 ? 'nothing' : `TEXT_TAKEN_BACK in step ${broken + 1}`
        expect([isSkeinError(end) ? `${end.code} in step ${String(end.data?.['step'])}` : 'nothing', given]).toEqual([
          told,
          broken === -1 ? texts.join('') : texts.slice(0, broken).join('') + shownOf(steps[broken] ?? []),
        ])
      }),
    )
  })

  it('FW2: a delta after a gap waits for the reply', async () => {
    expect(await spoken([delta('One ', 0), delta('three', 8), replied('One two three')])).toEqual(['One ', 'two three'])
  })

  it('R1: however a text is cut and whatever is lost of it, the whole is heard in the end', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ text: fc.string({ minLength: 1, maxLength: 4 }), lost: fc.boolean() }), { maxLength: 12 }),
        async (pieces) => {
          const events: SkeinEvent[] = []
          let whole = ''
          for (const { text, lost } of pieces) {
            if (!lost) events.push(delta(text, whole.length))
            whole += text
          }
          expect((await spoken([...events, replied(whole)])).join('')).toBe(whole)
        },
      ),
    )
  })
})

describe('what fits', () => {
  it('FW2: text in its place, once, and none of an older attempt or an answered step', () => {
    const { fits, answered } = createDeltaFilter()
    expect(fits(delta('a', 0))).toBe(true)
    expect(fits(delta('a', 0))).toBe(false)
    expect(fits(delta('c', 2))).toBe(false)
    expect(fits(delta('b', 1))).toBe(true)
    expect(fits(reset('', 2))).toBe(true)
    expect(fits(delta('c', 2, 1))).toBe(false)
    expect(fits(delta('x', 0, 2))).toBe(true)
    answered('t', 1)
    expect(fits(delta('y', 0, 2))).toBe(false)
    expect(fits(delta('y', 0, 3))).toBe(false)
    expect(fits(reset('xy', 2))).toBe(false)
    expect(fits({ ...delta('z', 0), step: 2 })).toBe(true)
  })

  it('FW2: what another watcher asked to be repeated is not heard twice', () => {
    const { fits } = createDeltaFilter()
    expect(fits(delta('abc', 0))).toBe(true)
    expect(fits(reset('abc', 1))).toBe(false)
    expect(fits(delta('d', 3))).toBe(true)
  })

  it('FW2: a newcomer takes the text so far and goes on from there', () => {
    const { fits } = createDeltaFilter()
    expect(fits(delta('d', 3))).toBe(false)
    expect(fits(reset('abcd', 1))).toBe(true)
    expect(fits(delta('e', 4))).toBe(true)
  })

  it('FW2: threads of a tree speak independently', () => {
    const { fits } = createDeltaFilter()
    expect(fits(delta('a', 0))).toBe(true)
    expect(fits({ ...delta('b', 0), thread: 'u' })).toBe(true)
    expect(fits(delta('b', 1))).toBe(true)
  })
})

describe('a queue', () => {
  it('gives what was pushed in order, waits for more, and ends with its signal', async () => {
    const controller = new AbortController()
    const queue = createQueue<number>(controller.signal)
    queue.push(1)
    queue.push(2)
    expect([await queue.next(), await queue.next()]).toEqual([1, 2])
    const waiting = queue.next()
    queue.push(3)
    expect(await waiting).toBe(3)
    const last = queue.next()
    controller.abort()
    expect(await last).toBeUndefined()
    queue.push(4)
    expect(await queue.next()).toBeUndefined()
  })
})
