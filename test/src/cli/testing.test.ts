/** Threads as tests from the command line: export, replay, sim. */
import { readFile, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { app, fixture, objects, place } from './binary.js'

/** The app with this change, as a file. */
async function changed(folder: string, before: string, after: string): Promise<string> {
  const file = join(folder, 'other.ts')
  await symlink(fileURLToPath(new URL('../../../node_modules', import.meta.url)), join(folder, 'node_modules'))
  await writeFile(file, (await readFile(app, 'utf8')).replace(before, after))
  return file
}

it('B10, C1: export writes a thread into a file, replay asks an app about it: 0 same, 1 diverged', async () => {
  const { folder, seed, skein } = place()
  await seed({ agent: 'helper', id: 't1' })
  const file = join(folder, 'thread.json')
  expect(await skein(['export', 't1', '-o', file])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^1 thread, \d+ records, .* in .*thread\.json\n$/),
    stderr: '',
  })
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await skein(['replay', file, app])).toMatchObject({
    code: 0,
    stdout: 'same  thread t1, 2 steps\n',
    stderr: '',
  })
  expect(await skein(['replay', file, app, '--against', 'models'])).toMatchObject({ code: 0 })
  const other = await changed(folder, 'a: z.number()', 'a: z.number().max(0)')
  const diverged = await skein(['replay', file, other])
  expect(diverged).toMatchObject({ code: 1, stderr: '' })
  expect(diverged.stdout).toContain('diverged  thread t1, step 1, record 4 (refusal)\ncall 0 (add) was made; now it is')
  expect(objects((await skein(['replay', file, other, '--json'])).stdout)).toMatchObject([
    { same: false, thread: 't1', divergence: { step: 1, kind: 'refusal', now: { code: 'TOOL_INPUT_INVALID' } } },
  ])
})

it('B10, C1: export --pin keeps prompts and tools, which replay then compares; without -o it goes to stdout', async () => {
  const { folder, seed, skein } = place()
  await seed({ agent: 'helper', id: 't1' })
  const file = join(folder, 'thread.json')
  const { stdout } = await skein(['export', 't1', '--tree', '--pin', app])
  expect(JSON.parse(stdout)).toMatchObject({ format: 'skein-thread', requests: [{ thread: 't1', step: 1 }] })
  await writeFile(file, stdout)
  expect(await skein(['replay', file, app])).toMatchObject({ code: 0 })
  const other = await changed(folder, 'Adds two numbers', 'Adds them')
  expect(await skein(['replay', file, other])).toMatchObject({ code: 1, stdout: expect.stringContaining('(tools)') })
})

it('B10, C1: what cannot be exported or replayed exits 4 and says why', async () => {
  const { folder, seed, skein } = place()
  await seed({ agent: 'echo', id: 't1' })
  expect(await skein(['export', 'nobody'])).toMatchObject({ code: 4, stdout: '' })
  expect(await skein(['export', 't1', '-o', join(folder, 'no', 'where')])).toMatchObject({ code: 4, stdout: '' })
  const file = join(folder, 'thread.json')
  const told = async (text: string): Promise<string> => {
    await writeFile(file, text)
    const { code, stdout, stderr } = await skein(['replay', file, app])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    return stderr
  }
  expect(await told('')).toContain('is empty')
  expect(await told('{"a":1}')).toContain('is no exported thread')
  const { stdout } = await skein(['export', 't1'])
  expect(await told(stdout.replace('you said', 'you sang'))).toContain('is damaged at record')
  await writeFile(file, stdout)
  expect(await skein(['replay', file, join(folder, 'none.ts')])).toMatchObject({ code: 4 })
  expect(await skein(['replay', file, app, '--against', 'hope'])).toMatchObject({ code: 4 })
})

it('C1: bench measures memory and a folder, leaves nothing behind, and refuses what it cannot measure', async () => {
  const { folder, store, skein } = place()
  const told = await skein(['bench', '--seconds', '1', '--store', store])
  expect(told).toMatchObject({ code: 0, stderr: '' })
  expect(told.stdout).toMatch(
    /^Node v\d.*\nstart-up +\d+ ms .*\n\n.*µs per step +children per second\nmemory +\d+ +\d+\nfolder +\d+ +\d+\n\nof warm code.*\n$/,
  )
  const figure = z.number().positive()
  const figures = z.strictObject({ stepUs: figure, childrenPerSecond: figure })
  const [report] = objects((await skein(['--json', 'bench', '--seconds', '1', '--store', store])).stdout)
  const form = { node: z.string(), cpus: figure, startMs: figure, memory: figures, store: figures, folder: z.string() }
  expect(z.strictObject(form).parse(report).folder).toBe(store)
  expect(await readdir(folder)).toEqual([])
  await writeFile(join(folder, 'file'), '')
  for (const wrong of [
    ['--nats', 'nats://127.0.0.1:1', 'bench'],
    ['bench', '--seconds', 'many'],
    ['bench', '--seconds', '0'],
    ['bench', '--seconds', '-1'],
    ['bench', '--store', join(folder, 'file')],
  ])
    expect(await skein(wrong)).toMatchObject({ code: 4, stdout: '' })
})

it('B8, C1: sim runs the simulation of a file: 0 with what happened, 1 with the seed that fails, 4 without one', async () => {
  const { skein } = place()
  const file = fixture('simulation')
  expect(await skein(['sim', file])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^seeds +2\n/),
    stderr: '',
  })
  expect(objects((await skein(['sim', file, '--seeds', '1', '--seed', '7', '--json'])).stdout)).toMatchObject([
    { ok: true, seeds: 1, threads: 1 },
  ])
  process.env['SIM_EXPECTS'] = '2'
  onTestFinished(() => void delete process.env['SIM_EXPECTS'])
  const failed = await skein(['sim', file, '--seed', '3'])
  expect(failed).toMatchObject({ code: 1, stderr: '' })
  expect(failed.stdout).toMatch(/^seed 3 fails[^]*the bank was paid 1 times, not 2[^]*SKEIN_SEED=3/)
  expect(objects((await skein(['sim', file, '--json'])).stdout)).toMatchObject([{ ok: false, seed: 1 }])
  expect(await skein(['sim', app])).toMatchObject({ code: 4, stderr: expect.stringContaining('no simulation') })
  expect(await skein(['sim', 'nowhere.ts'])).toMatchObject({ code: 4, stdout: '' })
})
