/**
 * The store that a command works on: a folder, a namespace on a NATS server, or what a server of Skein answers for.
 * Options name it, else the environment. Also opens a client on it, and writes commands for it that a person can type.
 *
 * - An option beats the environment. Both kinds at once are a mistake, unless one of them comes from the
 *   environment alone.
 * - No password or token is ever shown.
 */
import { defined } from '../core/defined.js'
import type { RemoteSkein } from '../client.js'
import type { Store, NatsOptions, SkeinClient } from '../index.js'
import { shellWord } from './format.js'

export interface StoreLocation {
  /** As people read it. */
  readonly name: string
  /** The options that name it on a command line; none for the default, or for what the environment names. */
  readonly flags: readonly string[]
  /** Whether several hosts may serve it. */
  readonly shared: boolean
  /** The file with the key for its secrets, if an option names one. */
  readonly key: { readonly keyFile?: string }
  source(): Promise<Store>
  /** Over HTTP: where to, and the key. Such a location has no store that this process could open. */
  readonly server?: { readonly url: string; readonly key?: string }
}

export interface StoreFlags {
  readonly url?: string
  /** Variables of the environment that hold a key for the server. */
  readonly keyEnv?: readonly string[]
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

const natsFlags = {
  nats: '--nats',
  namespace: '--namespace',
  creds: '--creds',
  tlsCa: '--tls-ca',
  tlsCert: '--tls-cert',
  tlsKey: '--tls-key',
  monitor: '--monitor',
} as const

type NatsOption = keyof typeof natsFlags

const natsOptions = Object.keys(natsFlags) as NatsOption[]

export async function locateStore({ keyFile, ...options }: StoreFlags, env: Environment): Promise<StoreLocation> {
  const location = await locate(options, env)
  if (keyFile === undefined) return location
  return { ...location, flags: [...location.flags, '--key-file', keyFile], key: { keyFile } }
}

async function locate(options: Omit<StoreFlags, 'keyFile'>, env: Environment): Promise<StoreLocation> {
  const { store, nats } = options
  const { SkeinError } = await import('../index.js')
  const server = await locateServer(options, env)
  if (server) return server
  if (store !== undefined && nats !== undefined)
    throw new SkeinError('BAD_OPTION', '--store names a folder and --nats a server; give one of them')
  const url = store === undefined ? (nats ?? (env['SKEIN_NATS'] || undefined)) : undefined
  if (url !== undefined) return natsStore(url, options, env)
  const useless = natsOptions.find((option) => options[option] !== undefined)
  if (useless)
    throw new SkeinError(
      'BAD_OPTION',
      `${natsFlags[useless]} is for NATS; name the server with --nats <url> or SKEIN_NATS`,
    )
  return localStore(store ?? (env['SKEIN_STORE'] || '.skein'))
}

/** Undefined: the options name a store. */
async function locateServer(options: StoreFlags, env: Environment): Promise<StoreLocation | undefined> {
  const { store, nats, url, keyEnv } = options
  const { SkeinError } = await import('../index.js')
  const server = store === undefined && nats === undefined ? (url ?? (env['SKEIN_URL'] || undefined)) : undefined
  if (server !== undefined) return serverAt(server, options, env)
  if (url !== undefined)
    throw new SkeinError('BAD_OPTION', '--url names a server of Skein, which has a store of its own; give one of them')
  if (keyEnv !== undefined)
    throw new SkeinError('BAD_OPTION', '--key-env is for a server of Skein; name it with --url <url> or SKEIN_URL')
  return undefined
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

function natsStore(url: string, options: StoreFlags, env: Environment): StoreLocation {
  const setting = (option: NatsOption, variable: string): string | undefined =>
    options[option] ?? (env[variable] || undefined)
  const namespace = setting('namespace', 'SKEIN_NAMESPACE') ?? 'skein'
  const credsFile = setting('creds', 'SKEIN_NATS_CREDS')
  const tls = defined({
    caFile: setting('tlsCa', 'SKEIN_NATS_CA'),
    certFile: setting('tlsCert', 'SKEIN_NATS_CERT'),
    keyFile: setting('tlsKey', 'SKEIN_NATS_KEY'),
  })
  const connection: NatsOptions = {
    servers: url,
    namespace,
    ...defined({
      credentials: credsFile === undefined ? undefined : { credsFile },
      tls: Object.keys(tls).length > 0 ? tls : undefined,
      monitor: setting('monitor', 'SKEIN_NATS_MONITOR'),
    }),
  }
  const flags = natsOptions.flatMap((option) => {
    const value = options[option]
    return value === undefined ? [] : [natsFlags[option], withoutSecrets(value)]
  })
  return {
    name: `namespace ${namespace} on ${withoutSecrets(url)}`,
    flags,
    shared: true,
    key: {},
    source: async () => (await import('../index.js')).nats(connection),
  }
}

async function serverAt(url: string, options: StoreFlags, env: Environment): Promise<StoreLocation> {
  const { SkeinError } = await import('../index.js')
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new SkeinError(
      'BAD_OPTION',
      `${options.url === undefined ? 'SKEIN_URL' : '--url'} ${withoutSecrets(url)} is no address of a server; ` +
        `one looks like http://127.0.0.1:4100`,
    )
  const useless = natsOptions.find((option) => options[option] !== undefined)
  const [name = 'SKEIN_URL_KEY', ...more] = options.keyEnv ?? []
  const key = env[name] || undefined
  if (useless || more.length > 0)
    throw new SkeinError('BAD_OPTION', `--url takes one --key-env${useless ? `, and not ${natsFlags[useless]}` : ''}`)
  if (options.keyEnv && key === undefined)
    throw new SkeinError('BAD_OPTION', `--key-env ${name}: the environment has no such variable, or an empty one`)
  return {
    name: url,
    flags: [
      ...(options.url === undefined ? [] : ['--url', withoutSecrets(url)]),
      ...(options.keyEnv ? ['--key-env', name] : []),
    ],
    shared: true,
    key: {},
    server: { url, ...defined({ key }) },
    async source() {
      throw new SkeinError(
        'BAD_OPTION',
        `this command needs the store itself (--store or --nats): it does not work through the server at ${url}`,
      )
    },
  }
}

function withoutSecrets(url: string): string {
  return url.replaceAll(/\/\/([^:@/,]+):[^@/,]*@/g, '//$1:…@').replaceAll(/\/\/[^:@/,]+@/g, '//…@')
}

/** A client on the store, closed when the command is done. */
export async function withClient<Result>(
  location: StoreLocation,
  body: (client: SkeinClient) => Promise<Result>,
): Promise<Result> {
  const { connectSkein } = await import('../index.js')
  const client = await connectSkein({ backend: await location.source(), ...location.key })
  try {
    return await body(client)
  } finally {
    await client.close()
  }
}

/** What a client of a store and a client of a server can do. */
export type AnyClient = Omit<RemoteSkein, 'api' | 'definitions' | 'stream'>

/** A client on the store, or on the server that has it. */
export async function withAnyClient<Result>(
  location: StoreLocation,
  body: (client: AnyClient) => Promise<Result>,
): Promise<Result> {
  const { server } = location
  if (!server) return withClient(location, body)
  const { connect } = await import('../client.js')
  const client = connect(server.url, defined({ key: server.key }))
  try {
    return await body(client)
  } finally {
    await client.close()
  }
}

/** A command for this store, as it is typed. */
export function commandLine({ flags }: StoreLocation, ...words: readonly string[]): string {
  return [...words, ...flags].map(shellWord).join(' ')
}
