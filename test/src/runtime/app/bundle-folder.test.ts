/** Where bundles of TypeScript apps are written, and what stays there. */
import { spawnSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../../src/core/clock.js'

const ownModule = pathToFileURL(
  fileURLToPath(new URL('../../../../dist/src/runtime/app/load.js', import.meta.url)),
).href
const source = `
  export const model: object = { kind: 'model', name: 'fast', model: () => { throw new Error('not now') } }
  export const prompt = { kind: 'prompt', name: 'lead', prompt: 'You lead.', model: 'fast' }
  export const agent = { kind: 'agent', name: 'team', type: 'ai_human', sideA: { prompt: 'lead' } }
`
const dayMs = 24 * 60 * 60 * 1_000

describe('the folder of bundles', () => {
  let dir: string
  let temporary: string
  const shared = (): string => join(temporary, `skein-apps-${process.getuid?.() ?? 'own'}`)

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'skein-test-'))
    temporary = join(dir, 'tmp')
    await mkdir(temporary)
  })
  afterEach(() => rm(dir, { recursive: true, force: true }))

  /** In a process of its own: the temporary directory is a setting of the process. */
  const load = async (text = source, name = 'app.ts'): Promise<string> => {
    const path = join(dir, name)
    await writeFile(path, text)
    const script = `const { loadApp } = await import(${JSON.stringify(ownModule)}); const app = await loadApp(${JSON.stringify(
      path,
    )}); console.log([...app.agents.keys()].join())`
    const env = { ...process.env, TMPDIR: temporary, TEMP: temporary }
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { env })
    return `${String(stdout)}${String(stderr)}`.trim()
  }
  const old = async (path: string, ageMs: number): Promise<void> => {
    const at = new Date(systemClock.now() - ageMs)
    await writeFile(path, 'old')
    await utimes(path, at, at)
  }

  it('BF1: every run of an app outside of a project uses one folder, which no other user can write to', async () => {
    for (let run = 0; run < 2; run++) expect(await load()).toBe('team')
    expect(await readdir(temporary)).toEqual([`skein-apps-${process.getuid?.() ?? 'own'}`])
    expect(await readdir(shared())).toEqual([expect.stringMatching(/^[0-9a-f]{20}\.mjs$/)])
    expect((await stat(shared())).mode & 0o777).toBe(0o700)
  })

  it('BF1: a folder that others can write to, and a link, are not used; nothing is left by the run', async () => {
    await mkdir(shared())
    await chmod(shared(), 0o777)
    expect(await load()).toBe('team')
    expect(await readdir(shared())).toEqual([])
    await rm(shared(), { recursive: true })
    await mkdir(join(dir, 'elsewhere'), { mode: 0o700 })
    await symlink(join(dir, 'elsewhere'), shared())
    expect(await load()).toBe('team')
    expect(await readdir(join(dir, 'elsewhere'))).toEqual([])
    expect(await readdir(temporary)).toEqual([`skein-apps-${process.getuid?.() ?? 'own'}`])
  })

  it('BF2: bundles that nobody used for days go with the next one, what is younger or no bundle stays', async () => {
    const cache = join(dir, 'node_modules', '.cache', 'skein')
    await mkdir(cache, { recursive: true })
    await old(join(cache, 'a.mjs'), 4 * dayMs)
    await old(join(cache, 'b.mjs.77'), 4 * dayMs)
    await old(join(cache, 'c.mjs'), 2 * dayMs)
    await old(join(cache, 'notes.txt'), 40 * dayMs)
    expect(await load()).toBe('team')
    const names = await readdir(cache)
    expect(names.filter((name) => !/^[0-9a-f]{20}\.mjs$/.test(name)).sort()).toEqual(['c.mjs', 'notes.txt'])
    expect(names).toHaveLength(3)
    expect(await readdir(temporary)).toEqual([])
  })
})
