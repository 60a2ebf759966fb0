/**
 * The first hour of a user, in short: one npm project with the tarball. In full: `npm run test:install`
 * (scripts/install.ts).
 */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { checkMade, checkPrograms, measure } from './checks.js'
import { emptyFolder, mustRun, pack, root } from './project.js'

/** It loads packages of a registry. */

describe('an empty project', () => {
  let folder = ''
  beforeAll(async () => {
    const empty = await emptyFolder()
    folder = empty.folder
    return empty.remove
  })

  const newest = join(root, 'node_modules/typescript/bin/tsc')

  it('E7: installs without a warning, a compiler and install scripts, and nothing in it is under a copyleft licence', async () => {
    const { packages, megabytes } = await measure(folder, [
      await pack(folder),
      'zod',
      '@types/node@20',
      'zod-oldest@npm:zod@4.0.0',
      'typescript@5.5.4',
    ])
    expect(packages).toBeLessThan(75)
    expect(megabytes).toBeLessThan(130)
  })

  it('E7, D8: the README and every public type compile with the oldest TypeScript and the newest, with two copies of zod, and the README runs', async () => {
    const said = await checkPrograms({ folder }, { tsc: newest, libraries: true })
    expect(await checkPrograms({ folder })).toBe(said)
  })

  it('E7: the docs are in the package', async () => {
    expect(await readdir(join(folder, 'node_modules/skein/docs'))).toContain('tools.md')
  })
})

it('E6: what init makes is installed, starts offline, and passes its own test', { timeout: 600_000 }, async () => {
  const { folder, remove } = await emptyFolder()
  onTestFinished(remove)
  const made = join(folder, 'my-agents')
  await mustRun(folder, process.execPath, [join(root, 'dist/src/cli/main.js'), 'init', 'my-agents'])
  await mustRun(made, 'npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', await pack(folder)])
  expect(await checkMade({ folder: made })).toContain('It is 42.')
})
