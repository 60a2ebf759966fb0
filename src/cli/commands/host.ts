/**
 * `skein host`: serves a store until it is told to stop. On NATS it joins those that serve the namespace already.
 *
 * - The first signal hands over in good order: nothing new starts, running calls may land, partitions are given
 *   back. The second ends the process at once, which loses nothing either.
 */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { HostEvent, Skein } from '../../index.js'
import { exitCode, exitOfStop } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { counted, oneLine } from '../format.js'
import { envOf } from './env-option.js'
import type { CliOutput } from '../output.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { limitHelp, limitsOf, several, workerEnvHelp, workersHelp, workersOf } from '../settings.js'
import type { WorkerFlags } from '../settings.js'
import { label } from '../visible.js'

interface Options extends WorkerFlags {
  readonly name?: string
  readonly appVersion?: string
  readonly env?: readonly string[]
  readonly limit?: readonly string[]
}

export function register(command: Command, perform: RunCommand): void {
  command
    .argument('<app>', 'module or folder of the definitions')
    .option('--name <name>', 'name of the app (default: that of its package.json)')
    .option(
      '--app-version <version>',
      'version of the app (default: that of its package.json); on NATS the newest is served first',
    )
    .option(
      '--env <name=value>',
      'a variable that tools declare; a name alone takes the value of the environment; may be given several times',
      several,
    )
    .option('--limit <name=value>', limitHelp, several)
    .option('--workers <count>', workersHelp)
    .option('--worker-env <name>', workerEnvHelp, several)
    .action((app: string, options: Options) => perform(command, (around) => host(around, { ...options, app })))
}

async function host(
  around: CommandContext,
  { app, name, appVersion, env: given = [], ...more }: Options & { readonly app: string },
): Promise<ExitCode> {
  const { out, shell, store } = around
  const [env, limits, workers] = await Promise.all([
    envOf(shell, given, '--env '),
    limitsOf(more.limit),
    workersOf(shell, more),
  ])
  const { createSkein } = await import('../../index.js')
  const line = createLines(out)
  let serving = false
  const debugging = shell.env['SKEIN_DEBUG'] === '1'
  const skein = await createSkein({
    app,
    backend: await store.source(),
    ...store.key,
    env,
    ...defined({ limits }),
    ...defined({ workers }),
    ...defined({ name }),
    ...defined({ version: appVersion }),
    warn: (what, thrown) =>
      out.note(
        `skein: ${thrown instanceof Error ? `${what}: ${(debugging && thrown.stack) || thrown.message}` : what}`,
      ),
    // What it begins with is told by its first line.
    onHostEvent: (news) => serving && line(wordsFor(news), news),
  })
  around.onStop(async () => {
    line('stopping; calls that run may still finish (once more: stop at once)', { type: 'stopping' })
    await skein.close()
    line('stopped', { type: 'stopped' })
  })
  await tellServing(around, skein, line)
  serving = true
  return new Promise<never>(() => undefined)
}

type Line = (text: string, value: object) => void

function createLines(out: CliOutput): Line {
  return (text, value) => {
    if (out.mode === 'json') out.json(value)
    else out.print(`${text}\n`)
  }
}

async function tellServing({ store }: CommandContext, { host, agents, hosts: list }: Skein, line: Line): Promise<void> {
  const { name, app, appVersion } = host.profile
  const { hosts, partitions: of } = await list()
  const { partitions = [] } = hosts.find((each) => each.name === name) ?? {}
  const what = [app ?? 'an app without a name', appVersion].filter((word) => word !== undefined).join(' ')
  const part = store.shared ? `: ${partitions.length} of ${counted(of, 'partition')}` : ''
  line(`serving ${what} from ${store.name} as ${name}${part}`, {
    type: 'serving',
    store: store.name,
    host: name,
    ...defined({ app, appVersion }),
    agents,
    held: partitions.length,
    of,
  })
}

function wordsFor(news: HostEvent): string {
  if (news.type === 'partitions') return `holds ${news.held} of ${counted(news.of, 'partition')}`
  if (news.type === 'turn') {
    const good = exitOfStop(news.reason) === exitCode.ok
    return (
      `${good ? '✓' : '✗'} ${label(news.thread)} (${label(news.agent)}) ` +
      `${news.reason}${news.why === undefined ? '' : `: ${oneLine(news.why, 300)}`}`
    )
  }
  if (news.type === 'left') return `leaves ${counted(news.threads, 'unfinished thread')} alone`
  return news.type === 'server.back'
    ? 'the server is back'
    : 'the server is lost; it is tried again and again, and threads go on when it is back'
}
