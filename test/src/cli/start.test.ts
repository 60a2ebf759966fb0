/** The binary on this Node: which SQLite and which cache serve it is not seen, but for the time that they save. */
import { existsSync } from 'node:fs'
import module from 'node:module'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { place } from './binary.js'

it('E1: commands say nothing of the SQLite that serves them; what Node compiled is kept in the folder of the user', async () => {
  const { folder, store, seed, spawned } = place()
  await seed({ agent: 'echo', id: 't1' })
  const cache = join(folder, 'cache')
  const env = { XDG_CACHE_HOME: cache }
  expect(await spawned(['ps', '--json'], { env })).toMatchObject({ code: 0, stderr: '' })
  expect(existsSync(join(cache, 'skein'))).toBe('enableCompileCache' in module)
  const copied = await spawned(['backup', join(folder, 'copy')], { env: { XDG_CACHE_HOME: join(store, 'skein.db') } })
  expect(copied).toMatchObject({ code: 0, stderr: expect.not.stringContaining('Warning') })
})
