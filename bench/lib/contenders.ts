/**
 * Who takes part: Skein in its modes, the floor, and the peers with their pinned packages. A peer is installed into
 * `bench/.peers/<name>` when it is not there, and its adapter is copied beside its packages, where they are found.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export interface Contender {
  readonly name: string
  readonly kind: 'skein' | 'floor' | 'peer'
  readonly mode: string
  /** Longest W1; what is slower than that would only cost patience. */
  readonly longest: number
  readonly version: string
  /** Absent for Skein, whose adapter is ours. */
  readonly adapterUrl?: string
}

export interface Missing {
  readonly name: string
  readonly why: string
}

interface Peer {
  readonly packages: Readonly<Record<string, string>>
  readonly modes: readonly { readonly mode: string; readonly longest: number }[]
}

const peers: Readonly<Record<string, Peer>> = {
  cognipeer: { packages: { '@cognipeer/agent-sdk': '0.9.2', zod: '3.25.76' }, modes: [{ mode: 'memory', longest: 800 }] },
  langgraph: {
    packages: {
      '@langchain/langgraph': '1.4.18',
      langchain: '1.5.14',
      '@langchain/core': '1.2.13',
      '@langchain/langgraph-checkpoint': '1.1.5',
      '@langchain/langgraph-checkpoint-sqlite': '1.0.4',
      zod: '4.6.7',
    },
    modes: [
      { mode: 'memory', longest: 800 },
      { mode: 'sqlite', longest: 400 },
    ],
  },
}

const bench = new URL('../', import.meta.url)
const run = promisify(execFile)
const installMs = 5 * 60_000

export async function findContenders(root: URL, withPeers: boolean): Promise<{ contenders: Contender[]; missing: Missing[] }> {
  const version = await versionOf(new URL('package.json', root))
  const skein = ['memory', 'local', 'power'].map((mode): Contender => ({ name: `skein ${mode}`, kind: 'skein', mode, longest: 10_000, version }))
  const floor: Contender = { name: 'loop (floor)', kind: 'floor', mode: 'memory', longest: 10_000, version: '–', adapterUrl: new URL('peers/loop.mjs', bench).href }
  const contenders = [...skein, floor]
  const missing: Missing[] = []
  for (const [name, peer] of withPeers ? Object.entries(peers) : []) {
    try {
      const adapterUrl = await install(name, peer)
      const [main = name] = Object.keys(peer.packages)
      const installed = await versionOf(new URL(`.peers/${name}/node_modules/${main}/package.json`, bench))
      for (const { mode, longest } of peer.modes) contenders.push({ name: `${name} ${mode}`, kind: 'peer', mode, longest, version: installed, adapterUrl })
    } catch (thrown) {
      missing.push({ name, why: thrown instanceof Error ? (thrown.message.split('\n')[0] ?? '') : String(thrown) })
    }
  }
  return { contenders, missing }
}

/** Gives the URL of the adapter that was put beside the packages. */
async function install(name: string, { packages }: Peer): Promise<string> {
  const folder = new URL(`.peers/${name}/`, bench)
  await mkdir(folder, { recursive: true })
  if (!(await isInstalled(folder, packages))) {
    console.error(`installing ${name} into ${fileURLToPath(folder)}`)
    await writeFile(new URL('package.json', folder), JSON.stringify({ name: `bench-${name}`, private: true, type: 'module' }))
    const wanted = Object.entries(packages).map(([pack, version]) => `${pack}@${version}`)
    await run('npm', ['install', '--no-audit', '--no-fund', '--no-save', '--no-package-lock', ...wanted], { cwd: fileURLToPath(folder), timeout: installMs })
  }
  const adapter = new URL('adapter.mjs', folder)
  await cp(new URL(`peers/${name}.mjs`, bench), adapter)
  return adapter.href
}

async function isInstalled(folder: URL, packages: Peer['packages']): Promise<boolean> {
  try {
    const found = await Promise.all(Object.keys(packages).map((name) => versionOf(new URL(`node_modules/${name}/package.json`, folder))))
    return Object.values(packages).every((version, index) => found[index] === version)
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return false
    throw thrown
  }
}

async function versionOf(file: URL): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(file, 'utf8'))
  return version
}
