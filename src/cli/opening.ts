/**
 * How a command that speaks to an agent opens its store and finds its thread: as a host for as long as it takes, or
 * as a client of the host that is there. On NATS, too: whoever only wants an answer takes no threads away from hosts
 * that are there.
 *
 * - Ctrl-C never cancels: the turn is durable, and whoever stops it is told how it goes on, once.
 */
import type { Command } from 'commander'
import { defined } from '../core/defined.js'
import type { HostEvent, Skein, SkeinClient, Thread } from '../index.js'
import { envOf } from './commands/env-option.js'
import { counted } from './format.js'
import type { CommandContext } from './run-command.js'
import {
  attachmentFlags,
  budgetHelp,
  budgetOf,
  fileHelp,
  fileFlags,
  limitHelp,
  limitsOf,
  several,
  workerEnvHelp,
  workersHelp,
  workersOf,
} from './settings.js'
import type { WorkerFlags } from './settings.js'
import { commandLine, withClient } from './store.js'
import { standingOf } from './turn/watch.js'
import type { ThreadStanding } from './turn/watch.js'

export interface OpenFlags extends WorkerFlags {
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
  readonly app: string
  readonly message?: string
}

export interface OpenedThread {
  readonly client: SkeinClient
  /** Which process runs the turn. */
  readonly runs: 'here' | 'elsewhere'
  /** Of the app; none where another process has it. */
  readonly agents: readonly string[]
}

/** The options that name a thread and a host. */
export function openable(command: Command): Command {
  return command
    .option('--agent <name>', 'agent of a new thread; not needed where the app has one only')
    .option('--tag <tag>', 'a tag of a new thread; may be given several times', several)
    .option(
      '--env <name=value>',
      'a variable that tools declare; a name alone takes the value of the environment; may be given several times',
      several,
    )
    .option('--file <path=file>', fileHelp, several)
    .option('--budget <name=amount>', budgetHelp, several)
    .option('--limit <name=value>', limitHelp, several)
    .option('--workers <count>', workersHelp)
    .option('--worker-env <name>', workerEnvHelp, several)
    .option('--all', 'also go on with what other threads of the store have not finished')
}

export type OpenSettings = Awaited<ReturnType<typeof settingsOf>>

/** Read before anything is opened or made: a mistake in them changes nothing. */
export async function settingsOf(
  { shell }: CommandContext,
  { env = [], limit, file, budget, attach, ...flags }: OpenRequest,
) {
  return {
    env: await envOf(shell, env, '--env '),
    limits: await limitsOf(limit),
    workers: await workersOf(shell, flags),
    files: await fileFlags(file),
    budget: await budgetOf(budget),
    attachments: await attachmentFlags(attach),
  }
}

export interface OpenContext {
  readonly asked: OpenRequest
  readonly settings: OpenSettings
  /** Of the thread, where it is there already. */
  readonly root?: string
}

export async function open(
  around: CommandContext,
  { asked: { app, env: given = [], all }, settings: { env, limits, workers }, root }: OpenContext,
): Promise<OpenedThread> {
  const { out, store } = around
  const { connectSkein, createSkein, SkeinError } = await import('../index.js')
  const client = store.shared ? await served(around) : undefined
  if (client) return { client, ...tellElsewhere(around, { given, who: 'another host' }) }
  const warn = (what: string, thrown: unknown): void =>
    out.note(`skein: ${thrown instanceof Error ? `${what}: ${thrown.message}` : what}`)
  try {
    const told = createTold(around, app)
    const skein: Skein = await createSkein({
      app,
      backend: await store.source(),
      ...store.key,
      env,
      ...defined({ limits, workers }),
      warn,
      onHostEvent: told,
      ...(!all && { resuming: root === undefined ? [] : [root] }),
    })
    return { client: skein, runs: 'here', agents: skein.agents }
  } catch (thrown) {
    if (!SkeinError.is(thrown, 'STORE_IN_USE')) throw thrown
    const pid = thrown.data?.['pid']
    return {
      client: await connectSkein({ backend: await store.source(), ...store.key }),
      ...tellElsewhere(around, { given, who: `another process${typeof pid === 'number' ? ` (pid ${pid})` : ''}` }),
    }
  }
}

function tellElsewhere(
  { out, store }: CommandContext,
  { given, who }: { readonly given: readonly string[]; readonly who: string },
): Pick<OpenedThread, 'runs' | 'agents'> {
  out.note(
    `${who} serves ${store.name}; the turn runs there, with the ` +
      `app${given.length > 0 ? ' and the variables' : ''} of that host`,
  )
  return { runs: 'elsewhere', agents: [] }
}

/** A client, where hosts serve the store. */
async function served({ store }: CommandContext): Promise<SkeinClient | undefined> {
  const { connectSkein, SkeinError } = await import('../index.js')
  const client = await connectSkein({ backend: await store.source(), ...store.key }).catch((thrown: unknown) => {
    // Nobody has used it yet.
    if (SkeinError.is(thrown) && thrown.data?.['missing'] === 'namespace') return undefined
    throw thrown
  })
  if (await client?.hosted()) return client
  await client?.close()
  return undefined
}

export async function findThread(
  { out }: CommandContext,
  { client: { threads }, agents }: OpenedThread,
  {
    asked: { agent, thread: id, tag = [], ...more },
    settings: { files, budget },
    create,
  }: OpenContext & { readonly create: boolean },
): Promise<Thread> {
  const { SkeinError } = await import('../index.js')
  if (id !== undefined) {
    try {
      const thread = await threads.get(id)
      const kept = Object.entries({ tags: tag, files: more.file ?? [], budget: more.budget ?? [] })
        .filter(([, each]) => each.length > 0)
        .map(([name]) => name)
      if (kept.length > 0) out.note(`thread ${id} exists; its ${kept.join(' and ')} stay as they are`)
      // Creating it again is how the store checks that the agent is the same.
      return agent === undefined ? thread : await threads.create({ id, agent })
    } catch (thrown) {
      const missing = SkeinError.is(thrown, 'UNKNOWN_THREAD')
      if (!missing || !create) throw thrown
      if (agent === undefined && agents.length !== 1)
        throw new SkeinError(
          'UNKNOWN_THREAD',
          `there is no thread ${JSON.stringify(id)} in this store; to make it, or to go on with one that was ` +
            `created without a host, name its agent with --agent <name>${known(agents)}`,
        )
    }
  }
  return threads.create({ agent: agent ?? (await onlyOf(agents)), tags: tag, files, ...defined({ budget, id }) })
}

function known(agents: readonly string[]): string {
  return agents.length === 0 ? '' : ` (the app has: ${agents.join(', ')})`
}

async function onlyOf([only, ...others]: readonly string[]): Promise<string> {
  if (only !== undefined && others.length === 0) return only
  const { SkeinError } = await import('../index.js')
  throw new SkeinError(
    'BAD_OPTION',
    `name the agent with --agent <name>${known(only === undefined ? [] : [only, ...others])}, or a thread to ` +
      `continue with --thread <id>`,
  )
}

/** What other threads left unfinished is no business of this turn, but its user may not know of it. */
function createTold({ out, store }: CommandContext, app: string): (news: HostEvent) => void {
  let left = 0
  return (news) => {
    if (news.type !== 'left') return
    // Of each partition apart; told when all of them have been looked at.
    if (left === 0) setImmediate(() => tellLeft())
    left += news.threads
  }
  function tellLeft(): void {
    const command = commandLine(store, 'skein', 'host', app)
    out.note(
      `${counted(left, 'other thread of this store has', 'other threads of this store have')} unfinished work; ` +
        `this leaves it alone (${command} goes on with all, and so does run --all)`,
      { left, command },
    )
  }
}

/** Looked at before the host opens, because that starts what is outstanding, which may be over in a moment. */
export async function lookUpThread(
  { store }: CommandContext,
  { thread: id, create }: { readonly thread?: string; readonly create: boolean },
): Promise<ThreadStanding & { readonly root?: string }> {
  if (id === undefined) return { seq: 0 }
  const { SkeinError } = await import('../index.js')
  try {
    return await withClient(store, async ({ threads }) => {
      const thread = await threads.get(id)
      return { ...(await standingOf(thread)), root: (await thread.info()).root }
    })
  } catch (thrown) {
    // It is made, and the store with it.
    if (!create || !SkeinError.is(thrown)) throw thrown
    return { seq: 0 }
  }
}

/** Without the values of variables: they may be secrets, and the screen is kept. */
export function goOnCommand(
  { store }: CommandContext,
  { app, env = [], limit = [], workers }: OpenRequest,
  { id }: Thread,
): string {
  const names = env.flatMap((given) => ['--env', given.split('=', 1)[0] ?? ''])
  const limits = limit.flatMap((given) => ['--limit', given])
  return commandLine(
    store,
    'skein',
    'run',
    app,
    '--thread',
    id,
    ...names,
    ...limits,
    ...(workers === undefined ? [] : ['--workers', workers]),
  )
}

/** Gives what it is given the first time, and nothing after that. */
export function createOnce(): (text: string) => string | undefined {
  let told = false
  return (text) => {
    if (told) return undefined
    told = true
    return text
  }
}

export interface LeaveContext {
  readonly asked: OpenRequest
  readonly opened: OpenedThread
  readonly finding: Promise<Thread>
  readonly once: (text: string) => string | undefined
}

export async function leave(around: CommandContext, { asked, opened, finding, once }: LeaveContext): Promise<void> {
  const { out, store } = around
  out.show([])
  if (opened.runs === 'here') out.note('stopping; calls that run may still finish (once more: stop at once)')
  // Why it was not found is told by the command itself.
  const thread = await finding.catch(() => undefined)
  await opened.client.close()
  out.show([])
  if (!thread) return
  const command = once(
    opened.runs === 'here' ? goOnCommand(around, asked, thread) : commandLine(store, 'skein', 'tail', thread.id),
  )
  const what = opened.runs === 'here' ? 'the turn is kept; go on with' : 'the turn goes on in its host; watch it with'
  if (command !== undefined) out.note(`${what}: ${command}`, { thread: thread.id, command })
}
