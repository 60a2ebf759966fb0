/**
 * The store for many processes: journal, mail, heads, snapshots, blobs and leases on JetStream, signals on plain NATS,
 * all under one namespace (docs/nats.md). This module checks the options; the rest is loaded when the store is opened.
 */
import { z } from 'zod'
import { defined } from '../../core/defined.js'
import { checkOptions } from '../../core/options.js'
import { lazy } from '../../core/schema.js'
import { anonymousHost } from '../host-info.js'
import type { Store } from '../port.js'
import type { OpenOptions } from './backend.js'

export interface NatsOptions {
  /** One or more URLs of the same cluster. Default: `nats://127.0.0.1:4222`. User and password may be part of them. */
  readonly servers?: string | readonly string[]
  /**
   * One app's place on the server: the first token of its subjects, and a part of the names of its streams. Default:
   * `skein`.
   */
  readonly namespace?: string
  readonly credentials?: NatsCredentials
  /** Files of the certificates, or their text; `true` for the system's. */
  readonly tls?:
    | true
    | {
        readonly caFile?: string
        readonly certFile?: string
        readonly keyFile?: string
        readonly ca?: string
        readonly cert?: string
        readonly key?: string
      }
  /** Copies of each stream in a cluster: 1 (default), 3 or 5. Fixed when the namespace is made. */
  readonly replicas?: number
  /**
   * Parts into which threads are divided among hosts; more than you will ever have hosts. Default 64, fixed likewise.
   */
  readonly partitions?: number
  /** How long a host that is not heard of keeps its threads. Default 3,000, fixed likewise. */
  readonly leaseMs?: number
  /** How long a request is tried again while the server is away. Default 10,000. */
  readonly patienceMs?: number
  /** The server's monitoring port. Default: port 8222 of the server. */
  readonly monitor?: string
  /** `relaxed`: do not warn of a server that acknowledges before it writes to the disk. */
  readonly sync?: 'checked' | 'relaxed'
}

export type NatsCredentials =
  | { readonly user: string; readonly password: string }
  | { readonly token: string }
  /** A seed, for nkeys. */
  | { readonly nkey: string }
  /** The text of a creds file, or its path. */
  | { readonly creds: string }
  | { readonly credsFile: string }

const text = z.string().min(1)
const optionsSchema = lazy(() =>
  z.strictObject({
    servers: z.union([text, z.array(text).min(1)]).optional(),
    namespace: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,32}$/, 'has 1 to 32 letters, digits, - or _')
      .optional(),
    credentials: z
      .union([
        z.strictObject({ user: text, password: text }),
        z.strictObject({ token: text }),
        z.strictObject({ nkey: text }),
        z.strictObject({ creds: text }),
        z.strictObject({ credsFile: text }),
      ])
      .optional(),
    tls: z
      .union([
        z.literal(true),
        z.strictObject({ caFile: text, certFile: text, keyFile: text, ca: text, cert: text, key: text }).partial(),
      ])
      .optional(),
    replicas: z.union([z.literal(1), z.literal(3), z.literal(5)]).optional(),
    partitions: z.number().int().min(1).max(1024).optional(),
    leaseMs: z.number().int().min(500).max(60_000).optional(),
    patienceMs: z.number().int().min(100).optional(),
    monitor: z.url().optional(),
    sync: z.enum(['checked', 'relaxed']).optional(),
  }),
)

export function nats(options: NatsOptions = {}): Store {
  checkOptions(optionsSchema(), options, 'nats(options)')
  const {
    servers = 'nats://127.0.0.1:4222',
    namespace = 'skein',
    patienceMs = 10_000,
    sync = 'checked',
    monitor,
    partitions,
    leaseMs,
    replicas,
  } = options
  const urls = typeof servers === 'string' ? servers.split(',') : servers
  const plan = defined({ partitions, leaseMs, replicas })
  const openOptions = async (): Promise<OpenOptions> => {
    const { connectionOf, withoutSecrets } = await import('./credentials.js')
    const transport = { ...connectionOf(urls, options), name: 'skein' }
    return {
      transport,
      address: urls.map(withoutSecrets).join(', '),
      namespace,
      plan,
      patienceMs,
      sync,
      ...defined({ monitor }),
    }
  }
  return {
    async open(role, self = anonymousHost) {
      const [{ openNats }, opening] = await Promise.all([import('./backend.js'), openOptions()])
      return openNats(opening, role, self)
    },
    async examine(clock) {
      const [{ examineNats }, opening] = await Promise.all([import('./examine.js'), openOptions()])
      return { findings: await examineNats(opening, clock), keepsKey: false }
    },
  }
}
