/**
 * `skein mcp`: agents and threads for a client of MCP that starts this process and speaks with it over stdin and
 * stdout. With an app it is a host for as long as the client stays, unless a host serves the store already; without one
 * it is a client of the store, or of the server that `--url` names.
 *
 * - stdout carries the protocol and nothing else: what an app prints goes to stderr.
 * - It ends when the client has gone. Turns are durable and go on where a host serves the store next.
 */
import type { Command } from 'commander'
import type { SkeinClient } from '../../../index.js'
import type { McpConnection } from '../../../server.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { openStore, settingsOf } from '../../open.js'
import type { OpenRequest } from '../../open.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { envHelp, limitHelp, several, workerEnvHelp, workersHelp } from '../../settings.js'
import type { WorkerFlags } from '../../settings.js'
import { commandLine } from '../../store.js'

interface McpFlags extends WorkerFlags {
  readonly env?: readonly string[]
  readonly limit?: readonly string[]
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('[app]', 'module or folder of the definitions; without it, hosts elsewhere run the turns')
    .option('--env <name=value>', envHelp, several)
    .option('--limit <name=value>', limitHelp, several)
    .option('--workers <count>', workersHelp)
    .option('--worker-env <name>', workerEnvHelp, several)
    .action((app: string | undefined, options: McpFlags) =>
      runCommand(command, (context) => serve(context, app, options)),
    )
}

async function serve(context: CommandContext, app: string | undefined, flags: McpFlags): Promise<ExitCode> {
  const { shell, out } = context
  // Before an app is loaded, which may print.
  const stdout = shell.ownStdout()
  await checkTogether(context, app, flags)
  const { serveMcp, bridgeMcp } = await import('../../../server.js')
  const warn = (what: string, thrown: unknown): void =>
    out.note(`skein: ${what}: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
  const { server } = context.store
  if (server) return untilClosed(context, await bridgeMcp(server, { stdin: shell.stdin, stdout, warn }))
  const client = app === undefined ? await connect(context) : await openApp(context, { ...flags, app })
  try {
    return await untilClosed(context, await serveMcp(client, { stdin: shell.stdin, stdout, warn }), client)
  } finally {
    await client.close()
  }
}

async function checkTogether({ store }: CommandContext, app: string | undefined, flags: McpFlags): Promise<void> {
  const { SkeinError } = await import('../../../index.js')
  if (store.server && app !== undefined)
    throw new SkeinError('BAD_OPTION', `--url names a server, which has an app of its own: leave ${app} out`)
  const [useless] = Object.keys(flags)
  if (app === undefined && useless !== undefined)
    throw new SkeinError(
      'BAD_OPTION',
      'the options --env, --limit, --workers and --worker-env are for an app; name one',
    )
}

async function openApp(context: CommandContext, flags: McpFlags & { readonly app: string }): Promise<SkeinClient> {
  const request: OpenRequest = { ...flags, command: 'run', all: true }
  const { client } = await openStore(context, { request, settings: await settingsOf(context, request) })
  return client
}

async function connect({ store, out }: CommandContext): Promise<SkeinClient> {
  const { connectSkein } = await import('../../../index.js')
  const client = await connectSkein({ backend: await store.source(), ...store.key })
  if (!(await client.hosted()))
    out.note(
      `no host serves ${store.name}, so no turn begins; start one: ${commandLine(store, 'skein', 'host', '<app>')}`,
    )
  return client
}

async function untilClosed(
  { onStop }: CommandContext,
  connection: McpConnection,
  client?: SkeinClient,
): Promise<ExitCode> {
  onStop(async () => {
    await connection.close()
    await client?.close()
  })
  await connection.closed
  return exitCode.ok
}
