/** A Map that shares its base with its copies: to whoever uses it, it is a Map. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { LayeredMap } from '../../../src/core/tree/layered-map.js'
import { times } from '../../helpers/soak.js'

type Step = readonly ['set', string, number] | readonly ['delete', string] | readonly ['copy']

const key = fc.string({ maxLength: 2 })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.tuple(fc.constant('set' as const), key, fc.nat(9)) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('delete' as const), key) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('copy' as const)) },
)

describe('a layered map', () => {
  it('holds what a Map holds, and a copy changes nothing of what it was copied from', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(key, fc.nat(9))), fc.array(step, { maxLength: 300 }), (first, steps) => {
        let plain = new Map(first)
        let layered = new LayeredMap<string, number>(new Map(first))
        const deleted: [boolean, boolean][] = []
        const earlier: [Map<string, number>, LayeredMap<string, number>][] = []
        for (const [kind, name = '', value = 0] of steps) {
          const isKnown = plain.has(name)
          if (kind === 'set') {
            plain.set(name, value)
            layered.set(name, value)
          } else if (kind === 'delete') {
            plain.delete(name)
            deleted.push([layered.delete(name), isKnown])
          } else {
            earlier.push([plain, layered])
            plain = new Map(plain)
            layered = layered.copy()
          }
          expect(layered.get(name)).toBe(plain.get(name))
          expect(layered.has(name)).toBe(plain.has(name))
          expect(layered.size).toBe(plain.size)
        }
        for (const [told, isKnown] of deleted) expect(told).toBe(isKnown)
        for (const [one, other] of [...earlier, [plain, layered] as const]) {
          const sorted = (map: Iterable<readonly [string, number]>) => [...map].toSorted(([a], [b]) => (a < b ? -1 : 1))
          expect(sorted(other)).toEqual(sorted(one))
          expect(new Set(other.keys())).toEqual(new Set(one.keys()))
          expect([...other.values()].toSorted()).toEqual([...one.values()].toSorted())
        }
      }),
      { numRuns: times(300, 2_000) },
    )
  })

  it('a copy costs what was changed: after thousands of changes, one by one, most copies share a base', () => {
    let map = new LayeredMap<number, number>(new Map())
    const bases = new Set<unknown>()
    for (let each = 0; each < 5_000; each++) {
      map = map.copy().set(each, each)
      bases.add(map.base)
      expect(map.changes.size).toBeLessThan(100)
    }
    expect([...map.keys()]).toEqual(Array.from({ length: 5_000 }, (_, each) => each))
    expect(bases.size).toBeLessThan(100)
  })
})
