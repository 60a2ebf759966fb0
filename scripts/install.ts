/**
 * The first hour of a user, in full: the packed tarball in empty projects, with each package manager, the oldest and
 * the newest zod and TypeScript. `npm run test:install`; the short form of it is test/install/install.test.ts.
 */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { emptyFolder, mustRun, pack, root, writeFiles } from '../test/install/project.js'
import { checkApp, checkBundle, checkMade, checkPrograms, measure } from '../test/install/checks.js'
import type { Project } from '../test/install/checks.js'
import { workspaceFiles } from '../test/install/workspace.js'

const oldestZod = '4.3.0'
const compilers = ['5.5.4', '5.6', '5.7', '5.8', '5.9', '6', '7'] as const

const { folder, remove } = await emptyFolder()
let failures = 0

async function step(name: string, work: () => Promise<unknown>): Promise<void> {
  const began = Date.now()
  const failed = await work().then(
    (said) =>
      console.log(
        `✓ ${name} (${((Date.now() - began) / 1000).toFixed(1)} s)${typeof said === 'string' ? `: ${said}` : ''}`,
      ),
    (thrown: unknown) => thrown ?? new Error('no reason was given'),
  )
  if (failed === undefined) return
  failures++
  console.log(`✗ ${name}\n${failed instanceof Error ? failed.message : String(failed)}`)
}

const manifest = (more: object = {}): string =>
  JSON.stringify({ name: 'user', version: '1.0.0', private: true, type: 'module', ...more })

/** A project in a folder of its own; `install` puts packages into it. */
async function project(name: string, install: (at: string) => Promise<unknown>, more: object = {}): Promise<Project> {
  const at = `${folder}/${name}`
  await writeFiles(at, { 'package.json': manifest(more) })
  await install(at)
  return { folder: at }
}

const npm =
  (...packages: readonly string[]) =>
  (at: string) =>
    mustRun(at, 'npm', ['install', '--no-audit', '--no-fund', ...packages])

/** Makes a project in the folder, as the package manager that is named would. */
const init = (at: string, manager: string): Promise<unknown> =>
  mustRun(folder, process.execPath, [`${root}/dist/src/cli/main.js`, 'init', at, '--pm', manager])

/** A made project with the tarball in place of the published package, which other managers than npm would look for. */
async function initWith(manager: string, version: string, tarball: string): Promise<void> {
  const at = `${folder}/init-${manager}`
  await init(at, manager)
  const made = await readFile(`${at}/package.json`, 'utf8')
  await writeFiles(at, { 'package.json': made.replace(/"skein": "[^"]*"/, `"skein": "file:${tarball}"`) })
  await mustRun(at, 'npx', ['--yes', version, 'install'])
  await checkMade({ folder: at }, ['npx', '--yes', version, 'run'])
}

/** Parts of it, by name; `tsx scripts/install.ts pnpm` runs one. */
const parts: Readonly<Record<string, (tarball: string) => Promise<void>>> = {
  bare: (tarball) =>
    step('npm: nothing is warned of, and it works with install scripts blocked', async () => {
      const measured = await measure(`${folder}/bare`, [tarball, 'zod'])
      return `${measured.packages} packages, ${measured.megabytes} MB, ${measured.seconds} s`
    }),

  async compilers(tarball) {
    await project('compilers', npm(...compilers.map((version) => `ts-${version}@npm:typescript@${version}`)))
    for (const [zod, versions] of [
      ['latest', compilers],
      [oldestZod, [compilers[0], compilers.at(-1) ?? '7']],
    ] as const) {
      const user = await project(
        `zod-${zod}`,
        npm(tarball, `zod@${zod}`, 'zod-oldest@npm:zod@4.0.0', '@types/node@20', 'esbuild'),
      )
      for (const version of versions) {
        const tsc = `${folder}/compilers/node_modules/ts-${version}/bin/tsc`
        // Before 5.7 the declarations of Node and of others are for newer compilers.
        const libraries = !/^5\.[56]/.test(version)
        await step(
          `npm, zod ${zod}, TypeScript ${version}: the README's program and all public types`,
          async () => void (await checkPrograms(user, { tsc, libraries })),
        )
      }
      await step(`npm, zod ${zod}: Skein in a bundle of esbuild`, () => checkBundle(user))
    }
  },

  workspace: (tarball) =>
    step('npm workspace: tsconfig paths, a TypeScript package, import.meta', async () => {
      const more = { workspaces: ['packages/*'], dependencies: { '@acme/units': '1.0.0' } }
      const install = async (at: string): Promise<void> => {
        await writeFiles(at, workspaceFiles)
        await npm(tarball, 'zod')(at)
      }
      await checkApp(await project('workspace', install, more))
    }),

  pnpm: (tarball) =>
    step("pnpm: the README's program, and an app in a workspace", async () => {
      const packages = [
        tarball,
        'zod',
        'typescript',
        '@types/node@20',
        'zod-oldest@npm:zod@4.0.0',
        '@acme/units@workspace:*',
      ]
      const user = await project('pnpm', async (at) => {
        await writeFiles(at, { ...workspaceFiles, 'pnpm-workspace.yaml': 'packages:\n  - packages/*\n' })
        await mustRun(at, 'npx', ['--yes', 'pnpm@10', 'add', '-w', '--ignore-scripts', ...packages])
      })
      await checkPrograms(user)
      await checkApp(user)
    }),

  async init(tarball) {
    await step('init, npm: a package of a workspace, whose root has the only lockfile', async () => {
      const top = await project('init-workspace', async () => undefined, { workspaces: ['packages/*'] })
      const made = `${top.folder}/packages/desk`
      await init(made, 'npm')
      await npm(tarball, '-w', 'desk')(top.folder)
      await checkMade({ folder: made })
      if (existsSync(`${made}/package-lock.json`)) throw new Error('there is a lockfile in the package')
    })
    await step('init, pnpm', () => initWith('pnpm', 'pnpm@10', tarball))
    await step('init, bun', () => initWith('bun', 'bun@1', tarball))
  },
}

try {
  const tarball = await pack(folder)
  const asked = process.argv.slice(2)
  for (const [name, part] of Object.entries(parts)) if (asked.length === 0 || asked.includes(name)) await part(tarball)
} finally {
  await remove()
}
process.exitCode = failures === 0 ? 0 : 1
