/** Who a host is: what its app's package says, and what is given instead. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { recordVersion } from '../../../../src/core/records/record.js'
import { manualClock } from '../../../../src/core/manual-clock.js'
import { profileOf } from '../../../../src/runtime/identity.js'

const clock = manualClock(7)

function folder(files: Readonly<Record<string, string>>): string {
  const made = mkdtempSync(join(tmpdir(), 'skein-identity-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  mkdirSync(join(made, 'src'))
  for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text)
  return made
}

it('a module and a folder have the name and version of their package; a list has none', () => {
  const at = folder({ 'package.json': '{"name":"shop","version":"1.4.0"}', 'src/app.ts': '' })
  const base = {
    name: `${hostname()}/${process.pid}`,
    since: 7,
    skein: expect.stringMatching(/^\d/),
    records: recordVersion,
  }
  for (const source of [join(at, 'src/app.ts'), pathToFileURL(join(at, 'src/app.ts')), join(at, 'src')])
    expect(profileOf(source, { clock })).toEqual({ ...base, app: 'shop', appVersion: '1.4.0' })
  expect(profileOf([], { clock })).toEqual(base)
  expect(profileOf([], { clock, name: 'blog', version: '2.0.0' })).toEqual({
    ...base,
    app: 'blog',
    appVersion: '2.0.0',
  })
})

it('what is given counts; the version of a package is not that of an app with another name', () => {
  const app = join(folder({ 'package.json': '{"name":"shop","version":"1.4.0"}', 'app.ts': '' }), 'app.ts')
  expect(profileOf(app, { clock, version: '9.0.0' })).toMatchObject({ app: 'shop', appVersion: '9.0.0' })
  expect(profileOf(app, { clock, name: 'blog' })).not.toHaveProperty('appVersion')
  expect(profileOf(app, { clock, name: 'shop' })).toMatchObject({ appVersion: '1.4.0' })
})

it('a package.json that cannot be read is named', () => {
  const app = join(folder({ 'package.json': '{', 'app.ts': '' }), 'app.ts')
  expect(() => profileOf(app, { clock })).toThrow(
    expect.objectContaining({ code: 'APP_NOT_LOADED', message: expect.stringContaining('package.json') }),
  )
})
