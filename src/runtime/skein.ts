/**
 * The composition root: a skein is a host on a store and the handles on its threads. `createSkein` says what is
 * connected to what; the options and their defaults are in options.ts. Nothing is global: two skeins in one process
 * share nothing.
 */
import type { App } from '../agent/app.js'
import { agentNames } from '../agent/callable.js'
import { createDeclarations, isTooShort, tooShort } from '../agent/variables.js'
import type { HostProfile, HostSelf } from '../backend/host-info.js'
import type { Backend } from '../backend/port.js'
import { defined } from '../core/defined.js'
import { SkeinError, fromFailure } from '../core/failure.js'
import type { Failure } from '../core/failure.js'
import { createPool } from '../pool/pool.js'
import { loadAppWithTools } from './app/load.js'
import { debugged } from './debugging.js'
import { createModelGates } from './effects/model-gates.js'
import { createModels } from './effects/models.js'
import { OrphanedCalls } from './effects/orphaned-calls.js'
import { createClient, once } from './handles/client.js'
import type { SkeinClient } from './handles/client.js'
import { Host } from './host/host.js'
import { Janitor } from './host/janitor.js'
import { Quotas } from './host/quotas.js'
import { createLoad, profileOf } from './identity.js'
import { toSettings } from './options.js'
import type { Settings, SkeinOptions } from './options.js'
import { createAgentSetups } from './resolve/agent-setup.js'
import { createTurnRules } from './resolve/turn-rules.js'
import type { Services } from './services.js'
import { Environments } from './secrets/environment.js'
import { keySource } from './secrets/key-source.js'
import type { KeySource } from './secrets/key-source.js'
import { Secrets } from './secrets/secrets.js'

export interface Skein extends SkeinClient {
  /** Names of the agents of its app. */
  readonly agents: readonly string[]
  /** The host in this process. */
  readonly host: {
    /** How many threads are in memory. */
    readonly threadsAwake: number
    /** What it says of itself to others. */
    readonly profile: HostProfile
  }
}

export async function createSkein(options: SkeinOptions): Promise<Skein> {
  const settings = toSettings(options)
  const { clock, random, warn } = settings
  const key = keySource(options)
  const { app, disconnect } = await loadAppWithTools(options.app)
  const opened: (() => Promise<void>)[] = [disconnect]
  try {
    checkApp(app, settings)
    const pool = await createPool(app, settings.pool)
    opened.unshift(() => pool.close())
    // Workers import the app while the store is opened.
    const loading = pool.loads?.()
    const running: RunningHost = {}
    const self = hostSelf(options, settings, running)
    const backend = await settings.store.open('host', self)
    opened.push(() => backend.close())
    checkLoaded(await loading)
    const secrets = await openSecrets(app, key, backend)
    const janitor = new Janitor({ backend, clock, random, retention: settings.retention, warn })
    const quotas = options.quotas && (await Quotas.load(options.quotas, backend))
    const gates = createModelGates({ app, signals: backend.signals, clock, random })
    const envs = new Environments({ app, instance: settings.env, secrets })
    const { leaseMs } = backend.leases
    const services: Services = {
      app,
      clock,
      envs,
      pool: debugged(pool, { envs, warn }),
      blobs: backend.blobs,
      journal: backend.journal,
      leaseMs,
      orphans: new OrphanedCalls({ mailbox: backend.mailbox, clock, leaseMs, warn }),
      quota: settings.fileQuota,
      childLimits: settings.childLimits,
      setupOf: createAgentSetups(app),
      turnRules: createTurnRules(app, settings.host.rules),
      model: createModels(app, { clock, random, gates }),
      ...defined({ quotas }),
    }
    const host = await Host.open({
      backend,
      services,
      settings: settings.host,
      removed: () => janitor.sweep(),
    })
    running.host = host
    janitor.begin()
    const client = createClient({ backend, clock, random, secrets })
    const close = once(async () => {
      await Promise.all([janitor.close(), host.close()])
      gates.close()
      await pool.close()
      await disconnect()
      await client.close()
    })
    return withHost(client, { app, profile: self.profile, host, close })
  } catch (thrown) {
    for (const close of opened) await close()
    throw thrown
  }
}

/** The store is opened before the host, and is told of the host's work. */
interface RunningHost {
  host?: Host
}

interface HostParts extends Pick<Skein, 'close'> {
  readonly app: App
  readonly profile: HostProfile
  readonly host: Host
}

/** A client, and what only the process of a host knows. */
function withHost(client: SkeinClient, { app, profile, host, close }: HostParts): Skein {
  return {
    ...client,
    agents: agentNames(app),
    host: {
      get threadsAwake() {
        return host.work.awake
      },
      profile,
    },
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** What the store publishes about this host, and how it reports to it. */
function hostSelf({ app, name, version }: SkeinOptions, settings: Settings, running: RunningHost): HostSelf {
  const { clock, warn, host } = settings
  const load = createLoad()
  return {
    profile: profileOf(app, { clock, ...defined({ name, version }) }),
    work: () => ({ awake: 0, busy: 0, ...running.host?.work, load: load() }),
    warn: (what) => warn(what, undefined),
    reach: (server) => host.onHostEvent({ type: `server.${server}` }),
  }
}

/**
 * The vault is opened with the first value, but now where that would be too late: `scopedEnv` values are sealed while
 * the thread decides, which cannot wait for it; and a key file is read once, because it may be a pipe.
 */
async function openSecrets(app: App, key: KeySource | undefined, backend: Backend): Promise<Secrets> {
  const secrets = new Secrets({ source: key, backend })
  await secrets.join()
  if (declaresScoped(app) || key?.from === 'file') await secrets.ready()
  return secrets
}

function declaresScoped({ prompts }: App): boolean {
  return [...prompts.values()].some(({ tools = [] }) =>
    tools.some(
      (tool) =>
        typeof tool === 'object' &&
        'immediate' in tool &&
        typeof tool.immediate === 'object' &&
        tool.immediate.scopedEnv !== undefined,
    ),
  )
}

function checkLoaded(failed: Failure | undefined): void {
  if (!failed) return
  const advice =
    'every worker imports the app by itself; if it needs variables of the environment, name them in workers.env ' +
    '(--worker-env)'
  throw new SkeinError('APP_NOT_LOADED', `the app does not load in a worker: ${failed.message} (${advice})`, {
    cause: fromFailure(failed),
  })
}

/** A secret that is too short to be masked is refused (F3). */
function checkApp(app: App, { env, warn }: Settings): void {
  const { isDeclaredSecret } = createDeclarations(app)
  for (const [name, value] of Object.entries(env))
    if (isDeclaredSecret(name) && isTooShort(value))
      throw new SkeinError('BAD_OPTION', `the value of ${name}, ${tooShort}`)
  for (const warning of app.warnings) warn(warning, undefined)
}
