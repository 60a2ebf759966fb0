/**
 * Whether a Skein could run here: Node, the store, the key for secrets, the app, and threads for its tools. It opens nothing for
 * good and changes nothing.
 *
 * DI1 Every check is made, whatever came of the others, unless it needs what has failed.
 */
import type { App } from '../agent/app.js'
import type { BackendSource } from '../backend/port.js'
import { createCancel } from '../core/cancel.js'
import { systemClock } from '../core/clock.js'
import type { Clock } from '../core/clock.js'
import { toFailure } from '../core/failure.js'
import { finding } from '../core/finding.js'
import type { Finding } from '../core/finding.js'
import { emptyTree } from '../core/tree.js'
import { createTreeSource } from '../files/tree-source.js'
import { createPool } from '../pool/pool.js'
import type { Job } from '../pool/port.js'
import { equip } from './equip.js'
import type { AppSource } from './load-app.js'
import { keyFromText } from './vault-key.js'

export interface DiagnoseOptions {
  readonly backend?: BackendSource
  readonly app?: AppSource
  /** Default: `SKEIN_KEY`. */
  readonly key?: string
  readonly clock?: Clock
}

export async function diagnose({ backend, app: source, key = process.env['SKEIN_KEY'], clock = systemClock }: DiagnoseOptions): Promise<readonly Finding[]> {
  const store = await examined(backend, clock)
  const loaded = source === undefined ? undefined : await load(source)
  try {
    const app = loaded?.app
    return [nodeFinding(process.versions.node), ...store.findings, await keyFinding({ key, keepsKey: store.keepsKey, app }), ...(loaded?.findings ?? []), ...(loaded && !app ? [] : [await workersFinding(app)])]
  } finally {
    await loaded?.disconnect?.()
  }
}

const floor = [20, 19] as const

export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const fine = major > floor[0] || (major === floor[0] && minor >= floor[1])
  return fine ? finding('node', 'ok', `Node ${version}`) : finding('node', 'fail', `this is Node ${version}`, `Skein needs Node ${floor.join('.')} or newer`)
}

async function examined(backend: BackendSource | undefined, clock: Clock): Promise<{ readonly findings: readonly Finding[]; readonly keepsKey: boolean }> {
  const nothing = { findings: [], keepsKey: true }
  try {
    return (await backend?.examine?.(clock)) ?? nothing
  } catch (thrown) {
    return { ...nothing, findings: [finding('store', 'fail', toFailure(thrown, 'STORE_FAILED').message)] }
  }
}

async function keyFinding({ key, keepsKey, app }: { readonly key: string | undefined; readonly keepsKey: boolean; readonly app: App | undefined }): Promise<Finding> {
  if (key !== undefined) {
    const wrong = await keyFromText(key).then(() => undefined, (thrown: unknown) => toFailure(thrown, 'BAD_OPTION').message)
    return wrong === undefined ? finding('key', 'ok', 'there is a key for secrets (SKEIN_KEY)') : finding('key', 'fail', wrong)
  }
  if (keepsKey) return finding('key', 'ok', 'the store keeps the key for secrets')
  const needed = app && [...app.tools.values(), ...app.prompts.values(), ...app.agents.values()].some(({ variables = [] }) => variables.some(({ type = 'secret' }) => type === 'secret'))
  return finding('key', needed ? 'fail' : 'warn', `there is no key for secrets (SKEIN_KEY)${needed ? ', and the app declares some' : ': values of threads cannot be kept'}`, 'set SKEIN_KEY to the same 64 hex digits (openssl rand -hex 32) for all hosts and clients')
}

interface Loaded {
  readonly app?: App
  readonly findings: readonly Finding[]
  disconnect?(): Promise<void>
}

async function load(source: AppSource): Promise<Loaded> {
  try {
    const { app, disconnect } = await equip(source)
    const all = finding('app', 'ok', `its definitions fit together (${[...app.agents.keys()].slice(0, 10).join(', ')}${app.agents.size > 10 ? ', …' : ''})`)
    return { app, disconnect, findings: [all, ...app.warnings.map((warning) => finding('app', 'warn', warning))] }
  } catch (thrown) {
    return { findings: [finding('app', 'fail', toFailure(thrown, 'APP_NOT_LOADED').message)] }
  }
}

/** A tool of Skein's own in a thread that has loaded the app. */
async function workersFinding(app: App | undefined): Promise<Finding> {
  if (app && app.module === undefined) return finding('workers', 'ok', 'the app is no module: its tools run in this process')
  const pool = await createPool({ tools: new Map(), module: app?.module ?? 'data:text/javascript,' }, { clock: systemClock, threads: 1, graceMs: 1_000, memoryMb: 256 })
  try {
    const { outcome } = await pool.run(probe)
    return outcome.ok ? finding('workers', 'ok', `a tool has run in a worker thread${app ? ' that has loaded the app' : ''}`) : finding('workers', 'fail', `no tool can run in a worker thread: ${outcome.failure.message}`, 'every thread imports the app by itself: what it imports must work outside the main thread')
  } finally {
    await pool.close()
  }
}

const noBlobs = { put: () => Promise.reject(new RangeError('there is nothing to store')), get: () => ({ [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true as const, value: undefined }) }) }) }

const probe: Job = {
  tool: 'ls',
  args: { path: '/' },
  threadId: 'doctor',
  idempotencyKey: 'doctor',
  cancel: createCancel(),
  run: { part: 'execute' },
  env: {},
  secrets: [],
  desk: { open: async () => ({ files: createTreeSource({ tree: emptyTree, at: 0, quotaBytes: 0, blobs: noBlobs }), value: async () => ({ version: 0 }) }) },
  said: () => undefined,
}
