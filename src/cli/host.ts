/**
 * `skein host`: serves a store until it is told to stop. On NATS it joins those that serve the namespace already.
 *
 * QH1 The first signal hands over in good order: nothing new starts, running calls may land, partitions are given back. The
 *     second ends the process at once, which loses nothing either.
 */
import type { Command } from 'commander'
import type { HostNews, Skein } from '../index.js'
import type { ExitCode } from './exit.js'
import { counted } from './format.js'
import { envOf } from './given-env.js'
import type { Output } from './output.js'
import type { Around, Perform } from './perform.js'

interface Options {
  readonly name?: string
  readonly appVersion?: string
  readonly env?: readonly string[]
}

export function register(command: Command, perform: Perform): void {
  command
    .argument('<app>', 'module or folder of the definitions')
    .option('--name <name>', 'name of the app (default: that of its package.json)')
    .option('--app-version <version>', 'version of the app (default: that of its package.json); on NATS the newest is served first')
    .option('--env <name=value>', 'a variable that tools declare; a name alone takes the value of the environment; may be given several times', several)
    .action((app: string, options: Options) => perform(command, (around) => host(around, { ...options, app })))
}

function several(given: string, before: readonly string[] = []): readonly string[] {
  return [...before, given]
}

async function host(around: Around, { app, name, appVersion, env: given = [] }: Options & { readonly app: string }): Promise<ExitCode> {
  const { out, shell, store } = around
  const env = await envOf(shell, given, '--env ')
  const { createSkein } = await import('../index.js')
  const line = createLines(out)
  let serving = false
  const skein = await createSkein({
    app,
    backend: await store.source(),
    env,
    ...(name !== undefined && { name }),
    ...(appVersion !== undefined && { version: appVersion }),
    warn: (what, thrown) => out.note(`skein: ${thrown instanceof Error ? `${what}: ${thrown.message}` : what}`),
    // What it begins with is told by its first line.
    told: (news) => serving && line(wordsFor(news), news),
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

function createLines(out: Output): Line {
  return (text, value) => {
    if (out.mode === 'json') out.json(value)
    else out.print(`${text}\n`)
  }
}

async function tellServing({ store }: Around, { profile, agents, hosts: list }: Skein, line: Line): Promise<void> {
  const { name, app, appVersion } = profile
  const { hosts, partitions: of } = await list()
  const { partitions = [] } = hosts.find((each) => each.name === name) ?? {}
  const what = [app ?? 'an app without a name', appVersion].filter((word) => word !== undefined).join(' ')
  const part = store.shared ? `: ${partitions.length} of ${counted(of, 'partition')}` : ''
  line(`serving ${what} from ${store.name} as ${name}${part}`, { type: 'serving', store: store.name, host: name, ...(app !== undefined && { app }), ...(appVersion !== undefined && { appVersion }), agents, held: partitions.length, of })
}

function wordsFor(news: HostNews): string {
  if (news.type === 'partitions') return `holds ${news.held} of ${counted(news.of, 'partition')}`
  return news.type === 'server.back' ? 'the server is back' : 'the server is lost; it is tried again and again, and threads go on when it is back'
}
