/**
 * `skein env`: lists the variables of a thread, or sets them. Values are never shown.
 *
 * - A secret need not be on a command line, where others on the machine and the history of the shell can read it: it
 *   may come from stdin, a file or the environment.
 */
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'

import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { table } from '../format.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { several, variablesOf } from '../settings.js'
import { piped } from '../stdin.js'
import { withAnyClient } from '../store.js'
import type { AnyClient } from '../store.js'
import { watchHere } from '../turn/watch.js'
import { markUnanswered, tellUnanswered } from '../unanswered.js'

interface Options {
  readonly stdin?: string
  readonly file?: readonly string[]
  readonly unset?: readonly string[]
  readonly wait?: boolean
}

interface EnvRequest extends Options {
  readonly id: string
  readonly entries: readonly string[]
}

/** By name; null takes the value away. */
type VariableChanges = Readonly<Record<string, string | null>>

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument(
      '<thread>',
      'id of the thread; or <thread>/<request>, as `skein inbox` lists it, for a child that waits to begin',
    )
    .argument(
      '[name=value...]',
      'values to set; a name alone takes the value of the environment. Without any, the names are listed',
    )
    .option('--stdin <name>', 'read the value of this one from stdin')
    .option('--file <name=path>', 'read the value of this one from a file; may be given several times', several)
    .option('--unset <name>', 'take the value away; may be given several times', several)
    .option('--wait', 'watch the turn until it ends or waits again')
    .action((id: string, entries: readonly string[], options: Options) =>
      runCommand(command, (context) =>
        withAnyClient(context.store, (client) => env(context, client, { ...options, id, entries })),
      ),
    )
}

async function env(context: CommandContext, client: AnyClient, request: EnvRequest): Promise<ExitCode> {
  const [, parent, deferred] = /^(.+)\/([^/]+)$/.exec(request.id) ?? []
  const thread = await client.threads.get(parent ?? request.id)
  const changes = await changesOf(context, request)
  if (deferred !== undefined) return provide(context, client, { thread: thread.id, request: deferred, changes })
  if (Object.keys(changes).length === 0) return list(context, client, request.id)
  return set(context, client, { ...request, changes })
}

async function set(
  context: CommandContext,
  client: AnyClient,
  { id, changes, wait }: EnvRequest & { readonly changes: VariableChanges },
): Promise<ExitCode> {
  const { out } = context
  const thread = await client.threads.get(id)
  // Looked up before the values are sent: the turn may have ended when the answer comes.
  const run = wait ? await thread.current() : undefined
  const state = await markUnanswered(thread.env.set(changes))
  const value = { thread: id, names: Object.keys(changes), state }
  if (state === 'kept') return tellUnanswered(out, value, wait)
  if (run) return (await watchHere(context, { client, thread, run })).code
  if (out.mode === 'json') out.json(value)
  else for (const name of Object.keys(changes)) out.print(`${name} ${changes[name] === null ? 'taken away' : 'set'}\n`)
  return exitCode.ok
}

interface ProvideRequest {
  readonly thread: string
  readonly request: string
  readonly changes: VariableChanges
}

/** A child that waits to begin takes all of its values at once. */
async function provide(
  { out }: CommandContext,
  { variables }: AnyClient,
  { thread, request, changes }: ProvideRequest,
): Promise<ExitCode> {
  const values = Object.fromEntries(
    Object.entries(changes).flatMap(([name, value]): [string, string][] => (value === null ? [] : [[name, value]])),
  )
  const state = await markUnanswered(variables.provide(thread, request, values))
  const value = { thread, request, names: Object.keys(values), state }
  if (state === 'kept') return tellUnanswered(out, value)
  if (out.mode === 'json') out.json(value)
  else out.print('started\n')
  return exitCode.ok
}

async function list({ out }: CommandContext, client: AnyClient, id: string): Promise<ExitCode> {
  const thread = await client.threads.get(id)
  const [variables, { pending = [] }] = await Promise.all([thread.env.names(), thread.info()])
  const missing = [...new Set(pending.flatMap((item) => item.missing ?? []))]
  if (out.mode === 'json') out.json({ thread: id, variables, missing })
  else if (variables.length + missing.length === 0) out.note('no variables are set')
  else
    out.print(
      table([
        ['NAME', 'VALUE'],
        ...variables.map(({ name, from }) => [name, from === 'own' ? 'set' : 'inherited']),
        ...missing.map((name) => [name, 'missing']),
      ]),
    )
  return exitCode.ok
}

async function changesOf(
  { shell }: CommandContext,
  { entries, stdin, file = [], unset = [] }: EnvRequest,
): Promise<VariableChanges> {
  const fromFiles = await Promise.all(file.map(readVariable))
  const values: Readonly<Record<string, string>> = {
    ...(await variablesOf(shell, entries)),
    ...Object.fromEntries(fromFiles),
    ...(stdin !== undefined && { [stdin]: await piped(shell) }),
  }
  // Hardly ever meant: the shell had no value for it, or the pipe no output.
  const empty = Object.keys(values).find((name) => values[name] === '')
  if (empty !== undefined) {
    const { SkeinError } = await import('../../index.js')
    throw new SkeinError('BAD_OPTION', `the value of ${empty} is empty; to take a value away use --unset ${empty}`)
  }
  return { ...values, ...Object.fromEntries(unset.map((name) => [name, null])) }
}

/** `NAME=path`: the content of the file, without the line end that editors add. */
async function readVariable(entry: string): Promise<readonly [name: string, value: string]> {
  const { SkeinError } = await import('../../index.js')
  const [, name, path] = /^([^=]+)=(.+)$/s.exec(entry) ?? []
  if (name === undefined || path === undefined)
    throw new SkeinError('BAD_OPTION', `--file takes NAME=path; this is ${JSON.stringify(entry)}`)
  try {
    return [name, (await readFile(path, 'utf8')).replace(/\r?\n$/, '')]
  } catch (thrown) {
    throw new SkeinError('BAD_OPTION', `--file ${name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
  }
}
