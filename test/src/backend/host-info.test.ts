/** Which of two hosts is the newer one, and what is understood of what another process says. */
import { expect, it } from 'vitest'
import { compareHosts, compareVersions, decodeHost, encodeHost, anonymousHost } from '../../../src/backend/host-info.js'

it('versions are ordered as Semantic Versioning has it, and none comes first', () => {
  const ordered = [
    undefined,
    '0.9.0',
    '1.0.0-alpha',
    '1.0.0-alpha.2',
    '1.0.0-alpha.10',
    '1.0.0-beta',
    '1.0.0',
    '1.2.0',
    '1.10.0',
    '2.0.0-rc.1',
    '2.0.0',
    '10.0.0',
  ]
  for (const [at, one] of ordered.entries())
    for (const [other, two] of ordered.entries())
      expect(Math.sign(compareVersions(one, two)), `${one} and ${two}`).toBe(Math.sign(at - other))
  expect(compareVersions('1.0.0+a', '1.0.0+b')).toBe(0)
})

it('the version of records goes before that of the app', () => {
  expect(compareHosts({ records: 3, appVersion: '1.0.0' }, { records: 2, appVersion: '9.0.0' })).toBeGreaterThan(0)
  expect(compareHosts({ records: 2, appVersion: '1.0.0' }, { records: 2 })).toBeGreaterThan(0)
  expect(compareHosts({ records: 2 }, { records: 2 })).toBe(0)
})

it('what is nothing that this Skein understands is a stranger', () => {
  for (const text of ['', 'x', '{}', '{"name":1}']) expect(decodeHost(text)).toEqual(encodeHost(anonymousHost))
  const known = { ...encodeHost(anonymousHost), name: 'pear/1', app: 'shop', since: 5 }
  expect(decodeHost(JSON.stringify({ ...known, later: true }))).toEqual(known)
})
