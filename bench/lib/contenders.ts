/**
 * Who takes part in what: Skein in its modes, the floors, and the peers with their pinned packages. A peer is installed
 * into `bench/.peers/<name>` when it is not there, and its adapter is copied beside its packages, where they are found;
 * one that the project itself has for its tests is taken from there.
 */
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Workload } from './settings.js'

export interface Contender {
  readonly name: string
  readonly kind: 'skein' | 'floor' | 'peer'
  readonly mode: string
  readonly works: readonly Workload[]
  /** Longest W1; what is slower than that would only cost patience. */
  readonly longest: number
  /** Most children in W3. */
  readonly most?: number
  readonly version: string
  /** Absent for Skein, whose adapter is ours. */
  readonly adapterUrl?: string
  /** Another Node than that of this process. */
  readonly node?: { readonly version: string; readonly binary: string }
}

export interface Missing {
  readonly name: string
  readonly why: string
}

type Mode = Pick<Contender, 'mode' | 'works' | 'longest' | 'most'>

type Packages = Readonly<Record<string, string>>

interface Peer {
  /** Absent: the project has the package of this name already. */
  readonly packages?: Packages
  /** Versions of what they need, where the newest that they name cannot be had. */
  readonly overrides?: Packages
  readonly modes: readonly Mode[]
}

const longest = 10_000

const skeinModes: readonly Mode[] = [
  { mode: 'memory', works: ['w1', 'w2', 'w2b', 'w3', 'w6', 'w7', 'w9', 'w11', 'w12'], longest, most: 100_000 },
  {
    mode: 'local',
    works: ['w1', 'w2', 'w3', 'w4', 'w6', 'w7', 'w8', 'w9', 'w10', 'w11', 'w12', 'w13'],
    longest,
    most: 100_000,
  },
  { mode: 'power', works: ['w1'], longest },
  { mode: 'nats', works: ['w5', 'w6', 'w7', 'w10', 'w11'], longest },
]

const floors: readonly (Mode & { readonly name: string })[] = [
  { name: 'loop (floor)', mode: 'memory', works: ['w1', 'w2', 'w3', 'w4'], longest, most: 10_000 },
  { name: 'loop + piscina', mode: 'piscina', works: ['w2'], longest },
]

const peers: Readonly<Record<string, Peer>> = {
  cognipeer: {
    packages: { '@cognipeer/agent-sdk': '0.9.2', zod: '3.25.76' },
    modes: [{ mode: 'memory', works: ['w1', 'w2', 'w3', 'w4'], longest: 800, most: 10_000 }],
  },
  ai: { modes: [{ mode: 'memory', works: ['w2', 'w3'], longest: 0, most: 10_000 }] },
  langgraph: {
    packages: {
      '@langchain/langgraph': '1.4.18',
      langchain: '1.5.14',
      '@langchain/core': '1.2.13',
      '@langchain/langgraph-checkpoint': '1.1.5',
      '@langchain/langgraph-checkpoint-sqlite': '1.0.4',
      zod: '4.6.7',
    },
    overrides: { '@langchain/protocol': '0.0.19' },
    modes: [
      { mode: 'memory', works: ['w1', 'w2', 'w3'], longest: 800, most: 1_000 },
      { mode: 'sqlite', works: ['w1', 'w4'], longest: 400 },
    ],
  },
}

const bench = new URL('../', import.meta.url)
const run = promisify(execFile)
const installMs = 15 * 60_000

export async function findContenders(
  root: URL,
  withPeers: boolean,
): Promise<{ contenders: Contender[]; missing: Missing[] }> {
  const version = await versionOf(new URL('package.json', root))
  const skein = skeinModes.map((mode): Contender => ({ name: `skein ${mode.mode}`, kind: 'skein', version, ...mode }))
  const loops = floors.map((floor): Contender => ({
    kind: 'floor',
    version: '–',
    adapterUrl: new URL('peers/loop.mjs', bench).href,
    ...floor,
  }))
  const contenders = [...skein, ...loops]
  const missing: Missing[] = []
  for (const [name, peer] of withPeers ? Object.entries(peers) : []) {
    try {
      const { adapterUrl, packages } = await place(name, peer)
      const installed = await versionOf(packages)
      for (const mode of peer.modes)
        contenders.push({ name: `${name} ${mode.mode}`, kind: 'peer', version: installed, adapterUrl, ...mode })
    } catch (thrown) {
      missing.push({ name, why: thrown instanceof Error ? (thrown.message.split('\n')[0] ?? '') : String(thrown) })
    }
  }
  return { contenders, missing }
}

/** Where its adapter is, and what says which version it has. */
async function place(name: string, { packages, overrides = {} }: Peer): Promise<{ adapterUrl: string; packages: URL }> {
  if (!packages)
    return {
      adapterUrl: new URL(`peers/${name}.mjs`, bench).href,
      packages: new URL(`../node_modules/${name}/package.json`, bench),
    }
  const [main = name] = Object.keys(packages)
  return {
    adapterUrl: await install(name, packages, overrides),
    packages: new URL(`.peers/${name}/node_modules/${main}/package.json`, bench),
  }
}

/** Gives the URL of the adapter that was put beside the packages. */
async function install(name: string, packages: Packages, overrides: Packages): Promise<string> {
  const folder = new URL(`.peers/${name}/`, bench)
  await mkdir(folder, { recursive: true })
  if (!(await isInstalled(folder, packages))) {
    console.error(`installing ${name} into ${fileURLToPath(folder)}`)
    await writeFile(
      new URL('package.json', folder),
      JSON.stringify({ name: `bench-${name}`, private: true, type: 'module', overrides }),
    )
    const wanted = Object.entries(packages).map(([pack, version]) => `${pack}@${version}`)
    await run(
      'npm',
      ['install', '--legacy-peer-deps', '--no-audit', '--no-fund', '--no-save', '--no-package-lock', ...wanted],
      {
        cwd: fileURLToPath(folder),
        timeout: installMs,
        // A compiler may say much.
        maxBuffer: 64 * 1024 * 1024,
      },
    )
  }
  const adapter = new URL('adapter.mjs', folder)
  await cp(new URL(`peers/${name}.mjs`, bench), adapter)
  return adapter.href
}

async function isInstalled(folder: URL, packages: Packages): Promise<boolean> {
  try {
    const found = await Promise.all(
      Object.keys(packages).map((name) => versionOf(new URL(`node_modules/${name}/package.json`, folder))),
    )
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
