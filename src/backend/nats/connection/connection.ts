/**
 * The connection to the server: opened once, reconnecting for ever, with two ways to make a request: `ask` once, or
 * `persist`. Owns the connection and decides which errors are transient.
 *
 * - Every request has a deadline; a request under way when the connection breaks fails at once.
 * - `persist` retries transient errors until its patience ends, and then fails with STORE_FAILED.
 * - A server below 2.10 or without JetStream is refused before anything is asked of it.
 * - Inboxes are subjects of the namespace, so that no other app that shares the account can read them.
 */
import { fileURLToPath } from 'node:url'
import { connect, createInbox, errors } from '@nats-io/transport-node'
import type { Msg, NatsConnection, NodeConnectionOptions, Subscription } from '@nats-io/transport-node'
import { JetStreamApiError, jetstreamManager } from '@nats-io/jetstream'
import type { JetStreamManager } from '@nats-io/jetstream'
import { steadyClock } from '../../../core/clock.js'
import { SkeinError, isSkeinError, toFailure } from '../../../core/failure.js'
import { storeClosed } from '../../checks.js'
import { Requests } from './requests.js'
import type { PendingRequest, TakeAnswer } from './requests.js'
import { after, sleep } from './timers.js'

export interface ConnectionOptions {
  readonly transport: NodeConnectionOptions
  readonly namespace: string
  /** The servers without what is secret in their URLs. */
  readonly address: string
  /** How long transient errors are retried. */
  readonly patienceMs: number
  /** Told when the connection breaks and when it is there again. */
  readonly reach?: (server: 'lost' | 'back') => void
}

const requestMs = 5_000
const pauseMs = 50
/** After two pings without an answer the connection is taken for dead: a cut cable sends no notice. */
const pingMs = 2_000
const oldestVersion = [2, 10] as const
/** From here on a server answers one question with many messages. */
const batchVersion = [2, 11] as const
/** No quorum, no leader, not ready yet. A full stream or disk is none of these. */
const transientCodes: ReadonlySet<number> = new Set([10_004, 10_008, 10_009])

export class ServerConnection {
  readonly nc: NatsConnection
  readonly jsm: JetStreamManager
  readonly address: string
  readonly #requests: Requests
  readonly #inboxPrefix: string
  readonly #patienceMs: number
  readonly #reach: (server: 'lost' | 'back') => void
  readonly #cuts = new Set<(why: Error) => void>()
  readonly #reconnected = new Set<() => void>()
  #paused: (() => void)[] = []
  #connected = true
  #open = true

  private constructor(
    nc: NatsConnection,
    jsm: JetStreamManager,
    { namespace, address, patienceMs, reach = () => undefined }: ConnectionOptions,
  ) {
    this.nc = nc
    this.#inboxPrefix = inboxPrefixOf(namespace)
    this.#requests = new Requests(nc, this.inbox())
    this.jsm = jsm
    this.address = address
    this.#patienceMs = patienceMs
    this.#reach = reach
    void this.#watch()
  }

  static async open(options: ConnectionOptions): Promise<ServerConnection> {
    const { address, transport, namespace } = options
    let nc: NatsConnection | undefined
    try {
      // `noEcho`: signals reach listeners in this process without the server (signals.ts), and must not come twice.
      nc = await connect({
        ...transport,
        inboxPrefix: inboxPrefixOf(namespace),
        noEcho: true,
        noAsyncTraces: true,
        maxReconnectAttempts: -1,
        reconnectTimeWait: 100,
        ignoreAuthErrorAbort: true,
        reconnectJitter: 100,
        pingInterval: pingMs,
        timeout: requestMs,
      })
      checkVersion(nc, address)
      return new ServerConnection(nc, await managerOf(nc, options.patienceMs), options)
    } catch (thrown) {
      await nc?.close()
      throw isSkeinError(thrown) ? thrown : cannotOpen(address, thrown)
    }
  }

  /** Whether the server that it is connected to answers one question with many messages. */
  get hasBatches(): boolean {
    return isAtLeast(this.nc.info?.version ?? '0', batchVersion)
  }

  /** A subject that nobody has used before. */
  inbox(): string {
    return createInbox(this.#inboxPrefix)
  }

  /** Called after every reconnect: messages may have been missed. Returns what stops it. */
  onReconnect(listener: () => void): () => void {
    this.#reconnected.add(listener)
    return () => void this.#reconnected.delete(listener)
  }

  /** One attempt. */
  ask<T>(attempt: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!this.#isReady) return reject(this.#unready())
      this.#cuts.add(reject)
      attempt()
        .then(resolve, reject)
        .finally(() => this.#cuts.delete(reject))
    })
  }

  /** One attempt of a request with one answer, such as writing a message. */
  request(request: PendingRequest): ReturnType<Requests['ask']> {
    return this.#isReady ? this.#requests.ask(request) : Promise.reject(this.#unready())
  }

  /** One attempt of a request with several answers. */
  read(request: PendingRequest, take: TakeAnswer): Promise<void> {
    return this.#isReady ? this.#requests.read(request, take) : Promise.reject(this.#unready())
  }

  get #isReady(): boolean {
    return this.#open && this.#connected
  }

  #unready(): Error {
    return this.#open ? new ConnectionCut() : storeClosed('nats')
  }

  /** Until when what begins now is retried. */
  patienceEnd(): number {
    return steadyClock.now() + this.#patienceMs
  }

  async persist<T>(what: string, attempt: () => Promise<T>, until = this.patienceEnd()): Promise<T> {
    for (;;) {
      try {
        return await this.ask(attempt)
      } catch (thrown) {
        if (!isTransient(thrown) || steadyClock.now() >= until) throw this.failed(what, thrown)
        await this.#pause(until)
      }
    }
  }

  /** An error of the server as a SkeinError that says what to do. */
  failed(what: string, thrown: unknown): SkeinError {
    if (isSkeinError(thrown)) return thrown
    const { message } = toFailure(thrown, 'STORE_FAILED')
    return new SkeinError(
      'STORE_FAILED',
      `${what} failed on NATS (${this.address}): ${message}; ${failureHint(thrown)}`,
      {
        retry: !isForbidden(thrown),
        cause: thrown,
      },
    )
  }

  subscribe(subject: string, listener: (message: Msg) => void): Subscription {
    return this.nc.subscribe(subject, { callback: (failed, message) => void (failed ?? listener(message)) })
  }

  async close(): Promise<void> {
    this.#open = false
    for (const cut of this.#cuts) cut(storeClosed('nats'))
    this.#requests.close(storeClosed('nats'))
    for (const resume of this.#paused.splice(0)) resume()
    await this.nc.close()
  }

  /** Until the connection is back, or for a moment where it is not broken. */
  async #pause(until: number): Promise<void> {
    const waitMs = this.#connected ? pauseMs : until - steadyClock.now()
    await new Promise<void>((resolve) => {
      const cancel = after(waitMs, resolve)
      if (this.#connected) return
      this.#paused.push(() => {
        cancel()
        resolve()
      })
    })
  }

  async #watch(): Promise<void> {
    for await (const status of this.nc.status()) {
      const { type } = status
      if (type === 'error' && status.error instanceof errors.PermissionViolationError)
        this.#requests.forbid(status.error)
      else if (type === 'disconnect') {
        if (this.#connected && this.#open) this.#reach('lost')
        this.#connected = false
        for (const cut of this.#cuts) cut(new ConnectionCut())
        this.#requests.failAll(new ConnectionCut())
      } else if (type === 'reconnect') {
        this.#connected = true
        this.#reach('back')
        for (const resume of this.#paused.splice(0)) resume()
        for (const listener of [...this.#reconnected]) listener()
      }
    }
  }
}

function inboxPrefixOf(namespace: string): string {
  return `${namespace}.inbox`
}

/** A cluster has no leader while it chooses one, which takes some seconds; any other answer is final. */
async function managerOf(nc: NatsConnection, patienceMs: number): Promise<JetStreamManager> {
  for (const until = steadyClock.now() + patienceMs; ;) {
    try {
      return await jetstreamManager(nc, { timeout: requestMs })
    } catch (thrown) {
      if (!transientCodes.has(apiCode(thrown) ?? 0) || steadyClock.now() >= until) throw thrown
      await sleep(pauseMs)
    }
  }
}

/** The request was cut off; it may succeed when it is repeated. */
export class ConnectionCut extends Error {
  override readonly name = 'Cut'
  constructor(message = 'the connection is broken') {
    super(message)
  }
}

/** Whether the same request may succeed a moment later. */
function isTransient(thrown: unknown): boolean {
  if (
    thrown instanceof ConnectionCut ||
    thrown instanceof errors.TimeoutError ||
    thrown instanceof errors.NoRespondersError
  )
    return true
  // Nobody answered, or the connection broke under the request.
  if (thrown instanceof errors.RequestError) return !isForbidden(thrown)
  if (thrown instanceof JetStreamApiError) return transientCodes.has(thrown.code)
  // The manager's word for a server whose JetStream does not answer yet.
  return thrown instanceof Error && thrown.name === 'JetStreamNotEnabled'
}

function failureHint(thrown: unknown): string {
  if (isForbidden(thrown)) return 'give its user the permissions of docs/nats.md'
  return isTransient(thrown) ? 'is the server up? It is tried again' : 'see the log of the server'
}

/** This user lacks a permission. */
function isForbidden(thrown: unknown): boolean {
  return (
    thrown instanceof errors.PermissionViolationError ||
    (thrown instanceof Error && thrown.cause instanceof errors.PermissionViolationError)
  )
}

export function apiCode(thrown: unknown): number | undefined {
  return thrown instanceof JetStreamApiError ? thrown.code : undefined
}

function isAtLeast(version: string, [oldestMajor, oldestMinor]: readonly [number, number]): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)
}

function checkVersion({ info }: NatsConnection, address: string): void {
  const version = info?.version ?? '0'
  if (isAtLeast(version, oldestVersion)) return
  const [oldestMajor, oldestMinor] = oldestVersion
  throw new SkeinError(
    'BAD_OPTION',
    `the NATS server at ${address} has version ${version}; Skein needs ${oldestMajor}.${oldestMinor} or newer (older ` +
      `ones cannot write acknowledged records to the disk at once). Update the server.`,
    { data: { version } },
  )
}

function cannotOpen(address: string, thrown: unknown): SkeinError {
  const { message } = toFailure(thrown, 'STORE_FAILED')
  const refused = isRefused(thrown) || isForbidden(thrown)
  return new SkeinError(
    'STORE_FAILED',
    `the NATS server at ${address} cannot be used: ${message}; ${openingHint(thrown, refused)}`,
    { retry: !refused, cause: thrown },
  )
}

function openingHint(thrown: unknown, refused: boolean): string {
  if (isForbidden(thrown)) return 'its user may not use this namespace: give it the permissions of docs/nats.md'
  if (refused) return 'it refuses the credentials of nats({ credentials }): check them, and the users of the server'
  if (thrown instanceof Error && thrown.name === 'JetStreamNotEnabled')
    return `JetStream is off there; start the server with \`${serverCommand()}\``
  if (isUntrusted(thrown))
    return (
      'its certificate is not trusted here: name its authority with nats({ tls: { caFile } }), and the ' +
      'server as the certificate does'
    )
  return `start a server with \`${serverCommand()}\`, or check the address and the credentials`
}

/** With the settings that come with this package, wherever it is installed. */
function serverCommand(): string {
  const above = import.meta.url.endsWith('.ts') ? '../../../../' : '../../../../../'
  return `nats-server -c ${fileURLToPath(new URL(`${above}nats.conf`, import.meta.url))}`
}

/** The server refuses the credentials. */
function isRefused(thrown: unknown): boolean {
  return thrown instanceof errors.AuthorizationError || thrown instanceof errors.UserAuthenticationExpiredError
}

function isUntrusted(thrown: unknown): boolean {
  const text =
    thrown instanceof Error ? `${thrown.message} ${thrown.cause instanceof Error ? thrown.cause.message : ''}` : ''
  return /certificate|altnames|ERR_TLS|tls/i.test(text)
}
