/** An app by URL: its tools run on worker threads, through a whole turn. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { memory } from '../../../../src/backend/memory/memory.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { collect } from '../../../helpers/deferred.js'

const memorySchema = z.object({ process: z.number(), found: z.number() })

/** What a module exports at least. */
const model =
  `export const model = { kind: 'model', name: 'm', model: { name: 'm', call: async () => { throw ` +
  `new Error('never') } } }`
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

it('F3: a secret is in the memory of the worker that runs the tool which declares it, and of no other', async () => {
  const skein = await createSkein({ app, backend: memory(), workers: { threads: 1 } })
  onTestFinished(() => skein.close())
  const thread = await skein.threads.create({ agent: 'worker', env: { TOKEN: `canary-${'0123456789abcdef'}` } })
  const looks = async (tool: string) => {
    const [call] = await thread.send(tool).toolCalls()
    return memorySchema.parse(call?.outcome?.ok ? call.outcome.value : undefined)
  }
  const knows = await looks('knows')
  const peeks = await looks('peeks')
  expect(knows.found).toBeGreaterThan(0)
  expect(peeks.found).toBe(0)
  expect(peeks.process).not.toBe(knows.process)
})

it('T14: one reply that asks for all places, and more, does not stop the tools of another tree', async () => {
  const greedyApp = fileURLToPath(new URL('../fixtures/greedy-app.ts', import.meta.url))
  const skein = await createSkein({
    app: greedyApp,
    backend: memory(),
    workers: { threads: 1, graceMs: 20 },
    limits: { maxParallelTools: 64, maxToolMs: 3_600_000 },
    closeGraceMs: 10,
  })
  const greedy = await skein.threads.create({ agent: 'greedy' })
  for await (const event of greedy.send('go').fullStream) if (event.type === 'model.replied') break
  const modest = await skein.threads.create({ agent: 'modest' })
  expect(await modest.send('go').text()).toBe('listed')
  expect(await greedy.status()).toBe('acting')
  await greedy.cancel()
  await skein.close()
})

it('D2: an app that does not load in a worker is refused at the start, with what to do', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-workers-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const needs = join(folder, 'needs.mjs')
  writeFileSync(
    needs,
    `if (!process.env.SKEIN_TEST_NEEDED) throw new Error('SKEIN_TEST_NEEDED is not set')\n${model}\n`,
  )
  process.env['SKEIN_TEST_NEEDED'] = 'here'
  onTestFinished(() => void delete process.env['SKEIN_TEST_NEEDED'])
  await expect(createSkein({ app: needs, backend: memory() })).rejects.toMatchObject({
    code: 'APP_NOT_LOADED',
    message: expect.stringMatching(/needs\.mjs:1:\d+: SKEIN_TEST_NEEDED is not set .*workers\.env/),
  })
  const skein = await createSkein({ app: needs, backend: memory(), workers: { env: ['SKEIN_TEST_NEEDED'] } })
  await skein.close()
})

it('E1, T14: memory with which no worker starts is refused when it is given; the least that is taken works', async () => {
  await expect(createSkein({ app, backend: memory(), workers: { memoryMb: 15 } })).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringMatching(/memoryMb.*at least 16/s),
  })
  const skein = await createSkein({ app, backend: memory(), workers: { threads: 1, memoryMb: 16 } })
  const thread = await skein.threads.create({ agent: 'worker' })
  expect(await thread.send('hashes').text()).toBe('hashes: done')
  await skein.close()
})

it('E1, T14: an app that needs more memory than its workers may have is refused at the start', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'skein-workers-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const large = join(folder, 'large.mjs')
  writeFileSync(large, `globalThis.kept = Array.from({ length: 1e6 }, (_, at) => ({ at }))\n${model}\n`)
  onTestFinished(() => void Reflect.deleteProperty(globalThis, 'kept'))
  const poor = { app: large, backend: memory(), workers: { threads: 1, memoryMb: 16 } }
  await expect(createSkein(poor)).rejects.toMatchObject({
    code: 'APP_NOT_LOADED',
    message: expect.stringContaining('raise workers.memoryMb'),
  })
})
