/** The local backend passes the suite of all backends, in both durabilities. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { local } from '../../src/backend/local/local.js'
import { backendContract } from './backend.js'

for (const durability of ['process', 'power'] as const) {
  backendContract(`local, durability '${durability}'`, async () => {
    const dir = await mkdtemp(join(tmpdir(), 'skein-contract-'))
    return { source: local(dir, { durability }), remove: () => rm(dir, { recursive: true, force: true }) }
  })
}
