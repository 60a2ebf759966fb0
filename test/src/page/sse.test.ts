/** V2: the page reads server-sent events wherever the bytes are cut. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SseParser } from '../../../src/page/link/sse.js'
import type { SentEvent } from '../../../src/page/link/sse.js'

function parse(chunks: readonly Uint8Array[]): readonly SentEvent[] {
  const events: SentEvent[] = []
  const parser = new SseParser((event) => events.push(event))
  for (const chunk of chunks) parser.push(chunk)
  return events
}

const text = fc.string({ unit: 'binary' }).map((value) => JSON.stringify(value))
const event = fc.record({ event: fc.constantFrom('tree', 'clock', 'roots'), data: fc.array(text, { minLength: 1 }) })

it('V2: events are the same, wherever their bytes are cut and however their lines end', () => {
  fc.assert(
    fc.property(
      fc.array(event),
      fc.constantFrom('\n', '\r\n'),
      fc.infiniteStream(fc.integer({ min: 1, max: 7 })),
      (sent, end, sizes) => {
        const written = sent.map(({ event: name, data }) =>
          [': a comment', 'id: 3', `event: ${name}`, ...data.map((line) => `data: ${line}`), '', ''].join(end),
        )
        const bytes = new TextEncoder().encode(written.join(''))
        const chunks: Uint8Array[] = []
        for (let from = 0; from < bytes.length;) {
          const size = sizes.next().value ?? 1
          chunks.push(bytes.slice(from, from + size))
          from += size
        }
        // A carriage return at the very end may be half of a line break: it waits for what follows.
        const known = sent.map(({ event: name, data }) => ({ event: name, data: data.join('\n') }))
        expect(parse(chunks)).toEqual(known)
      },
    ),
    { numRuns: 200 },
  )
})

it('V2: what has no data is no event', () => {
  expect(parse([new TextEncoder().encode('event: a\n\nretry: 1000\n\n: \n\ndata\n\n')])).toEqual([
    { event: 'message', data: '' },
  ])
})
