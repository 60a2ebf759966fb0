/** `skein init`: what it writes, what it refuses, and the commands that it prints. Installing is in test/install. */
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { objects, place } from './binary.js'

const npm = { npm_config_user_agent: 'npm/11.0.0 node/v20.19.0' }

it('E6: init makes a project and prints how to run it; a second time it refuses, and names the files', async () => {
  const { folder, skein } = place()
  const at = join(folder, 'my-agents')
  const made = await skein(['init', at], { env: npm })
  expect(made).toMatchObject({ code: 0, stderr: '' })
  expect(made.stdout).toMatch(
    /^made my-agents in .*my-agents: 10 files\n\n {2}cd .*\n {2}npm install\n {2}npm start +# /,
  )
  expect(readdirSync(at, { recursive: true }).sort()).toEqual([
    '.gitignore',
    'README.md',
    'app',
    'app/agents',
    'app/agents/assistant.ts',
    'app/models',
    'app/models/main.ts',
    'app/offline.ts',
    'app/prompts',
    'app/prompts/assistant.ts',
    'app/tools',
    'app/tools/add.ts',
    'package.json',
    'test',
    'test/app.test.ts',
    'tsconfig.json',
  ])
  expect(JSON.parse(readFileSync(join(at, 'package.json'), 'utf8'))).toMatchObject({
    name: 'my-agents',
    type: 'module',
    scripts: { start: expect.any(String), dev: 'skein dev app', test: 'vitest run' },
    dependencies: { skein: expect.stringMatching(/^\^\d/), zod: expect.stringMatching(/^\^4/) },
  })
  expect(readFileSync(join(at, '.gitignore'), 'utf8').split('\n')).toEqual(['node_modules', '.skein', '.env', ''])
  writeFileSync(join(at, 'README.md'), 'mine')
  expect(await skein(['init', at], { env: npm })).toMatchObject({
    code: 4,
    stderr: expect.stringContaining(
      'has package.json, tsconfig.json, .gitignore, README.md, test/app.test.ts, app already',
    ),
  })
  expect(readFileSync(join(at, 'README.md'), 'utf8')).toBe('mine')
})

it('E6: files that it does not write are left alone; one that it would replace stops it before it writes', async () => {
  const { folder, skein } = place()
  const [fine, taken] = [join(folder, 'fine'), join(folder, 'taken')]
  mkdirSync(join(fine, '.git'), { recursive: true })
  writeFileSync(join(fine, 'LICENSE'), 'mine')
  expect(await skein(['init', fine], { env: npm })).toMatchObject({ code: 0 })
  expect(readFileSync(join(fine, 'LICENSE'), 'utf8')).toBe('mine')
  mkdirSync(join(taken, 'app'), { recursive: true })
  expect(await skein(['init', taken], { env: npm })).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/taken has app already/),
  })
  expect(readdirSync(taken)).toEqual(['app'])
  writeFileSync(join(folder, 'file'), '')
  expect(await skein(['init', join(folder, 'file')], { env: npm })).toMatchObject({ code: 4 })
})

it('E6: a name that no package may have is refused, with what to do', async () => {
  const { folder, skein } = place()
  for (const name of ['My App', 'node_modules', '_x', '@x', 'a/b', 'x'.repeat(215)])
    expect(await skein(['init', join(folder, 'p'), '--name', name]), name).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('choose another'),
    })
  expect(await skein(['init', join(folder, 'My App')])).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/"My App" is no name for a package.*--name/),
  })
  expect(await skein(['init', join(folder, 'zod')])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('is a package that the project depends on'),
  })
  expect(await skein(['init', join(folder, 'p'), '--pm', 'cargo'])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('npm, pnpm, bun'),
  })
  expect(readdirSync(folder)).toEqual([])
  expect(await skein(['init', join(folder, 'My App'), '--name', '@acme/desk'])).toMatchObject({ code: 0 })
})

it('E6: the commands are those of the package manager that runs it, and at the root of a workspace', async () => {
  const { folder, skein } = place()
  const commandsOf = async (name: string, env: Readonly<Record<string, string>>, ...flags: readonly string[]) => {
    const { stdout, stderr } = await skein(['init', join(folder, name), '--json', ...flags], { env })
    const [{ commands, files } = {}] = objects(stdout)
    return { commands: (commands as readonly string[]).slice(1, 4), files, stderr }
  }
  expect(await commandsOf('one', {})).toMatchObject({ commands: ['npm install', 'npm start', 'npm test'] })
  expect(await commandsOf('two', { npm_config_user_agent: 'pnpm/10.1.0 npm/? node/v20' })).toMatchObject({
    commands: ['pnpm install', 'pnpm start', 'pnpm test'],
    files: expect.arrayContaining(['pnpm-workspace.yaml']),
  })
  expect(await commandsOf('three', npm, '--pm', 'bun')).toMatchObject({
    commands: ['bun install', 'bun run start', 'bun run test'],
  })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ workspaces: ['packages/*', '!packages/old'] }))
  expect(await commandsOf('packages/four', npm)).toMatchObject({
    commands: ['npm install', 'npm start -w four', 'npm test -w four'],
    stderr: '',
  })
  for (const name of ['packages/old', 'five'])
    expect((await commandsOf(name, npm)).stderr, name).toContain('the workspace does not have it yet')
  writeFileSync(join(folder, 'pnpm-workspace.yaml'), `packages:\n  # ours\n  - 'packages/**'\n`)
  const six = await commandsOf('packages/a/six', npm, '--pm', 'pnpm')
  expect(six).toMatchObject({
    commands: ['pnpm install', 'pnpm --filter six start', 'pnpm --filter six test'],
    stderr: '',
  })
  expect(six.files).not.toContain('pnpm-workspace.yaml')
})
