/** What a thread keeps of the contents it has read. */
import { expect, it } from 'vitest'
import { createContentCache } from '../../workers/thread/content-cache.js'

const bytes = (length: number): Uint8Array => new Uint8Array(length).fill(1)

it('what was used longest ago goes first', () => {
  const contents = createContentCache(3_000)
  for (const hash of ['a', 'b', 'c']) contents.keep(hash, bytes(1_000))
  contents.get('a')
  contents.keep('d', bytes(1_000))
  expect(['a', 'b', 'c', 'd'].map((hash) => contents.get(hash)?.length)).toEqual([1_000, undefined, 1_000, 1_000])
})

it('a content over 1 MB is not kept', () => {
  const contents = createContentCache(32 * 1024 * 1024)
  contents.keep('large', bytes(1024 * 1024 + 1))
  expect(contents.get('large')).toBeUndefined()
})

it('what is done to a content outside stays outside', () => {
  const contents = createContentCache(1_000)
  const given = bytes(3)
  contents.keep('a', given)
  given.fill(9)
  contents.get('a')?.fill(8)
  expect([...(contents.get('a') ?? [])]).toEqual([1, 1, 1])
})
