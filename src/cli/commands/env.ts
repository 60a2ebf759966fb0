/**
 * `skein env`: the variables of a thread. Without values it lists their names; values are never shown.
 *
 * - A secret need not stand on a command line, which others on the machine can read and shells keep: it comes from
 *   stdin, a file or the environment.
 */
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import type { SkeinClient } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { table } from '../format.js'
import { envOf } from './env-option.js'
import { markUnanswered, tellUnanswered } from '../unanswered.js'
import { piped } from '../stdin.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { withClient } from '../store.js'
import { watchHere } from '../turn/watch.js'

interface Options {
  readonly stdin?: string
  readonly file?: readonly string[]
  readonly unset?: readonly string[]
  readonly wait?: boolean
}

interface Asked extends Options {
  readonly id: string
  readonly given: readonly string[]
}

export function register(command: Command, perform: RunCommand): void {
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
    .action((id: string, given: readonly string[], options: Options) =>
      perform(command, (around) =>
        withClient(around.store, (client) => env(around, client, { ...options, id, given })),
      ),
    )
}

function several(given: string, before: readonly string[] = []): readonly string[] {
  return [...before, given]
}

async function env(around: CommandContext, client: SkeinClient, asked: Asked): Promise<ExitCode> {
  const { out } = around
  const [, parent, request] = /^(.+)\/([^/]+)$/.exec(asked.id) ?? []
  const thread = await client.threads.get(parent ?? asked.id)
  const values = await valuesOf(around, asked)
  if (request !== undefined) return provide(around, client, { thread: thread.id, request, values })
  if (Object.keys(values).length === 0) return list(around, client, asked.id)
  // Before it is said: the turn may be over when the answer comes.
  const run = asked.wait ? await thread.current() : undefined
  const state = await markUnanswered(thread.env.set(values))
  const told = { thread: asked.id, names: Object.keys(values), state }
  if (state === 'kept') return tellUnanswered(out, told, asked.wait)
  if (run) return (await watchHere(around, { client, thread, run })).code
  if (out.mode === 'json') out.json(told)
  else
    out.print(
      `${Object.entries(values)
        .map(([name, value]) => `${name} ${value === null ? 'taken away' : 'set'}`)
        .join('\n')}\n`,
    )
  return exitCode.ok
}

interface Providing {
  readonly thread: string
  readonly request: string
  readonly values: Readonly<Record<string, string | null>>
}

/** A child that waits to begin takes all of its values at once. */
async function provide(
  { out }: CommandContext,
  { variables }: SkeinClient,
  { thread, request, values }: Providing,
): Promise<ExitCode> {
  const given = Object.fromEntries(
    Object.entries(values).flatMap(([name, value]): [string, string][] => (value === null ? [] : [[name, value]])),
  )
  const state = await markUnanswered(variables.provide(thread, request, given))
  const told = { thread, request, names: Object.keys(given), state }
  if (state === 'kept') return tellUnanswered(out, told)
  if (out.mode === 'json') out.json(told)
  else out.print('started\n')
  return exitCode.ok
}

async function list({ out }: CommandContext, client: SkeinClient, id: string): Promise<ExitCode> {
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

async function valuesOf(
  { shell }: CommandContext,
  { given, stdin, file = [], unset = [] }: Asked,
): Promise<Readonly<Record<string, string | null>>> {
  const { SkeinError } = await import('../../index.js')
  const files = file.map(async (entry): Promise<readonly [string, string]> => {
    const [, name, path] = /^([^=]+)=(.+)$/s.exec(entry) ?? []
    if (name === undefined || path === undefined)
      throw new SkeinError('BAD_OPTION', `--file takes NAME=path; this is ${JSON.stringify(entry)}`)
    try {
      return [name, withoutEnd(await readFile(path, 'utf8'))]
    } catch (thrown) {
      throw new SkeinError('BAD_OPTION', `--file ${name}: ${thrown instanceof Error ? thrown.message : String(thrown)}`)
    }
  })
  const read = await Promise.all(files)
  const values: Readonly<Record<string, string>> = {
    ...(await envOf(shell, given)),
    ...Object.fromEntries(read),
    ...(stdin !== undefined && { [stdin]: await piped(shell) }),
  }
  // Seldom meant: the shell had no value for it, or the pipe no output.
  const empty = Object.keys(values).find((name) => values[name] === '')
  if (empty !== undefined)
    throw new SkeinError('BAD_OPTION', `the value of ${empty} is empty; to take a value away use --unset ${empty}`)
  return { ...values, ...Object.fromEntries(unset.map((name) => [name, null])) }
}

/** Editors end a file with a line end; a value has none there. */
function withoutEnd(text: string): string {
  return text.replace(/\r?\n$/, '')
}
