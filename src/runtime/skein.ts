/**
 * The composition root: a skein is a host on a store and the handles on its threads. `createSkein` says what is
 * connected to what; the options and their defaults are in options.ts. Nothing is global: two skeins in one process
 * share nothing.
 */
import type { App } from '../agent/app.js'
import { agentNames } from '../agent/callable.js'
import { outlineOf } from '../agent/outline.js'
import type { AppOutline } from '../agent/outline.js'
import type { HostProfile, HostSelf } from '../backend/host-info.js'
import type { Backend, Send } from '../backend/port.js'
import { LoopShare } from '../core/async/loop-share.js'
import { defined } from '../core/defined.js'
import type { HostGauges } from '../observe/port.js'
import type { AppSource } from './app/load.js'
import { createEndpoints } from './endpoints.js'
import type { ThreadEndpoints } from './endpoints.js'
import { readMedia } from './effects/model-call.js'
import { createModelGates } from './effects/model-gates.js'
import type { ModelGates } from './effects/model-gates.js'
import { OrphanedCalls } from './effects/orphaned-calls.js'
import { createClient, once } from './handles/client.js'
import type { SkeinClient } from './handles/client.js'
import { Host } from './host/host.js'
import { withPasts } from './journal/past.js'
import { Janitor } from './host/janitor.js'
import { Quotas } from './host/quotas.js'
import { createLoad, profileOf } from './identity.js'
import type { Observers } from './observe/observing.js'
import { toSettings } from './options.js'
import type { Settings, SkeinOptions } from './options.js'
import { openVaultFor, Reloads } from './reloads.js'
import type { Reloaded } from './reloads.js'
import { ServedApp, loadVersion } from './served-app.js'
import type { Services } from './services.js'
import { keySource } from './secrets/key-source.js'
import type { KeySource } from './secrets/key-source.js'
import { Secrets } from './secrets/secrets.js'

export interface Skein extends SkeinClient {
  /** Names of the agents of its app. */
  readonly agents: readonly string[]
  /** What its app defines, as plain data. */
  definitions(): AppOutline
  /** Endpoints of threads that its app defines: what a server looks requests up in. */
  readonly endpoints: ThreadEndpoints
  /** Prometheus text of this host; undefined where no observer counts (`metrics()` of skein/observe). */
  metrics(): string | undefined
  /** The host in this process. */
  readonly host: {
    /** How many threads are in memory. */
    readonly threadsAwake: number
    /** What it says of itself to others. */
    readonly profile: HostProfile
  }
  /**
   * Loads the app again, or another one, and serves with it from now on. Threads stay awake, calls that run end on the
   * version that they began with, and all that follows uses the new one. An app that does not load is refused, and
   * changes nothing. The name and the version that the host publishes stay.
   */
  reload(app?: AppSource): Promise<Reloaded>
}

export async function createSkein(options: SkeinOptions): Promise<Skein> {
  const settings = toSettings(options)
  const { clock, random, warn } = settings
  const key = keySource(options)
  const first = await loadVersion(options.app, settings)
  const opened: (() => Promise<void>)[] = [first.close]
  try {
    const running: RunningHost = {}
    const self = hostSelf(options, settings, running)
    // Workers import the app while the store is opened.
    const backend = withPasts(await settings.store.open('host', self))
    opened.push(() => backend.close())
    await first.loaded
    const secrets = await openSecrets(first.app, key, backend)
    const janitor = new Janitor({ backend, clock, random, retention: settings.retention, warn })
    const quotas = options.quotas && (await Quotas.load(options.quotas, backend))
    const gates = createModelGates({ app: () => served.app, signals: backend.signals, clock, random })
    const served = new ServedApp(first, { settings, secrets, gates, blobs: backend.blobs })
    const observing = await openObservers(settings, self.profile)
    const services = createServices({ served, settings, backend, observing, ...defined({ quotas }) })
    const host = await Host.open({ backend, services, settings: settings.host, removed: () => janitor.sweep() })
    running.host = host
    janitor.begin()
    const mailbox = { ...backend.mailbox, put: (send: Send) => host.post(send) }
    const client = createClient({
      backend: { ...backend, mailbox },
      clock,
      random,
      secrets,
      warn,
      traces: observing?.traced === true,
    })
    const reloads = new Reloads({ source: options.app, settings, secrets, served, host })
    const close = once(async () => {
      await Promise.all([reloads.close(), janitor.close(), host.close()])
      gates.close()
      await served.close()
      await observing?.close()
      await client.close()
    })
    const metrics = (): string | undefined => observing?.metrics(gaugesOf(host, gates))
    return withHost(client, { served, profile: self.profile, host, reloads, metrics, close })
  } catch (thrown) {
    for (const close of opened) await close()
    throw thrown
  }
}

interface ServiceParts {
  readonly served: ServedApp
  readonly settings: Settings
  readonly backend: Backend
  readonly quotas?: Quotas
  readonly observing: Services['observing']
}

/** Loaded only where someone observes. */
async function openObservers({ observers, warn }: Settings, profile: HostProfile): Promise<Observers | undefined> {
  if (observers.length === 0) return undefined
  const observe = await import('./observe/observing.js')
  const { name, app, appVersion, skein } = profile
  return new observe.Observers(observers, { name, skein, ...defined({ app, appVersion }), warn })
}

function gaugesOf({ work: { awake, busy } }: Host, gates: ModelGates): HostGauges {
  return { threadsAwake: awake, threadsBusy: busy, modelWaits: gates.waits() }
}

/** What depends on the app is read anew each time: it may have been replaced. */
function createServices({ served, settings, backend, quotas, observing }: ServiceParts): Services {
  const { clock, warn, fileQuota, childLimits } = settings
  const { leaseMs } = backend.leases
  return {
    get app() {
      return served.app
    },
    get envs() {
      return served.envs
    },
    get setupOf() {
      return served.setupOf
    },
    get turnRules() {
      return served.turnRules
    },
    get hooks() {
      return served.hooks
    },
    get model() {
      return served.model
    },
    pool: served.pool,
    clock,
    loop: new LoopShare(),
    blobs: backend.blobs,
    readMedia: (hash) => readMedia(backend.blobs, hash),
    journal: backend.journal,
    leaseMs,
    orphans: new OrphanedCalls({ mailbox: backend.mailbox, clock, leaseMs, warn }),
    quota: fileQuota,
    childLimits,
    observing,
    ...defined({ quotas }),
  }
}

/** The store is opened before the host, and is told of the host's work. */
interface RunningHost {
  host?: Host
}

interface HostParts extends Pick<Skein, 'close' | 'metrics'> {
  readonly served: ServedApp
  readonly profile: HostProfile
  readonly host: Host
  readonly reloads: Reloads
}

/** A client, and what only the process of a host knows. */
function withHost(client: SkeinClient, { served, profile, host, reloads, metrics, close }: HostParts): Skein {
  return {
    ...client,
    get agents() {
      return agentNames(served.app)
    },
    definitions: () => outlineOf(served.app),
    endpoints: createEndpoints(() => served.app),
    host: {
      get threadsAwake() {
        return host.work.awake
      },
      profile,
    },
    reload: (app) => reloads.reload(app),
    metrics,
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

/** A key file is read once, because it may be a pipe. */
async function openSecrets(app: App, key: KeySource | undefined, backend: Backend): Promise<Secrets> {
  const secrets = new Secrets({ source: key, backend })
  await secrets.join()
  if (key?.from === 'file') await secrets.ready()
  await openVaultFor(app, secrets)
  return secrets
}
