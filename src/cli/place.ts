/**
 * Where a command works: a folder, or a namespace on NATS; by options, else by the environment.
 *
 * - An option beats the environment. Both kinds at once are a mistake, unless one of them comes from the
 *   environment alone.
 * - No password or token is ever shown.
 */
import { defined } from '../core/defined.js'
import type { Store, NatsOptions } from '../index.js'

export interface StoreLocation {
  /** As it is named to a person. */
  readonly name: string
  /** What names it on a command line; nothing where it is the default, or comes from the environment. */
  readonly flags: readonly string[]
  /** Several hosts may serve it. */
  readonly shared: boolean
  /** Where the key for its secrets is, if that was said. */
  readonly key: { readonly keyFile?: string }
  source(): Promise<Store>
}

export interface StoreFlags {
  readonly store?: string
  readonly nats?: string
  readonly namespace?: string
  readonly creds?: string
  readonly tlsCa?: string
  readonly tlsCert?: string
  readonly tlsKey?: string
  readonly monitor?: string
  readonly keyFile?: string
}

type Environment = Readonly<Record<string, string | undefined>>

export async function locateStore({ keyFile, ...options }: StoreFlags, env: Environment): Promise<StoreLocation> {
  const place = await storeOf(options, env)
  return keyFile === undefined ? place : { ...place, flags: [...place.flags, '--key-file', keyFile], key: { keyFile } }
}

async function storeOf(options: Omit<StoreFlags, 'keyFile'>, env: Environment): Promise<StoreLocation> {
  const { store, nats } = options
  const { SkeinError } = await import('../index.js')
  if (store !== undefined && nats !== undefined)
    throw new SkeinError('BAD_OPTION', '--store names a folder and --nats a server; give one of them')
  const url = store === undefined ? (nats ?? (env['SKEIN_NATS'] || undefined)) : undefined
  if (url !== undefined) return natsPlace(url, options, env)
  const ofNats = Object.entries(flagOf).find(
    ([key]) => key !== 'nats' && options[key as keyof typeof flagOf] !== undefined,
  )
  if (ofNats)
    throw new SkeinError('BAD_OPTION', `${ofNats[1]} is for NATS; name the server with --nats <url> or SKEIN_NATS`)
  return localStore(store ?? (env['SKEIN_STORE'] || '.skein'))
}

export function localStore(folder: string): StoreLocation {
  return {
    name: folder,
    flags: folder === '.skein' ? [] : ['--store', folder],
    shared: false,
    key: {},
    source: async () => (await import('../index.js')).local(folder),
  }
}

const flagOf = {
  nats: '--nats',
  namespace: '--namespace',
  creds: '--creds',
  tlsCa: '--tls-ca',
  tlsCert: '--tls-cert',
  tlsKey: '--tls-key',
  monitor: '--monitor',
} as const

function natsPlace(url: string, options: StoreFlags, env: Environment): StoreLocation {
  const given = (option: keyof StoreFlags, variable: string): string | undefined =>
    options[option] ?? (env[variable] || undefined)
  const namespace = given('namespace', 'SKEIN_NAMESPACE') ?? 'skein'
  const creds = given('creds', 'SKEIN_NATS_CREDS')
  const monitor = given('monitor', 'SKEIN_NATS_MONITOR')
  const [caFile, certFile, keyFile] = [
    given('tlsCa', 'SKEIN_NATS_CA'),
    given('tlsCert', 'SKEIN_NATS_CERT'),
    given('tlsKey', 'SKEIN_NATS_KEY'),
  ]
  const tls = { ...defined({ caFile, certFile, keyFile }) }
  const connection: NatsOptions = {
    servers: url,
    namespace,
    ...(creds !== undefined && { credentials: { credsFile: creds } }),
    ...(Object.keys(tls).length > 0 && { tls }),
    ...defined({ monitor }),
  }
  const flags = Object.entries(flagOf).flatMap(([option, flag]) => {
    const value = options[option as keyof typeof flagOf]
    return value === undefined ? [] : [flag, withoutSecrets(value)]
  })
  return {
    name: `namespace ${namespace} on ${withoutSecrets(url)}`,
    flags,
    shared: true,
    key: {},
    source: async () => (await import('../index.js')).nats(connection),
  }
}

function withoutSecrets(url: string): string {
  return url.replaceAll(/\/\/([^:@/,]+):[^@/,]*@/g, '//$1:…@').replaceAll(/\/\/[^:@/,]+@/g, '//…@')
}
