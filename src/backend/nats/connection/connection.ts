/**
 * The connection to the server: opened once, reconnecting for ever, and the two ways to ask something of it. Owns the
 * connection and the judgement which errors pass by themselves.
 *
 * - Every request has a deadline; a request under way when the connection breaks fails at once.
 * - `persist` repeats what passes by itself until its patience ends; then it fails with STORE_FAILED, never with
 *   silence.
 * - A server below 2.10 or without JetStream is refused before anything is asked of it.
 * - What is sent to this process alone comes below its namespace, so that no other app that shares the account may
 *   hear it.
 */
import { connect, createInbox, errors } from '@nats-io/transport-node'
import type { Msg, NatsConnection, NodeConnectionOptions, Subscription } from '@nats-io/transport-node'
import { JetStreamApiError, jetstreamManager } from '@nats-io/jetstream'
import type { JetStreamManager } from '@nats-io/jetstream'
import { steadyClock } from '../../../core/clock.js'
import { SkeinError, isSkeinError, toFailure } from '../../../core/failure.js'
import { storeClosed } from '../../checks.js'
import { Requests } from './requests.js'
import type { PendingRequest } from './requests.js'
import { after, sleep } from './timers.js'

export interface ConnectionOptions {
  readonly transport: NodeConnectionOptions
  readonly namespace: string
  /** The servers without what is secret in their URLs. */
  readonly address: string
  /** How long something is tried again. */
  readonly patienceMs: number
  /** Told when the connection breaks and when it is there again. */
  readonly reach?: (server: 'lost' | 'back') => void
}

const requestMs = 5_000
const pauseMs = 50
/** Two of these without an answer, and the connection is taken for dead: a cable may be cut without a word. */
const pingMs = 2_000
const floor = [2, 10] as const
/** No quorum, no leader, not ready yet. (A full stream or disk is another matter.) */
const transient: ReadonlySet<number> = new Set([10_004, 10_008, 10_009])

export class ServerConnection {
  readonly nc: NatsConnection
  readonly jsm: JetStreamManager
  readonly address: string
  readonly #answers: Requests
  readonly #inboxes: string
  readonly #patienceMs: number
  readonly #reach: (server: 'lost' | 'back') => void
  readonly #cuts = new Set<(why: Error) => void>()
  readonly #reconnected = new Set<() => void>()
  #back: (() => void)[] = []
  #connected = true
  #open = true

  private constructor(
    nc: NatsConnection,
    jsm: JetStreamManager,
    { namespace, address, patienceMs, reach = () => undefined }: ConnectionOptions,
  ) {
    this.nc = nc
    this.#inboxes = inboxesOf(namespace)
    this.#answers = new Requests(nc, this.inbox())
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
      // Own signals are heard without the server (signals.ts); what it sends back would be heard twice.
      nc = await connect({
        ...transport,
        inboxPrefix: inboxesOf(namespace),
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

  /** A subject that nobody has used before. */
  inbox(): string {
    return createInbox(this.#inboxes)
  }

  /** Messages may have been missed: told after every reconnect. Returns what stops it. */
  onReconnect(told: () => void): () => void {
    this.#reconnected.add(told)
    return () => void this.#reconnected.delete(told)
  }

  /** One try. */
  ask<T>(make: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (!this.#open) return reject(storeClosed('nats'))
      if (!this.#connected) return reject(new ConnectionCut())
      this.#cuts.add(reject)
      make()
        .then(resolve, reject)
        .finally(() => this.#cuts.delete(reject))
    })
  }

  /** One try to have a message written, or something else done that one answer tells of; within `ask` or `persist`. */
  request(question: Omit<PendingRequest, 'timeoutMs'> & { readonly timeoutMs?: number }): ReturnType<Requests['ask']> {
    return this.#answers.ask({ timeoutMs: requestMs, ...question })
  }

  async persist<T>(what: string, make: () => Promise<T>, until = steadyClock.now() + this.#patienceMs): Promise<T> {
    for (;;) {
      try {
        return await this.ask(make)
      } catch (thrown) {
        if (!passes(thrown)) throw this.failed(what, thrown)
        if (steadyClock.now() >= until) throw this.failed(what, thrown)
        await this.#pause(until)
      }
    }
  }

  /** What the server has against something, in our words. */
  failed(what: string, thrown: unknown): SkeinError {
    if (isSkeinError(thrown)) return thrown
    const { message } = toFailure(thrown, 'STORE_FAILED')
    const forbidden = isForbidden(thrown)
    const hint = forbidden
      ? 'give its user the permissions of docs/nats.md'
      : passes(thrown)
        ? 'is the server up? It is tried again'
        : 'see the log of the server'
    return new SkeinError('STORE_FAILED', `${what} failed on NATS (${this.address}): ${message}; ${hint}`, {
      retry: !forbidden,
      cause: thrown,
    })
  }

  subscribe(subject: string, heard: (message: Msg) => void): Subscription {
    return this.nc.subscribe(subject, { callback: (failed, message) => void (failed ?? heard(message)) })
  }

  async close(): Promise<void> {
    this.#open = false
    for (const cut of this.#cuts) cut(storeClosed('nats'))
    for (const back of this.#back.splice(0)) back()
    await this.nc.close()
  }

  /** Until the connection is back, or a moment where it never broke. */
  async #pause(until: number): Promise<void> {
    const waitMs = this.#connected ? pauseMs : until - steadyClock.now()
    await new Promise<void>((resolve) => {
      const cancel = after(waitMs, resolve)
      if (!this.#connected) this.#back.push(() => (cancel(), resolve()))
    })
  }

  async #watch(): Promise<void> {
    for await (const status of this.nc.status()) {
      const { type } = status
      if (type === 'error' && status.error instanceof errors.PermissionViolationError)
        this.#answers.forbid(status.error)
      else if (type === 'disconnect') {
        if (this.#connected && this.#open) this.#reach('lost')
        this.#connected = false
        for (const cut of this.#cuts) cut(new ConnectionCut())
      } else if (type === 'reconnect') {
        this.#connected = true
        this.#reach('back')
        for (const back of this.#back.splice(0)) back()
        for (const told of [...this.#reconnected]) told()
      }
    }
  }
}

function inboxesOf(namespace: string): string {
  return `${namespace}.inbox`
}

/** A cluster has no leader while it chooses one, which takes some seconds; any other answer is final. */
async function managerOf(nc: NatsConnection, patienceMs: number): Promise<JetStreamManager> {
  for (const until = steadyClock.now() + patienceMs; ;) {
    try {
      return await jetstreamManager(nc, { timeout: requestMs })
    } catch (thrown) {
      if (!transient.has(apiCode(thrown) ?? 0) || steadyClock.now() >= until) throw thrown
      await sleep(pauseMs)
    }
  }
}

/** What was asked for was cut off, and may go well when it is asked for again. */
export class ConnectionCut extends Error {
  override readonly name = 'Cut'
  constructor(message = 'the connection is broken') {
    super(message)
  }
}

/** Whether the same request may be answered a moment later. */
function passes(thrown: unknown): boolean {
  if (
    thrown instanceof ConnectionCut ||
    thrown instanceof errors.TimeoutError ||
    thrown instanceof errors.NoRespondersError
  )
    return true
  // Nobody answered, or the connection broke under the request.
  if (thrown instanceof errors.RequestError) return !isForbidden(thrown)
  if (thrown instanceof JetStreamApiError) return transient.has(thrown.code)
  // The manager's word for a server whose JetStream does not answer yet.
  return thrown instanceof Error && thrown.name === 'JetStreamNotEnabled'
}

/** This user may not do that. */
function isForbidden(thrown: unknown): boolean {
  return (
    thrown instanceof errors.PermissionViolationError ||
    (thrown instanceof Error && thrown.cause instanceof errors.PermissionViolationError)
  )
}

export function apiCode(thrown: unknown): number | undefined {
  return thrown instanceof JetStreamApiError ? thrown.code : undefined
}

function checkVersion({ info }: NatsConnection, address: string): void {
  const version = info?.version ?? '0'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > floor[0] || (major === floor[0] && minor >= floor[1])) return
  throw new SkeinError(
    'BAD_OPTION',
    `the NATS server at ${address} has version ${version}; Skein needs ${floor.join('.')} or newer (older ones ` +
      `cannot write acknowledged records to the disk at once). Update the server.`,
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
    return 'JetStream is off there; start the server with `nats-server -c nats.conf`'
  if (isUntrusted(thrown))
    return (
      'its certificate is not trusted here: name its authority with nats({ tls: { caFile } }), and the ' +
      'server as the certificate does'
    )
  return 'start a server with `nats-server -c nats.conf`, or check the address and the credentials'
}

/** It knows who we say that we are, and will not have us. */
function isRefused(thrown: unknown): boolean {
  return thrown instanceof errors.AuthorizationError || thrown instanceof errors.UserAuthenticationExpiredError
}

function isUntrusted(thrown: unknown): boolean {
  const text =
    thrown instanceof Error ? `${thrown.message} ${thrown.cause instanceof Error ? thrown.cause.message : ''}` : ''
  return /certificate|altnames|ERR_TLS|tls/i.test(text)
}
