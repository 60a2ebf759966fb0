/**
 * Checks whether a Skein could run here: Node, the store, the key for secrets, the app, and workers for its tools. It
 * closes what it opens, and changes nothing.
 *
 * - A failed check does not stop the others, except those that need what failed.
 */
import { z } from 'zod'
import type { App } from '../agent/app.js'
import { isOfPrompt } from '../agent/callable.js'
import type { Store } from '../backend/port.js'
import { createCancel } from '../core/async/cancel.js'
import { systemClock } from '../core/clock.js'
import type { Clock } from '../core/clock.js'
import { toFailure } from '../core/failure.js'
import { finding } from '../core/finding.js'
import type { Finding } from '../core/finding.js'
import { checkOptions } from '../core/options.js'
import { emptyTree } from '../core/tree.js'
import { createTreeSource } from '../files/tree-source.js'
import { createPool } from '../pool/pool.js'
import type { WorkerEnv } from '../pool/processes/worker-env.js'
import type { ToolJob } from '../pool/port.js'
import type { McpDefinition } from '../tools/foreign/server.js'
import { commandsOf } from '../tools/own/host-tools.js'
import { loadAppWithTools } from './app/load.js'
import { storeSchema } from './handles/client.js'
import { workerEnvSchema } from './options.js'
import { keySource } from './secrets/key-source.js'
import type { KeyOptions, KeySource } from './secrets/key-source.js'
import type { AppSource } from './app/load.js'

export interface DiagnoseOptions extends KeyOptions {
  readonly backend?: Store
  readonly app?: AppSource
  /** As for `createSkein`: the variables that workers have. */
  readonly workers?: { readonly env?: WorkerEnv }
  /** The environment with SKEIN_KEY and SKEIN_KEY_FILE. Default: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly clock?: Clock
}

const optionsSchema = z.strictObject({
  backend: storeSchema().optional(),
  app: z.custom<AppSource>().optional(),
  workers: z.strictObject({ env: workerEnvSchema() }).optional(),
  // `process.env` is no plain record.
  env: z.custom<DiagnoseOptions['env']>((value) => typeof value === 'object').optional(),
  clock: z.custom<Clock>().optional(),
  // A wrong key is a finding, not a mistake of the caller.
  key: z.unknown().optional(),
  keyFile: z.unknown().optional(),
})

export async function diagnose(options: DiagnoseOptions): Promise<readonly Finding[]> {
  checkOptions(optionsSchema, options, 'diagnose')
  const { backend, app: source, clock = systemClock } = options
  const key = configuredKey(options)
  const store = await examine(backend, clock)
  const loaded = source === undefined ? undefined : await load(source)
  try {
    const app = loaded?.app
    return [
      nodeFinding(process.versions.node),
      ...store.findings,
      await keyFinding({ key, keepsKey: store.keepsKey, app }),
      ...(loaded?.findings ?? []),
      ...(loaded?.app ? commandFindings(loaded.app, loaded.servers ?? [], key) : []),
      ...(loaded && !app ? [] : [await workersFinding(app, options.workers?.env)]),
    ]
  } finally {
    await loaded?.disconnect?.()
  }
}

/** The oldest Node that Skein runs on. */
const minNode = [20, 19] as const

export function nodeFinding(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const fine = major > minNode[0] || (major === minNode[0] && minor >= minNode[1])
  return fine
    ? finding('node', 'ok', `Node ${version}`)
    : finding('node', 'fail', `this is Node ${version}`, `Skein needs Node ${minNode.join('.')} or newer`)
}

async function examine(
  backend: Store | undefined,
  clock: Clock,
): Promise<{ readonly findings: readonly Finding[]; readonly keepsKey: boolean }> {
  const nothing = { findings: [], keepsKey: true }
  try {
    return (await backend?.examine?.(clock)) ?? nothing
  } catch (thrown) {
    return { ...nothing, findings: [finding('store', 'fail', toFailure(thrown, 'STORE_FAILED').message)] }
  }
}

type ConfiguredKey = KeySource | { readonly wrong: string } | undefined

function configuredKey({ env, ...options }: DiagnoseOptions): ConfiguredKey {
  try {
    return keySource(options, env)
  } catch (thrown) {
    return { wrong: toFailure(thrown, 'BAD_OPTION').message }
  }
}

interface KeyContext {
  readonly key: ConfiguredKey
  readonly keepsKey: boolean
  readonly app: App | undefined
}

async function keyFinding({ key, keepsKey, app }: KeyContext): Promise<Finding> {
  if (key !== undefined) {
    const wrong = 'wrong' in key ? key.wrong : await readError(key)
    if (wrong !== undefined) return finding('key', 'fail', wrong)
    return finding('key', 'ok', `there is a key for secrets (${'name' in key ? key.name : ''})`)
  }
  if (keepsKey) return finding('key', 'ok', 'the store keeps the key for secrets')
  const needed =
    app &&
    [...app.tools.values(), ...app.prompts.values(), ...app.agents.values()].some(({ variables = [] }) =>
      variables.some(({ type = 'secret' }) => type === 'secret'),
    )
  const consequence = needed ? ', and the app declares some' : ': values of threads cannot be kept'
  const advice =
    'let SKEIN_KEY_FILE name a file with the same 64 hex digits (openssl rand -hex 32) for all hosts and clients'
  return finding('key', needed ? 'fail' : 'warn', `there is no key for secrets${consequence}`, advice)
}

async function readError(source: KeySource): Promise<string | undefined> {
  return source.read().then(
    () => undefined,
    (thrown: unknown) => toFailure(thrown, 'BAD_OPTION').message,
  )
}

/** Commands that the app starts as the host's own user can read the store and its key. */
function commandFindings(app: App, servers: readonly McpDefinition[], key: ConfiguredKey): readonly Finding[] {
  const started = [
    ...[...app.tools.values()].flatMap((tool) => commandsOf(tool) ?? []),
    ...servers.flatMap((server) =>
      'command' in server ? [{ name: `the MCP server ${server.name}`, uid: server.uid }] : [],
    ),
  ]
  if (started.length === 0) return []
  const own = process.getuid?.()
  const exposed = started.filter(({ uid }) => uid === undefined || uid === own)
  if (exposed.length === 0)
    return [finding('commands', 'ok', 'the commands that the app starts run as users of their own')]
  const variable = key && 'from' in key && key.from === 'environment' ? key : undefined
  const alsoKey = variable
    ? `, and SKEIN_KEY in the environment of ${variable.exposed ? 'this host' : 'whoever started it'}`
    : ''
  const names = exposed.map(({ name }) => name).join(', ')
  const says = `${names} run as the user of this host, and can read what it can: its store with the key in it${alsoKey}`
  const advice = 'give them a user of their own: hostTools({ uid, gid }), fromMcp({ uid, gid })'
  return [finding('commands', 'warn', says, variable ? `${advice}; and give the key by SKEIN_KEY_FILE` : advice)]
}

interface Loaded {
  readonly app?: App
  readonly servers?: readonly McpDefinition[]
  readonly findings: readonly Finding[]
  disconnect?(): Promise<void>
}

async function load(source: AppSource): Promise<Loaded> {
  try {
    const { app, servers, disconnect } = await loadAppWithTools(source)
    return {
      app,
      servers,
      disconnect,
      findings: [appFinding(app), ...app.warnings.map((warning) => finding('app', 'warn', warning))],
    }
  } catch (thrown) {
    return { findings: [finding('app', 'fail', toFailure(thrown, 'APP_NOT_LOADED').message)] }
  }
}

function appFinding(app: App): Finding {
  const agents = [...app.agents.keys()].filter((name) => !isOfPrompt(name))
  if (agents.length === 0)
    return finding(
      'app',
      'fail',
      'it has no agents, so no thread can be created',
      'export what defineAgent gives, or put it into agents/',
    )
  return finding(
    'app',
    'ok',
    `its definitions fit together (${agents.slice(0, 10).join(', ')}${agents.length > 10 ? ', …' : ''})`,
  )
}

/** Runs one of Skein's own tools in a worker that has loaded the app. */
async function workersFinding(app: App | undefined, env: WorkerEnv | undefined): Promise<Finding> {
  if (app && app.module === undefined)
    return finding('workers', 'ok', 'the app is no module: its tools run in this process')
  const pool = await createPool(
    { tools: new Map(), module: app?.module ?? 'data:text/javascript,' },
    { clock: systemClock, threads: 1, graceMs: 1_000, memoryMb: 256, env },
  )
  try {
    const { outcome } = await pool.run(probe)
    return outcome.ok
      ? finding('workers', 'ok', `a tool has run in a worker process${app ? ' that has loaded the app' : ''}`)
      : finding(
          'workers',
          'fail',
          `no tool can run in a worker process: ${outcome.failure.message}`,
          'every worker imports the app by itself, with the environment that workers.env (--worker-env) names',
        )
  } finally {
    await pool.close()
  }
}

const noBlobs = {
  put: () => Promise.reject(new RangeError('there is nothing to store')),
  get: () => ({ [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true as const, value: undefined }) }) }),
}

const probe: ToolJob = {
  tool: 'ls',
  args: { path: '/' },
  threadId: 'doctor',
  idempotencyKey: 'doctor',
  cancel: createCancel(),
  run: { part: 'execute' },
  env: {},
  secrets: [],
  snapshot: {
    open: async () => ({
      files: createTreeSource({ tree: emptyTree, at: 0, quotaBytes: 0, blobs: noBlobs }),
      value: async () => ({ version: 0 }),
      entries: async () => ({ version: 0, entries: [] }),
    }),
  },
  emit: () => undefined,
}
