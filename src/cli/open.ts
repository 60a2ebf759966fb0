/**
 * How `run` and `chat` open their store and run their thread: as a host for as long as the command takes, or as a
 * client of a host that serves the store already. The same on NATS: a command that only wants an answer takes no
 * threads away from the hosts that are there.
 *
 * - Ctrl-C never cancels: the turn is durable, and the command that goes on with it is printed, once.
 */
import type { Command } from 'commander'
import { defined } from '../core/defined.js'
import type { RemoteThread } from '../client.js'
import type { HostEvent, SkeinClient } from '../index.js'
import { counted } from './format.js'
import { observeOptions, observersOf } from './observing.js'
import type { ObserveFlags } from './observing.js'
import type { CommandContext } from './run-command.js'
import {
  readAttachments,
  budgetHelp,
  budgetOf,
  envHelp,
  fileHelp,
  filesOf,
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
import { commandLine } from './store.js'
import type { AnyClient } from './store.js'

export interface OpenFlags extends WorkerFlags, Pick<ObserveFlags, 'otlp'> {
  readonly agent?: string
  readonly thread?: string
  readonly tag?: readonly string[]
  readonly env?: readonly string[]
  readonly all?: boolean
  readonly attach?: readonly string[]
  readonly file?: readonly string[]
  readonly budget?: readonly string[]
  readonly limit?: readonly string[]
}

export interface OpenRequest extends OpenFlags {
  /** The command that is typed to go on. */
  readonly command: 'run' | 'chat'
  /** Empty where a server has it. */
  readonly app: string
}

/** The app that a command names: a server has its own. */
export async function appOf({ store }: CommandContext, app: string | undefined): Promise<string> {
  if (store.server ? app === undefined : app !== undefined) return app ?? ''
  const { SkeinError } = await import('../index.js')
  const why = store.server
    ? `the server at ${store.name} has its own app; leave out ${JSON.stringify(app)}`
    : "missing required argument 'app': the module or folder of the definitions"
  throw new SkeinError('BAD_OPTION', why)
}

export interface OpenedStore<Client = AnyClient> {
  readonly client: Client
  /** Which process runs the turn. */
  readonly runs: 'here' | 'elsewhere'
  /** The agents of the app; none where another process has it. */
  readonly agents: readonly string[]
}

/** Adds the options that name a thread and configure a host. */
export function openOptions(command: Command): Command {
  return observeOptions(command, false)
    .option('--agent <name>', 'agent of a new thread; not needed where the app has one only')
    .option('--tag <tag>', 'a tag of a new thread; may be given several times', several)
    .option('--env <name=value>', envHelp, several)
    .option('--file <path=file>', fileHelp, several)
    .option('--budget <name=amount>', budgetHelp, several)
    .option('--limit <name=value>', limitHelp, several)
    .option('--workers <count>', workersHelp)
    .option('--worker-env <name>', workerEnvHelp, several)
    .option('--all', 'also go on with what other threads of the store have not finished')
}

export type OpenSettings = Awaited<ReturnType<typeof settingsOf>>

/** Parses the options before anything is opened or created: a mistake in them changes nothing. */
export async function settingsOf(
  { shell }: CommandContext,
  { env = [], limit, file, budget, attach, ...flags }: OpenRequest,
) {
  return {
    env: await variablesOf(shell, env, '--env '),
    limits: await limitsOf(limit),
    workers: await workersOf(shell, flags),
    observe: await observersOf(shell, flags),
    files: await filesOf(file),
    budget: await budgetOf(budget),
    attachments: await readAttachments(attach),
  }
}

export interface OpenContext {
  readonly request: OpenRequest
  readonly settings: OpenSettings
  /** The root of the thread, if the thread exists. */
  readonly root?: string
}

export async function open(context: CommandContext, opening: OpenContext): Promise<OpenedStore> {
  return context.store.server ? openServer(context, opening) : openStore(context, opening)
}

/** The store itself, by this process or as a client of the one that serves it. */
export async function openStore(context: CommandContext, opening: OpenContext): Promise<OpenedStore<SkeinClient>> {
  const { store } = context
  const { connectSkein, SkeinError } = await import('../index.js')
  const client = store.shared ? await connectToHosts(context) : undefined
  if (client) return runsElsewhere(context, opening, { client, host: 'another host' })
  try {
    return await openHost(context, opening)
  } catch (thrown) {
    if (!SkeinError.is(thrown, 'STORE_IN_USE')) throw thrown
    const pid = thrown.data?.['pid']
    return runsElsewhere(context, opening, {
      client: await connectSkein({ backend: await store.source(), ...store.key }),
      host: `another process${typeof pid === 'number' ? ` (pid ${pid})` : ''}`,
    })
  }
}

/** Its agents are known to those who may read them; a server that is a client itself does not know. */
async function openServer({ out, store }: CommandContext, { request }: OpenContext): Promise<OpenedStore> {
  const { SkeinError } = await import('../index.js')
  const flag = (['env', 'limit', 'workers', 'workerEnv', 'all'] as const).find((name) => request[name] !== undefined)
  if (flag !== undefined)
    throw new SkeinError('BAD_OPTION', `--url: the host behind the server has its own settings; leave out ${flag}`)
  const { connect } = await import('../client.js')
  const client = connect(store.server?.url ?? '', defined({ key: store.server?.key }))
  const outline = await client.definitions().catch((thrown: unknown) => {
    if (SkeinError.is(thrown) && thrown.data?.['problem'] === 'NOT_FOUND') return undefined
    throw thrown
  })
  out.note(`the turn runs behind ${store.name}`)
  return { client, runs: 'elsewhere', agents: outline?.agents.map(({ name }) => name) ?? [] }
}

async function openHost(
  context: CommandContext,
  { request: { app, all }, settings: { env, limits, workers, observe }, root }: OpenContext,
): Promise<OpenedStore<SkeinClient>> {
  const { out, store } = context
  const { createSkein } = await import('../index.js')
  const mine = root === undefined ? [] : [root]
  const skein = await createSkein({
    app,
    backend: await store.source(),
    ...store.key,
    env,
    ...defined({ limits, workers, observe, resuming: all ? undefined : mine }),
    warn: (what, thrown) => out.note(`skein: ${thrown instanceof Error ? `${what}: ${thrown.message}` : what}`),
    onHostEvent: createUnfinishedNote(context, app),
  }).catch(refusedLimit)
  return { client: skein, runs: 'here', agents: skein.agents }
}

/** A client, where hosts serve the store. */
async function connectToHosts({ store }: CommandContext): Promise<SkeinClient | undefined> {
  const { connectSkein, SkeinError } = await import('../index.js')
  const client = await connectSkein({ backend: await store.source(), ...store.key }).catch((thrown: unknown) => {
    // Nobody has used the namespace yet.
    if (SkeinError.is(thrown) && thrown.data?.['missing'] === 'namespace') return undefined
    throw thrown
  })
  if (await client?.hosted()) return client
  await client?.close()
  return undefined
}

function runsElsewhere(
  { out, store }: CommandContext,
  { request: { env = [] } }: OpenContext,
  { client, host }: { readonly client: SkeinClient; readonly host: string },
): OpenedStore<SkeinClient> {
  out.note(
    `${host} serves ${store.name}; the turn runs there, with the ` +
      `app${env.length > 0 ? ' and the variables' : ''} of that host`,
  )
  return { client, runs: 'elsewhere', agents: [] }
}

/** Tells that other threads have unfinished work: this command leaves it alone, but its user may not know of it. */
function createUnfinishedNote({ out, store }: CommandContext, app: string): (event: HostEvent) => void {
  let unfinished = 0
  const tell = (): void => {
    const command = commandLine(store, 'skein', 'host', app)
    out.note(
      `${counted(unfinished, 'other thread of this store has', 'other threads of this store have')} unfinished work; ` +
        `this leaves it alone (${command} goes on with all, and so does run --all)`,
      { left: unfinished, command },
    )
  }
  return (event) => {
    if (event.type !== 'left') return
    // Each partition reports its own count, within one turn of the event loop: the note has their sum.
    if (unfinished === 0) setImmediate(tell)
    unfinished += event.threads
  }
}

/** The command that goes on with the thread. Of variables it has the names only: their values may be secrets. */
export function goOnCommand(
  { store }: CommandContext,
  { command, app, env = [], limit = [], workers }: OpenRequest,
  { id }: RemoteThread,
): string {
  const names = env.flatMap((entry) => ['--env', entry.split('=', 1)[0] ?? ''])
  const limits = limit.flatMap((entry) => ['--limit', entry])
  const threads = workers === undefined ? [] : ['--workers', workers]
  return commandLine(
    store,
    'skein',
    command,
    ...(app === '' ? [] : [app]),
    '--thread',
    id,
    ...names,
    ...limits,
    ...threads,
  )
}

/** Returns its argument the first time, and undefined after that. */
export function createOnce(): (text: string) => string | undefined {
  let used = false
  return (text) => {
    if (used) return undefined
    used = true
    return text
  }
}

export interface LeaveContext {
  readonly request: OpenRequest
  readonly opened: OpenedStore
  readonly finding: Promise<RemoteThread>
  readonly once: (text: string) => string | undefined
}

/** Closes the store after a signal, and says how the turn goes on. */
export async function leave(context: CommandContext, { request, opened, finding, once }: LeaveContext): Promise<void> {
  const { out, store } = context
  const here = opened.runs === 'here'
  out.show([])
  if (here) out.note('stopping; calls that run may still finish (once more: stop at once)')
  // Why the thread was not found is reported by the command itself.
  const thread = await finding.catch(() => undefined)
  await opened.client.close()
  out.show([])
  if (!thread) return
  const kept = request.command === 'chat' ? 'the thread is kept' : 'the turn is kept'
  const command = once(here ? goOnCommand(context, request, thread) : commandLine(store, 'skein', 'tail', thread.id))
  const what = here ? `${kept}; go on with` : 'the turn goes on in its host; watch it with'
  if (command !== undefined) out.note(`${what}: ${command}`, { thread: thread.id, command })
}
