/** TypeScript apps see themselves and others as if nobody had bundled them. */
import { mkdtemp, realpath, rm, symlink, mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSkein, memory } from '../../../../src/index.js'
import { writeFiles } from '../../../install/project.js'
import { workspaceFiles } from '../../../install/workspace.js'

const installed = (name: string): string => fileURLToPath(new URL(`../../../../node_modules/${name}`, import.meta.url))

describe('a TypeScript app', () => {
  let dir: string
  beforeEach(async () => {
    dir = await realpath(await mkdtemp(join(tmpdir(), 'skein-sources-')))
    await writeFiles(dir, workspaceFiles)
    await mkdir(join(dir, 'node_modules/@acme'), { recursive: true })
    await symlink(installed('zod'), join(dir, 'node_modules/zod'))
    await symlink(join(dir, 'packages/units'), join(dir, 'node_modules/@acme/units'))
  })
  afterEach(() => rm(dir, { recursive: true, force: true }))

  const answer = async (app: string, text: string): Promise<string> => {
    const skein = await createSkein({ app: join(dir, app), backend: memory() })
    try {
      return await (await skein.threads.create({ agent: 'hello' })).send(text).text()
    } finally {
      await skein.close()
    }
  }

  it('D2: has tsconfig paths, TypeScript packages of its workspace and its own import.meta, in a worker', async () => {
    const own = join(dir, 'src/app.ts')
    expect(await answer('src/app.ts', 'greet')).toBe(
      `Good day grams ${pathToFileURL(own).pathname} ${join(dir, 'src')} ${own}`,
    )
  })

  it('D2: misses a lazily imported package only when it asks for it, and its stack names its own lines', async () => {
    const line =
      (workspaceFiles['src/app.ts'] ?? '').split('\n').findIndex((text) => text.includes("new Error('here')")) + 1
    const said = await answer('src/app.ts', 'fail')
    expect(said).toMatch(/Cannot find package 'not-installed-anywhere'/)
    expect(said).toContain(`${join(dir, 'src/app.ts')}:${line}:`)
  })

  it('has require, import.meta.resolve and __dirname, wherever its files lie', async () => {
    await writeFiles(dir, {
      'src/lib/data.cjs': `module.exports = { where: __dirname, name: require('./other.cjs') }`,
      'src/lib/other.cjs': `module.exports = 'other'`,
      'src/more.ts': `import data from './lib/data.cjs'
import * as app from './app.js'
import { z } from 'zod'
import { defineTool } from 'skein'
const { version } = require('zod/package.json') as { version: string }
export const { model, fail, prompt, agent } = app
export const greet = defineTool({ name: 'greet', description: '', args: z.object({}), execute: () => [data.where, data.name, typeof version, import.meta.resolve('./x.txt'), import.meta.resolve('zod/package.json')].join(' ') })`,
    })
    const resolved = pathToFileURL(await realpath(join(installed('zod'), 'package.json'))).href
    expect(await answer('src/more.ts', 'greet')).toBe(
      `${join(dir, 'src/lib')} other string ${pathToFileURL(join(dir, 'src/x.txt')).href} ${resolved}`,
    )
  })

  it('D2: an import at the top that is not there is told with its name and file', async () => {
    await writeFiles(dir, { 'src/broken.ts': `import 'not-installed-anywhere'\nexport * from './app.js'` })
    const refused = createSkein({ app: join(dir, 'src/broken.ts'), backend: memory() })
    await expect(refused).rejects.toMatchObject({
      code: 'APP_NOT_LOADED',
      message: expect.stringMatching(/src\/broken\.ts:1:8: Could not resolve "not-installed-anywhere"$/),
    })
  })
})
