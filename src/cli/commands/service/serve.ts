/**
 * `skein serve`: a host that also answers HTTP (`skein/server`), until it is stopped.
 *
 * - Who may use it must be said: keys of the environment or of a file, or nobody is asked, on loopback alone.
 * - The first signal stops listening and ends the streams, then hands over the threads as `host` does. The second ends
 *   the process at once.
 */
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { Skein } from '../../../index.js'
import type { ApiKey, Auth, Scope, SkeinServer } from '../../../server.js'
import type { ExitCode } from '../../exit.js'
import { pageOf } from '../../page-server.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { createServingLines, eventLine, isTold, openServingHost, serveOptions } from '../../serving.js'
import { stopServing, tellServing } from '../../serving.js'
import type { ServeFlags, ServeRequest, TellLine } from '../../serving.js'

interface HttpFlags {
  readonly port: string
  readonly host: string
  readonly publicUrl?: string
  readonly keyEnv?: readonly string[]
  readonly keys?: string
  /** False: `--no-auth`. */
  readonly auth: boolean
}

type Flags = ServeFlags & HttpFlags
type GlobalKeys = Pick<HttpFlags, 'keyEnv'>

export function register(command: Command, runCommand: RunCommand): void {
  serveOptions(command)
    .option('--port <port>', 'port to listen on; 0: any that is free', '4100')
    .option('--host <address>', 'address to listen on', '127.0.0.1')
    .option('--public-url <url>', 'address by which others reach it, for cards of agents (default: the one they ask)')
    .option('--keys <file>', 'JSON file with { keys: [{ name, sha256, scopes }] }; skein keys new makes entries')
    .option('--no-auth', 'anyone who reaches it may do everything; on loopback only')
    .action((app: string, options: Flags) =>
      runCommand(command, (context) =>
        serveHttp(context, { ...options, app }, { ...options, ...command.optsWithGlobals<GlobalKeys>() }),
      ),
    )
}

async function serveHttp(
  context: CommandContext,
  { port: _port, host: _host, publicUrl, keyEnv: _env, keys: _keys, auth: _auth, ...request }: ServeRequest & HttpFlags,
  flags: HttpFlags,
): Promise<ExitCode> {
  const line = createServingLines(context, request)
  // A mistake in them ends the command before anything is opened.
  const listening = {
    port: await portOf(flags.port),
    host: flags.host,
    auth: await authOf(context, flags),
    ...(publicUrl !== undefined && { publicUrl: await publicUrlOf(publicUrl) }),
  }
  let serving = false
  const skein = await openServingHost(context, request, {
    onHostEvent: (event) => serving && isTold(context, request, event) && line(eventLine(event), event),
  })
  const server = await listen(context, skein, listening)
  context.onStop(async () => {
    await stopHttp(server, line)
    await stopServing(skein, line)
  })
  await tellServing(context, skein, line)
  const page = pageOf(server.url)
  line(`listening on ${server.url} · the page is at ${page}`, { type: 'listening', url: server.url, page })
  serving = true
  return new Promise<never>(() => undefined)
}

interface Listening {
  readonly port: number
  readonly host: string
  readonly publicUrl?: string
  readonly auth: Auth
}

async function listen({ out }: CommandContext, skein: Skein, options: Listening): Promise<SkeinServer> {
  const { serve } = await import('../../../server.js')
  try {
    return await serve(skein, {
      ...options,
      warn: (what, thrown) => out.note(`skein: ${what}: ${thrown instanceof Error ? thrown.message : String(thrown)}`),
    })
  } catch (thrown) {
    await skein.close()
    throw thrown
  }
}

async function stopHttp(server: SkeinServer, line: TellLine): Promise<void> {
  line('no longer listening; streams are ended', { type: 'closing' })
  await server.close()
}

async function badOption(text: string): Promise<never> {
  const { SkeinError } = await import('../../../index.js')
  throw new SkeinError('BAD_OPTION', text)
}

async function portOf(text: string): Promise<number> {
  const port = Number(text)
  const valid = /^\d+$/.test(text) && port <= 65_535
  return valid ? port : badOption(`--port ${text}: a port is a number from 0 to 65535`)
}

async function publicUrlOf(text: string): Promise<string> {
  const { protocol = '' } = URL.canParse(text) ? new URL(text) : {}
  return /^https?:$/.test(protocol) ? text : badOption(`--public-url ${text}: it looks like https://example.com/skein`)
}

async function authOf({ shell }: CommandContext, { keyEnv = [], keys: file, auth }: HttpFlags): Promise<Auth> {
  if (!auth) {
    if (keyEnv.length > 0 || file !== undefined)
      return badOption('--no-auth asks nobody for a key; leave it out, or --key-env and --keys')
    return 'none'
  }
  const fromEnv = await Promise.all(keyEnv.map((entry) => keyOf(entry, shell.env)))
  const { keys, ...rest } = file === undefined ? { keys: [] } : await readKeys(file)
  const all = [...fromEnv, ...keys]
  if (all.length > 0) return { ...rest, keys: all }
  return badOption(
    'say who may use it: --key-env NAME (a variable that holds the key), --keys <file>, or --no-auth on loopback; ' +
      'skein keys new makes a key',
  )
}

const scopes: readonly Scope[] = ['read', 'write', 'approve', 'admin']

/** `NAME=write,approve`; the name of the variable is that of the key. */
async function keyOf(entry: string, env: Readonly<Record<string, string | undefined>>): Promise<ApiKey> {
  const { hashKey } = await import('../../../server.js')
  const [name = '', list = 'admin'] = entry.split('=', 2)
  const key = env[name]
  if (key === undefined || key === '')
    return badOption(`--key-env ${name}: the environment has no variable of this name, or an empty one`)
  const held = list.split(',').map((scope) => scopes.find((known) => known === scope.trim()))
  const known = held.filter((scope) => scope !== undefined)
  if (known.length < held.length) return badOption(`--key-env ${entry}: scopes are ${scopes.join(', ')}`)
  return { name, sha256: hashKey(key), scopes: known }
}

interface KeyFile {
  readonly keys: readonly ApiKey[]
  readonly secret?: string
}

/** Its form is checked by the server, which says what is wrong with it. */
async function readKeys(file: string): Promise<KeyFile> {
  const text = await readFile(file, 'utf8').catch((thrown: Error) => badOption(`--keys ${file}: ${thrown.message}`))
  const parsed = await parseJson(file, text)
  if (parsed && Array.isArray(parsed['keys'])) return parsed as unknown as KeyFile
  return badOption(`--keys ${file}: it must hold { "keys": [{ "name": …, "sha256": …, "scopes": […] }] }`)
}

async function parseJson(file: string, text: string): Promise<Record<string, unknown> | undefined> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch (thrown) {
    return badOption(`--keys ${file}: it is no JSON: ${String(thrown)}`)
  }
}
