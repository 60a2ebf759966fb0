/**
 * `skein fork`: another thread begins with the past of one, up to a point. With `--app` it goes on in this process, on
 * other definitions.
 */
import type { Command } from 'commander'
import { Option } from 'commander'
import { defined } from '../../../core/defined.js'
import type { ForkOptions } from '../../../index.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { createOnce, goOnCommand, leave } from '../../open.js'
import type { OpenRequest } from '../../open.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { budgetOf, envHelp, several } from '../../settings.js'
import { commandLine, withAnyClient } from '../../store.js'
import type { AnyClient } from '../../store.js'
import { showFirst, watchToEnd } from '../../turn/turns.js'
import { standingOf } from '../../turn/watch.js'
import { markUnanswered, tellUnanswered } from '../../unanswered.js'
import { crossingText, withReport } from './crossing.js'
import { openHere } from './here.js'
import { withOptionNames } from './option-names.js'
import { placeHelp, placeOf } from './place.js'

interface Options {
  readonly tree?: true
  readonly id?: string
  readonly effects?: 'ask' | 'refuse' | 'run'
  readonly force?: true
  readonly go?: true
  readonly dry?: true
  readonly keepSchedules?: true
  readonly dropEnv?: true
  readonly budget?: readonly string[]
  readonly tag?: readonly string[]
  readonly app?: string
  readonly env?: readonly string[]
}

export function effectsOption(): Option {
  return new Option('--effects <word>', 'what calls with a side effect do in it').choices(['ask', 'refuse', 'run'])
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', placeHelp)
    .option('--tree', 'all threads below it too, as they were at that position')
    .option('--id <id>', 'its id (default: one that nobody has)')
    .addOption(effectsOption())
    .option('--force', 'although the thread has acted on the world since: the fork may do it again')
    .option('--go', 'it goes on at once; else it is paused where a turn was under way')
    .option('--dry', 'only say what lies between the point and now')
    .option('--app <app>', 'definitions that it goes on with, in this process; with --go this shows its turn')
    .option('--env <name=value>', `with --app: ${envHelp}`, several)
    .option('--drop-env', 'it has none of the variables of the thread')
    .option('--keep-schedules', 'it has the scheduled calls of the thread')
    .option('--budget <name=amount>', 'what it may spend (default: what was left); may be given several times', several)
    .option('--tag <tag>', 'a tag in place of those of the thread; may be given several times', several)
    .action((text: string, options: Options) =>
      runCommand(command, (context) => withOptionNames(context, fork(context, text, options))),
    )
}

interface Asked {
  readonly source: string
  readonly id: string
  readonly fork: ForkOptions & { readonly id: string }
}

async function fork(context: CommandContext, text: string, options: Options): Promise<ExitCode> {
  const { app, env, go, dry } = options
  const asked = await askedOf(text, options)
  if (app === undefined || dry) {
    await checkAlone(env, app)
    return withAnyClient(context.store, (client) =>
      dry ? report(context, client, asked) : forkThere(context, client, { ...asked, go: go === true }),
    )
  }
  await checkNear(context, app)
  return forkHere(context, asked, { app, env: env ?? [], go: go === true })
}

async function askedOf(text: string, options: Options): Promise<Asked> {
  const {
    tree,
    effects,
    force,
    budget,
    tag,
    dropEnv,
    keepSchedules,
    id = `f-${crypto.randomUUID().slice(0, 13)}`,
  } = options
  const { thread, at } = await placeOf(text)
  const amounts = await budgetOf(budget)
  return {
    source: thread,
    id,
    fork: {
      id,
      ...defined({ at, tree, effects, force, budget: amounts, tags: tag }),
      ...(dropEnv && { env: 'drop' as const }),
      ...(keepSchedules && { schedules: 'keep' as const }),
    },
  }
}

async function checkAlone(env: readonly string[] | undefined, app: string | undefined): Promise<void> {
  if (env === undefined || app !== undefined) return
  const { SkeinError } = await import('../../../index.js')
  throw new SkeinError('BAD_OPTION', '--env is for the definitions of --app; skein env sets variables of a thread')
}

/** A server runs what it serves. */
async function checkNear({ store }: CommandContext, app: string): Promise<void> {
  if (!store.server) return
  const { SkeinError } = await import('../../../index.js')
  throw new SkeinError('BAD_OPTION', `the server at ${store.name} has its own app; leave out --app ${app}`)
}

async function report({ out }: CommandContext, client: AnyClient, { source, fork: asked }: Asked): Promise<ExitCode> {
  const crossing = await (await client.threads.get(source)).fork({ ...asked, dry: true })
  if (out.mode === 'json') out.json(crossing)
  else out.print(crossingText(crossing))
  return exitCode.ok
}

/** Whoever serves the store goes on with it. */
async function forkThere(
  context: CommandContext,
  client: AnyClient,
  { source, id, fork: asked, go }: Asked & { readonly go: boolean },
): Promise<ExitCode> {
  const { out, store } = context
  const thread = await client.threads.get(source)
  const state = await markUnanswered(withReport(context, thread.fork({ ...asked, ...(go && { go }) })))
  if (out.mode !== 'json') out.print(`${id}\n`)
  if (state === 'kept') return tellUnanswered(out, { thread: id, state })
  const status = await (await client.threads.get(id)).status()
  if (out.mode === 'json') out.json({ thread: id, state, status })
  else if (status === 'paused') out.note(`it is paused; ${commandLine(store, 'skein', 'resume', id)} lets it go on`)
  return exitCode.ok
}

interface Near {
  readonly app: string
  readonly env: readonly string[]
  readonly go: boolean
}

async function forkHere(context: CommandContext, { source, id, fork: asked }: Asked, near: Near): Promise<ExitCode> {
  const { out } = context
  const { app, env, go } = near
  const client = await openHere(context, { app, env, roots: [id] })
  const request: OpenRequest = { command: 'run', app, env, thread: id }
  const finding = client.threads.get(source).then((thread) => withReport(context, thread.fork(asked)))
  const once = createOnce()
  const opened = { client, runs: 'here', agents: client.agents } as const
  context.onStop(() => leave(context, { request, opened, finding, once }))
  try {
    const thread = await finding
    const goOn = (): string | undefined => once(goOnCommand(context, request, thread))
    if (!go) {
      if (out.mode === 'json') out.json({ thread: id, state: 'accepted', status: await thread.status() })
      else out.print(`${id}\n`)
      return exitCode.ok
    }
    if (out.mode !== 'json') out.note(out.paint('dim', `thread ${id} · forked from ${source}`))
    // A tree is at rest when it was copied.
    if (asked.tree) await thread.settled()
    // Before it goes on: the turn that it is in the middle of is shown.
    const watched = { watching: { client, thread, goOn }, before: await standingOf(thread), shown: new Set<string>() }
    if (asked.tree) await thread.resume({ tree: true })
    return await watchToEnd(context, watched, await showFirst(context, watched, undefined))
  } finally {
    await client.close()
  }
}
