/**
 * What `host` and `dev` share: the options of a process that serves a store until it is stopped, the host that they
 * open with them, and the lines in which they tell what happens to it.
 */
import type { Command } from 'commander'
import { defined } from '../core/defined.js'
import type { HostEvent, Skein } from '../index.js'
import { exitCode, exitOfStop } from './exit.js'
import { counted, oneLine } from './format.js'
import { observeOptions, observersOf } from './observing.js'
import type { ObserveFlags } from './observing.js'
import type { CliOutput } from './output.js'
import type { CommandContext } from './run-command.js'
import {
  envHelp,
  limitHelp,
  limitsOf,
  refusedLimit,
  several,
  variablesOf,
  workerEnvHelp,
  workersHelp,
  workersOf,
} from './settings.js'
import type { WorkerFlags } from './settings.js'
import { label } from './visible.js'

export interface ServeFlags extends WorkerFlags, ObserveFlags {
  readonly name?: string
  readonly appVersion?: string
  readonly env?: readonly string[]
  readonly limit?: readonly string[]
}

export interface ServeRequest extends ServeFlags {
  readonly app: string
}

/** Adds the app and the options of a host. */
export function serveOptions(command: Command): Command {
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
  return observeOptions(command, true)
}

export interface ServeListener {
  readonly onHostEvent: (event: HostEvent) => void
  /** Default: it is a note. */
  readonly onWarning?: (text: string) => void
}

export async function openServingHost(
  { out, shell, store }: CommandContext,
  { app, name, appVersion, env: entries = [], limit, ...flags }: ServeRequest,
  { onHostEvent, onWarning }: ServeListener,
): Promise<Skein> {
  const [env, limits, workers, observe] = await Promise.all([
    variablesOf(shell, entries, '--env '),
    limitsOf(limit),
    workersOf(shell, flags),
    observersOf(shell, flags),
  ])
  const { createSkein } = await import('../index.js')
  const tell = onWarning ?? ((text: string): void => out.note(text))
  const debugging = shell.env['SKEIN_DEBUG'] === '1'
  const reason = (thrown: Error): string => (debugging && thrown.stack) || thrown.message
  return createSkein({
    app,
    backend: await store.source(),
    ...store.key,
    env,
    ...defined({ limits, workers, observe, name, version: appVersion }),
    warn(what, thrown) {
      // A line of the log says it.
      if (!flags.logJson) tell(`skein: ${thrown instanceof Error ? `${what}: ${reason(thrown)}` : what}`)
    },
    onHostEvent,
  }).catch(refusedLimit)
}

export type TellLine = (text: string, value: object) => void

export function createLines(out: CliOutput): TellLine {
  return (text, value) => {
    if (out.mode === 'json') out.json(value)
    else out.print(`${text}\n`)
  }
}

/** With a log in JSON, what is told beside it is JSON too: both may be captured as one. */
export function createServingLines({ out }: CommandContext, { logJson }: ObserveFlags): TellLine {
  return logJson ? (_, value) => out.json(value) : createLines(out)
}

/** A turn has its line in the log already, unless a program asks for all. */
export function isTold({ out }: CommandContext, { logJson }: ObserveFlags, { type }: HostEvent): boolean {
  return type !== 'turn' || !logJson || out.mode === 'json'
}

export async function tellServing(
  { store }: CommandContext,
  { host, agents, hosts: list }: Skein,
  line: TellLine,
): Promise<void> {
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

/** Closes the host in good order. */
export async function stopServing(skein: Skein | undefined, line: TellLine): Promise<void> {
  line('stopping; calls that run may still finish (once more: stop at once)', { type: 'stopping' })
  await skein?.close()
  line('stopped', { type: 'stopped' })
}

export function eventLine(event: HostEvent): string {
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
