/**
 * The tests on another Node than the one that runs this (E1): `npm run test:node24`, or `tsx scripts/node.ts 26
 * [test/…]`. Its binary comes from the registry, as a package, into `.cache`; stores, pool and command line by
 * default, on memory and the local store.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const [version = '24', ...asked] = process.argv.slice(2)

const suites = [
  'test/contract/backend-memory.test.ts',
  'test/contract/backend-local.test.ts',
  'test/contract/pool',
  'test/src/backend/local',
  'test/src/cli',
  'test/src/runtime',
  'test/workers',
  'test/crash/kill-9.test.ts',
  'test/crash/kill-9-tree.test.ts',
]

function run(command: string, args: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...more } })
    child.once('error', reject).once('exit', (code) => resolve(code ?? 1))
  })
}

/** The binary, loaded once. */
async function binaryOf(wanted: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`
  const folder = join(root, '.cache', `node-${wanted}`)
  const binary = join(folder, 'node_modules', name, 'bin/node')
  if (existsSync(binary)) return binary
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  const code = await run('npm', [
    'install',
    '--prefix',
    folder,
    '--no-audit',
    '--no-fund',
    '--force',
    `${name}@${wanted}`,
  ])
  if (code !== 0 || !existsSync(binary))
    throw new Error(`there is no package ${name}@${wanted} with a Node for this machine`)
  return binary
}

const node = await binaryOf(version)
// Whatever a test starts by the name `node` is that one, too.
const env = { PATH: `${dirname(node)}:${process.env['PATH'] ?? ''}`, STORES: process.env['STORES'] ?? 'memory,local' }
process.exitCode = await run(
  node,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...(asked.length > 0 ? asked : suites)],
  env,
)
