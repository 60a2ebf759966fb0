/**
 * The app that a host serves, as its effects use it, and how another version of it takes its place.
 *
 * VN1 A body ends on the version that it began with; whatever begins after a reload uses the new one: no body is cut
 *     off, repeated or lost because of it.
 * - Workers and MCP connections of an earlier version end with its last body.
 * - A value that was a secret in an earlier version stays masked: a body of that version may still show it.
 */
import type { App } from '../agent/app.js'
import { createDeclarations, isTooShort, tooShort } from '../agent/variables.js'
import { SkeinError, fromFailure } from '../core/failure.js'
import type { Failure } from '../core/failure.js'
import type { Pool } from '../pool/port.js'
import { createPool } from '../pool/pool.js'
import { loadAppWithTools } from './app/load.js'
import type { AppSource } from './app/load.js'
import { debugged } from './debugging.js'
import type { ModelGates } from './effects/model-gates.js'
import { createModels } from './effects/models.js'
import { once } from './handles/client.js'
import type { Settings } from './options.js'
import type { Blobs } from '../backend/port.js'
import { createHooks } from './hooks/ask-hooks.js'
import { createAgentSetups } from './resolve/agent-setup.js'
import { createTurnRules } from './resolve/turn-rules.js'
import { Environments } from './secrets/environment.js'
import type { Secrets } from './secrets/secrets.js'
import type { Services } from './services.js'

/** A version whose definitions fit together, and whose workers are starting. Nothing runs on it yet. */
export interface LoadedVersion {
  readonly app: App
  readonly pool: Pool
  /** Resolves when a worker has loaded it; rejects if none can. */
  readonly loaded: Promise<void>
  /** Ends its workers and its connections. */
  close(): Promise<void>
}

/** `again`: its files may have changed since this process has loaded them. */
export async function loadVersion(
  source: AppSource,
  settings: Settings,
  { again = false }: { readonly again?: boolean } = {},
): Promise<LoadedVersion> {
  const { app, disconnect } = await loadAppWithTools(source, { again })
  try {
    checkApp(app, settings)
    const pool = await createPool(app, settings.pool)
    const loaded = Promise.resolve(pool.loads?.()).then((failed) => checkLoaded(app, failed))
    // Whoever waits for it is told; until then it is no unhandled rejection.
    loaded.catch(() => undefined)
    return {
      app,
      pool,
      loaded,
      close: once(async () => {
        await pool.close()
        await disconnect()
      }),
    }
  } catch (thrown) {
    await disconnect()
    throw thrown
  }
}

/** A secret that is too short to be masked is refused (F3). */
function checkApp(app: App, { env, warn }: Settings): void {
  const { isDeclaredSecret } = createDeclarations(app)
  for (const [name, value] of Object.entries(env))
    if (isDeclaredSecret(name) && isTooShort(value))
      throw new SkeinError('BAD_OPTION', `the value of ${name}, ${tooShort}`)
  for (const warning of app.warnings) warn(warning, undefined)
}

function checkLoaded({ module }: App, failed: Failure | undefined): void {
  if (!failed) return
  const advice =
    'every worker imports the app by itself; if it needs variables of the environment, name them in workers.env ' +
    '(--worker-env)'
  throw new SkeinError('APP_NOT_LOADED', `the app does not load in a worker: ${failed.message} (${advice})`, {
    cause: fromFailure(failed),
    data: { app: module },
  })
}

type AppServices = Pick<Services, 'app' | 'envs' | 'pool' | 'setupOf' | 'turnRules' | 'model' | 'hooks'>

/** A version that serves or has served. */
interface Version extends AppServices {
  /** Resolves when it is closed, which it is when its last body has ended. */
  retire(): Promise<void>
  close(): Promise<void>
}

export interface ServedAppOptions {
  readonly settings: Settings
  readonly secrets: Secrets
  readonly gates: ModelGates
  readonly blobs: Blobs
}

/** What effects use is always that of the version which serves now. */
export class ServedApp implements AppServices {
  readonly #options: ServedAppOptions
  readonly #earlier = new Set<Version>()
  readonly pool: Pool = { run: (job) => this.#current.pool.run(job), close: () => this.close() }
  #current: Version

  constructor(first: LoadedVersion, options: ServedAppOptions) {
    this.#options = options
    this.#current = createVersion(first, options)
  }

  get app(): App {
    return this.#current.app
  }

  get envs(): Environments {
    return this.#current.envs
  }

  get setupOf(): Services['setupOf'] {
    return this.#current.setupOf
  }

  get turnRules(): Services['turnRules'] {
    return this.#current.turnRules
  }

  get hooks(): Services['hooks'] {
    return this.#current.hooks
  }

  get model(): Services['model'] {
    return this.#current.model
  }

  /** VN1: what runs ends on the version that it began with. */
  replace(next: LoadedVersion): void {
    const before = this.#current
    this.#current = createVersion(next, this.#options, before.envs)
    this.#earlier.add(before)
    void before
      .retire()
      .catch((thrown: unknown) =>
        this.#options.settings.warn('an earlier version of the app could not be ended', thrown),
      )
      .finally(() => this.#earlier.delete(before))
  }

  async close(): Promise<void> {
    await Promise.all([this.#current, ...this.#earlier].map((version) => version.close()))
  }
}

function createVersion(
  { app, pool: workers, close }: LoadedVersion,
  { settings, secrets, gates, blobs }: ServedAppOptions,
  before?: Environments,
): Version {
  const { clock, random, warn } = settings
  const envs = new Environments({
    app,
    instance: settings.env,
    secrets,
    earlierSecrets: before?.definedSecrets() ?? new Set(),
  })
  const { pool, idle } = withIdle(workers)
  const hooks = createHooks({ app, clock, blobs, warn })
  return {
    app,
    envs,
    pool: debugged(pool, { envs, warn }),
    setupOf: createAgentSetups(app),
    hooks,
    turnRules: createTurnRules(app, settings.host.rules, hooks?.of),
    model: createModels(app, { clock, random, gates }),
    async retire() {
      await idle()
      await close()
    },
    close,
  }
}

/** The pool, and how to wait until none of its bodies runs. */
function withIdle(pool: Pool): { readonly pool: Pool; idle(): Promise<void> } {
  let running = 0
  let whenIdle: (() => void) | undefined
  const ended = (): void => {
    running--
    if (running === 0) whenIdle?.()
  }
  return {
    pool: {
      ...pool,
      run(job) {
        running++
        const returned = pool.run(job)
        returned.then(ended, ended)
        return returned
      },
    },
    idle: () =>
      new Promise((resolve) => {
        whenIdle = resolve
        if (running === 0) resolve()
      }),
  }
}
