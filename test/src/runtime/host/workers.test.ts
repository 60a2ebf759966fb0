/** An app by URL: its tools run on worker threads, through a whole turn. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { memory } from '../../../../src/backend/memory/memory.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { collect } from '../../../helpers/deferred.js'

const app = fileURLToPath(new URL('../fixtures/threads-app.ts', import.meta.url))

it('T14, B9: cancel ends a turn whose tool loops for ever; the thread and the pool go on', async () => {
  const skein = await createSkein({ app, backend: memory(), workers: { threads: 1, graceMs: 20 } })
  const thread = await skein.threads.create({ agent: 'worker' })
  const run = thread.send('loops')
  for await (const event of run.fullStream) if (event.type === 'model.replied') break
  expect(await thread.cancel({ reason: 'enough' })).toBe(true)
  expect(await run.result()).toMatchObject({ stopReason: 'cancelled' })
  expect(await thread.send('hashes').text()).toBe('hashes: done')
  await skein.close()
})

it('T14, B9: a tool that computes holds up neither the host nor other threads', async () => {
  const skein = await createSkein({ app, backend: memory(), workers: { threads: 1, graceMs: 20 }, closeGraceMs: 10 })
  const busy = (await skein.threads.create({ agent: 'worker' })).send('loops')
  await busy.accepted()
  const other = await skein.threads.create({ agent: 'worker' })
  // It computes in a lane of its own, so the looping one is not in its way.
  const calls = await collect(other.send('hashes').toolCallsStream)
  expect(calls).toMatchObject([{ tool: 'hashes', outcome: { ok: true } }])
  await skein.close()
})

it('D2: an app that does not load in a worker is refused at the start, with what to do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-workers-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const needs = join(folder, 'needs.mjs')
  const model =
    `export const model = { kind: 'model', name: 'm', model: { name: 'm', call: async () => { throw ` +
    `new Error('never') } } }`
  writeFileSync(
    needs,
    `if (!process.env.SKEIN_TEST_NEEDED) throw new Error('SKEIN_TEST_NEEDED is not set')\n${model}\n`,
  )
  process.env['SKEIN_TEST_NEEDED'] = 'here'
  onTestFinished(() => void delete process.env['SKEIN_TEST_NEEDED'])
  await expect(createSkein({ app: needs, backend: memory() })).rejects.toMatchObject({
    code: 'APP_NOT_LOADED',
    message: expect.stringMatching(/SKEIN_TEST_NEEDED is not set.*workers\.env/),
  })
  const skein = await createSkein({ app: needs, backend: memory(), workers: { env: ['SKEIN_TEST_NEEDED'] } })
  await skein.close()
})
