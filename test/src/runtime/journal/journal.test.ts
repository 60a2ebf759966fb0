/** Entries and snapshots: what is packed comes out again, and what was tampered with does not. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { fold } from '../../../../actors/thread/fold.js'
import type { StoredEntry } from '../../../../src/backend/port.js'
import { recordVersion } from '../../../../src/core/records/record.js'
import type { ThreadRecord } from '../../../../src/core/records/record.js'
import { chainStart, createEntryReader, decode, pack } from '../../../../src/runtime/journal/journal.js'
import { freeze, thaw } from '../../../../src/runtime/journal/snapshot.js'
import { happenings, live } from '../../../helpers/life.js'
import { times } from '../../../helpers/soak.js'

/** Packs records in commits of these sizes, as a backend would keep them. */
function store(records: readonly ThreadRecord[], sizes: readonly number[] = []): StoredEntry[] {
  const entries: StoredEntry[] = []
  let chain = chainStart
  for (let at = 0; at < records.length;) {
    const size = sizes[entries.length % Math.max(1, sizes.length)] ?? 2
    const { first, count, body, hash } = pack(records.slice(at, at + size), chain)
    chain = hash
    entries.push({ first, count, body, hash, thread: 't', position: entries.length + 1 })
    at += size
  }
  return entries
}

const readAll = (entries: readonly StoredEntry[]): readonly ThreadRecord[] => {
  const reader = createEntryReader('t', { seq: 0, chain: chainStart })
  return entries.flatMap((entry) => reader.unpack(entry))
}

const sizes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 })
const lives = happenings.map((all) => live(all)).filter(({ records }) => records.length > 6)

describe('the journal', () => {
  it('what was packed comes out as it was, however it was divided into commits', () => {
    fc.assert(
      fc.property(lives, sizes, ({ records }, parts) => {
        const entries = store(records, parts)
        expect(readAll(entries)).toEqual(JSON.parse(JSON.stringify(records)))
        expect(entries.flatMap((entry) => decode('t', entry))).toEqual(readAll(entries))
      }),
    )
  })

  it('P2: an entry that was changed, lost, doubled or moved is found, with its place', () => {
    fc.assert(
      fc.property(lives, fc.nat(), fc.nat(5), ({ records }, pick, how) => {
        const entries = store(records)
        const at = pick % (entries.length - 1)
        const [one, two] = [entries[at], entries[at + 1]]
        if (!one || !two) return
        const changes: readonly (readonly StoredEntry[])[] = [
          entries.with(at, { ...one, body: one.body.replace('"at":', '"at":1') }),
          entries.with(at, { ...one, body: `${one.body} ` }),
          entries.toSpliced(at, 1),
          entries.toSpliced(at, 0, one),
          entries.with(at, two).with(at + 1, one),
          entries.with(at, { ...one, count: one.count + 1 }),
        ]
        expect(() => readAll(changes[how] ?? [])).toThrow(
          expect.objectContaining({ code: 'JOURNAL_CORRUPT', data: { thread: 't', seq: expect.any(Number) } }),
        )
      }),
      { numRuns: times(100, 300) },
    )
  })

  it('reading on from the middle checks the chain from there', () => {
    const { records } = live([
      { kind: 'command', command: { kind: 'message', text: 'a', role: 'user', delivery: 'steer' } },
      { kind: 'reply', text: 'b', calls: [], stop: false },
    ])
    const [first, second] = store(records)
    if (!first || !second) throw new Error('two entries were expected')
    expect(createEntryReader('t', { seq: 2, chain: first.hash }).unpack(second)).toHaveLength(2)
    expect(() => createEntryReader('t', { seq: 2, chain: 'other' }).unpack(second)).toThrow(
      expect.objectContaining({ code: 'JOURNAL_CORRUPT' }),
    )
  })

  it.each([
    ['[]', 'JOURNAL_CORRUPT'],
    ['null', 'JOURNAL_CORRUPT'],
    ['{"v":"1","r":[]}', 'JOURNAL_CORRUPT'],
    ['{"v":0,"r":[]}', 'JOURNAL_CORRUPT'],
    [`{"v":${recordVersion + 1},"r":[]}`, 'RECORD_FROM_FUTURE'],
    ['{"v":1', 'JOURNAL_CORRUPT'],
  ])('P2: the text %s is refused with %s', (body, code) => {
    expect(() => decode('t', { thread: 't', position: 1, first: 1, count: 1, body, hash: '' })).toThrow(
      expect.objectContaining({ code }),
    )
  })

  it('an entry has at least one record', () => {
    expect(() => pack([], chainStart)).toThrow(RangeError)
  })
})

describe('snapshots', () => {
  it('a snapshot at any point and the tail give the state of the whole', () => {
    fc.assert(
      fc.property(happenings, fc.nat(80), (all, cut) => {
        const { records, state } = live(all)
        const at = Math.min(cut, records.length)
        const half = live(all.slice(0, 0)).state
        for (const record of records.slice(1, at)) fold(half, record)
        const thawed = thaw('t', freeze({ state: half, chain: 'c' }))
        if (!thawed) throw new Error('the snapshot was not understood')
        expect(thawed.chain).toBe('c')
        const { skipped } = thawed.state.transcript
        for (const record of records.slice(half.seq)) fold(thawed.state, record)
        expect({ ...thawed.state, transcript: undefined }).toEqual({ ...state, transcript: undefined })
        expect([...half.transcript.items.slice(0, skipped), ...thawed.state.transcript.items]).toEqual(
          state.transcript.items,
        )
      }),
      { numRuns: times(100, 300) },
    )
  })

  it('none, one of another thread, and noise are as good as none', () => {
    const { state } = live([])
    const bytes = freeze({ state, chain: 'c' })
    expect(thaw('t', undefined)).toBeUndefined()
    expect(thaw('other', bytes)).toBeUndefined()
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (noise) => {
        expect(thaw('t', noise)).toBeUndefined()
      }),
    )
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), (length) => {
        expect(thaw('t', bytes.slice(0, length))).toBeUndefined()
      }),
    )
    for (let at = 0; at < bytes.length; at++) {
      const damaged = Uint8Array.from(bytes)
      damaged[at] = (damaged[at] ?? 0) ^ 1
      expect(thaw('t', damaged)).toBeUndefined()
    }
  })
})
