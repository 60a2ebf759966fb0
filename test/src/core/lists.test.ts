import { expect, it } from 'vitest'
import { noEntries, noItems, noKeys, withEntry, withItem, withKey } from '../../../src/core/lists.js'

it('what is added to an empty list, record or map is in one of its own, and what comes later in the same', () => {
  const list = withItem<number>(noItems, 1)
  const entries = withEntry<number>(noEntries, 'a', 1)
  const map = withKey<number>(noKeys, 'a', 1)
  expect([withItem(list, 2) === list, withEntry(entries, 'b', 2) === entries, withKey(map, 'b', 2) === map]).toEqual([
    true,
    true,
    true,
  ])
  expect([list, entries, [...map.keys()]]).toEqual([[1, 2], { a: 1, b: 2 }, ['a', 'b']])
  expect([noItems, noEntries, noKeys.size]).toEqual([[], {}, 0])
})

it('the shared empty list and record cannot be written to', () => {
  const list: number[] = noItems
  const entries: Record<string, number> = noEntries
  expect(() => list.push(1)).toThrow(TypeError)
  expect(() => (entries['a'] = 1)).toThrow(TypeError)
})
