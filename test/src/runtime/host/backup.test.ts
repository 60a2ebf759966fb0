/** A copy of the embedded store, made while it is in use. */
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { local } from '../../../../src/backend/local/local.js'
import { memory } from '../../../../src/backend/memory/memory.js'
import type { Backend } from '../../../../src/backend/port.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { wakeWhole } from '../../../../src/runtime/journal/wake.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred } from '../../../helpers/deferred.js'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-backup-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Writes a small and a large file in every turn. */
function createApp() {
  const write = looseTool('write_both', async ({ files, threadId }, { n }) => {
    await files.writeFile(`/small-${String(n)}`, `${threadId} ${String(n)}`)
    await files.writeFile(`/large-${String(n)}`, `${threadId} ${String(n)} `.repeat(10_000))
    return 'written'
  })
  let n = 0
  return tinyApp({
    script: ({ step }) => (step === 0 ? calls({ tool: 'write_both', args: { n: n++ } }) : 'done'),
    tools: [write],
  }).app
}

/** Every thread folds, its chain is whole, and every file of it is there. */
async function audit(
  dir: string,
): Promise<{ readonly threads: number; readonly files: number; readonly messages: number }> {
  const backend: Backend = await local(dir).open('client')
  const client = await connectSkein({ backend: local(dir) })
  let files = 0
  let messages = 0
  try {
    const { heads } = await backend.heads.list({})
    for (const { thread, seq } of heads) {
      // Reads the whole journal, and checks the chain of it.
      expect((await wakeWhole(backend, thread)).state.seq).toBe(seq)
      const handle = await client.threads.get(thread)
      messages += (await handle.messages()).length
      for (const name of await handle.files.readdir('/')) {
        expect((await handle.files.readFile(`/${name}`, 'utf8')).startsWith(`${thread} `)).toBe(true)
        files++
      }
    }
    return { threads: heads.length, files, messages }
  } finally {
    await client.close()
    await backend.close()
  }
}

it('F8, BK1, BK2: a copy that is made under load opens, every thread in it folds, and its files are there; it goes on by itself', async () => {
  const store = join(folder, 'store')
  const skein = await createSkein({ app: createApp(), backend: local(store) })
  const threads = await Promise.all(
    Array.from({ length: 6 }, (_, n) => skein.threads.create({ agent: 'helper', id: `t${n}` })),
  )
  let loading = true
  let turns = 0
  const warm = deferred()
  const load = threads.map(async (thread) => {
    while (loading) {
      await thread.send('go').result()
      turns++
      if (turns === 2 * threads.length) warm.resolve()
    }
  })
  const acknowledged: number[] = []
  // A first turn loads and compiles what it runs, which may take longer than a copy of an empty store.
  await warm.promise
  for (let copy = 0; copy < 3; copy++) {
    const before = turns
    await skein.backup(join(folder, `copy-${copy}`))
    acknowledged.push(before)
    // The work went on while it was made.
    expect(turns).toBeGreaterThan(before)
  }
  loading = false
  await Promise.all(load)
  await skein.close()
  for (let copy = 0; copy < 3; copy++) {
    const { threads: found, files, messages } = await audit(join(folder, `copy-${copy}`))
    expect(found).toBe(6)
    // Whatever was acknowledged before it began is in it.
    expect(files).toBeGreaterThanOrEqual(2 * (acknowledged[copy] ?? 0))
    expect(messages).toBeGreaterThanOrEqual(4 * (acknowledged[copy] ?? 0))
  }
  const restored = await createSkein({ app: createApp(), backend: local(join(folder, 'copy-1')) })
  expect(await (await restored.threads.get('t0')).send('still there?').text()).toBe('done')
  await restored.close()
})

it('F8: a client makes one too, with or without a host, and the original stays as it is', async () => {
  const store = join(folder, 'store')
  const skein = await createSkein({ app: createApp(), backend: local(store) })
  await (await skein.threads.create({ agent: 'helper', id: 't' })).send('go').result()
  const client = await connectSkein({ backend: local(store) })
  await client.backup(join(folder, 'hosted'))
  await skein.close()
  await client.backup(join(folder, 'deep', 'er', 'alone'))
  await client.close()
  for (const copy of ['hosted', 'deep/er/alone', 'store'])
    expect(await audit(join(folder, copy))).toEqual({ threads: 1, files: 2, messages: 4 })
  expect((await stat(join(folder, 'hosted'))).mode & 0o777).toBe(0o700)
})

it('F8: a folder that has something in it is refused and left alone; a copy that fails leaves nothing', async () => {
  const store = join(folder, 'store')
  const skein = await createSkein({ app: createApp(), backend: local(store) })
  await skein.threads.create({ agent: 'helper', id: 't' })
  await writeFile(join(folder, 'file'), 'x')
  await expect(skein.backup(store)).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining('something in it'),
  })
  await expect(skein.backup(join(folder, 'file'))).rejects.toMatchObject({ code: 'BAD_OPTION' })
  await expect(skein.backup(join(folder, 'file', 'below'))).rejects.toMatchObject({
    code: expect.stringMatching(/BAD_OPTION|STORE_FAILED/),
  })
  expect((await readdir(folder)).sort()).toEqual(['file', 'store'])
  await skein.close()
  const volatile = await createSkein({ app: createApp(), backend: memory() })
  await expect(volatile.backup(join(folder, 'copy'))).rejects.toMatchObject({
    code: 'BAD_OPTION',
    message: expect.stringContaining('memory'),
  })
  await volatile.close()
})
