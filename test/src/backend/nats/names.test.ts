/** Ids as tokens of subjects. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createSubjects, idIn, partitionOf, rootIn } from '../../../../src/backend/nats/subjects.js'

const names = createSubjects('ns')

it('whatever an id is, it is one token of a subject and comes back; different ids are different tokens', () => {
  const id = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }),
    fc.constantFrom('*', '>', 'a.b', '=YQ', 'a b', '\r\n', '$JS', 'a/b/c'),
  )
  fc.assert(
    fc.property(id, id, (one, other) => {
      const subject = names.log(3, one, other)
      expect(subject).toMatch(/^ns\.log\.3\.[\w=-]+\.[\w=-]+$/)
      expect([rootIn(subject), idIn(subject)]).toEqual([one, other])
      expect(names.mail(0, one) === names.mail(0, other)).toBe(one === other)
    }),
  )
})

it('an id that is too long for a subject is refused by name', () => {
  expect(() => names.mail(0, 'x'.repeat(1_001))).toThrow(
    expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining('1001 bytes') }),
  )
})

it('partitions are known by the id alone and are about equally large', () => {
  const counts = Array.from({ length: 64 }, () => 0)
  for (let n = 0; n < 64_000; n++) {
    const partition = partitionOf(`thread-${n}`, 64)
    counts[partition] = (counts[partition] ?? 0) + 1
  }
  expect(Math.min(...counts)).toBeGreaterThan(850)
  expect(Math.max(...counts)).toBeLessThan(1_150)
  // Fixed for ever: another answer would lose threads.
  expect(['a', 'thread-1', 'ü'].map((id) => partitionOf(id, 64))).toEqual([18, 47, 10])
})
