/**
 * Reloads of the app, one after another: a version is loaded beside the one that serves, and takes its place when a
 * worker has loaded it too. One that is refused changes nothing.
 */
import type { App } from '../agent/app.js'
import { SerialQueues } from '../core/async/serial.js'
import { steadyClock } from '../core/clock.js'
import { SkeinError } from '../core/failure.js'
import type { AppSource } from './app/load.js'
import type { Host } from './host/host.js'
import type { Settings } from './options.js'
import { loadVersion } from './served-app.js'
import type { LoadedVersion, ServedApp } from './served-app.js'
import type { Secrets } from './secrets/secrets.js'

export interface Reloaded {
  /** How long it took until the new version served. */
  readonly elapsedMs: number
}

export interface ReloadServices {
  /** Where the app came from. */
  readonly source: AppSource
  readonly settings: Settings
  readonly secrets: Secrets
  readonly served: ServedApp
  readonly host: Host
}

export class Reloads {
  readonly #services: ReloadServices
  readonly #queue = new SerialQueues()
  /** Loaded, but not served yet. */
  #next: LoadedVersion | undefined
  #closed = false

  constructor(services: ReloadServices) {
    this.#services = services
  }

  reload(source: AppSource = this.#services.source): Promise<Reloaded> {
    return this.#queue.run('app', () => this.#reload(source))
  }

  async #reload(source: AppSource): Promise<Reloaded> {
    const beganAt = steadyClock.now()
    const { settings, secrets, served, host } = this.#services
    this.#checkOpen()
    const next = await loadVersion(source, settings, { again: true })
    this.#next = next
    try {
      this.#checkOpen()
      await next.loaded
      await openVaultFor(next.app, secrets)
      this.#checkOpen()
    } catch (thrown) {
      await next.close()
      throw this.#closed ? closing() : thrown
    } finally {
      this.#next = undefined
    }
    served.replace(next)
    await host.redefined()
    return { elapsedMs: Math.round(steadyClock.now() - beganAt) }
  }

  #checkOpen(): void {
    if (this.#closed) throw closing()
  }

  /** A reload that is under way is refused. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#next?.close()
    await this.#queue.settled()
  }
}

function closing(): SkeinError {
  return new SkeinError('STORE_CLOSED', 'the app is not loaded again: the skein was closed')
}

/**
 * The vault is opened with the first value, but now if that would be too late: `scopedEnv` values are sealed while the
 * thread decides, which cannot wait for it.
 */
export async function openVaultFor(app: App, secrets: Secrets): Promise<void> {
  if (declaresScoped(app)) await secrets.ready()
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
