/**
 * `skein host`: serves a store until it is stopped. On NATS it joins the hosts that serve the namespace already.
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
import type { CliOutput } from '../output.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import {
  envHelp,
  limitHelp,
  limitsOf,
  several,
  variablesOf,
  workerEnvHelp,
  workersHelp,
  workersOf,
} from '../settings.js'
import type { WorkerFlags } from '../settings.js'
import { label } from '../visible.js'

interface Options extends WorkerFlags {
  readonly name?: string
  readonly appVersion?: string
  readonly env?: readonly string[]
  readonly limit?: readonly string[]
}

interface HostRequest extends Options {
  readonly app: string
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<app>', 'module or folder of the definitions')
    .option('--name <name>', 'name of the app (default: that of its package.json)')
    .option(
      '--app-version <version>',
      'version of the app (default: that of its package.json); on NATS the newest is served first',
    )
    .option('--env <name=value>', envHelp, several)
    .option('--limit <name=value>', limitHelp, several)
    .option('--workers <count>', workersHelp)
    .option('--worker-env <name>', workerEnvHelp, several)
    .action((app: string, options: Options) => runCommand(command, (context) => serve(context, { ...options, app })))
}

async function serve(context: CommandContext, request: HostRequest): Promise<ExitCode> {
  const line = createLines(context.out)
  // What the host begins with is in its first line.
  let serving = false
  const skein = await openHost(context, request, (event) => serving && line(eventLine(event), event))
  context.onStop(async () => {
    line('stopping; calls that run may still finish (once more: stop at once)', { type: 'stopping' })
    await skein.close()
    line('stopped', { type: 'stopped' })
  })
  await tellServing(context, skein, line)
  serving = true
  return new Promise<never>(() => undefined)
}

async function openHost(
  { out, shell, store }: CommandContext,
  { app, name, appVersion, env: entries = [], limit, ...flags }: HostRequest,
  onHostEvent: (event: HostEvent) => void,
): Promise<Skein> {
  const [env, limits, workers] = await Promise.all([
    variablesOf(shell, entries, '--env '),
    limitsOf(limit),
    workersOf(shell, flags),
  ])
  const { createSkein } = await import('../../index.js')
  const debugging = shell.env['SKEIN_DEBUG'] === '1'
  const reason = (thrown: Error): string => (debugging && thrown.stack) || thrown.message
  return createSkein({
    app,
    backend: await store.source(),
    ...store.key,
    env,
    ...defined({ limits, workers, name, version: appVersion }),
    warn: (what, thrown) => out.note(`skein: ${thrown instanceof Error ? `${what}: ${reason(thrown)}` : what}`),
    onHostEvent,
  })
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

function eventLine(event: HostEvent): string {
  switch (event.type) {
    case 'partitions':
      return `holds ${event.held} of ${counted(event.of, 'partition')}`
    case 'turn': {
      const mark = exitOfStop(event.reason) === exitCode.ok ? '✓' : '✗'
      const why = event.why === undefined ? '' : `: ${oneLine(event.why, 300)}`
      return `${mark} ${label(event.thread)} (${label(event.agent)}) ${event.reason}${why}`
    }
    case 'left':
      return `leaves ${counted(event.threads, 'unfinished thread')} alone`
    case 'server.back':
      return 'the server is back'
    case 'server.lost':
      return 'the server is lost; it is tried again and again, and threads go on when it is back'
  }
}
