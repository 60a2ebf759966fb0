/**
 * `skein run`: a host for as long as one turn takes. Where the store has a host already, the turn runs there and is
 * watched from here; on NATS, too: whoever only wants an answer takes no threads away from hosts that are there.
 *
 * LE1 Ctrl-C never cancels: the turn is durable, and whoever stops it is told how it goes on, once.
 */
import type { Command } from 'commander'
import type { Skein, SkeinClient, Thread } from '../index.js'
import { envOf } from './given-env.js'
import { exitCode, exitOfStatus } from './exit.js'
import type { ExitCode } from './exit.js'
import { counted } from './format.js'
import { givenMessage, pipedMessage } from './message.js'
import type { Around, Perform } from './perform.js'
import { typed, withClient } from './store.js'
import { subtree } from './subtree.js'
import { standingOf, turnsSince, watchHere } from './watch.js'
import type { Standing, Watching } from './watch.js'

interface Options {
  readonly agent?: string
  readonly thread?: string
  readonly tag?: readonly string[]
  readonly env?: readonly string[]
}

interface Asked extends Options {
  readonly app: string
  readonly message?: string
}

interface Opened {
  readonly client: SkeinClient
  /** Which process runs the turn. */
  readonly runs: 'here' | 'elsewhere'
  /** Of the app; none where another process has it. */
  readonly agents: readonly string[]
}

export function register(command: Command, perform: Perform): void {
  command
    .argument('<app>', 'module that exports the definitions (.ts or .js)')
    .argument('[message]', 'what to say; - or nothing reads a piped stdin')
    .option('--agent <name>', 'agent of a new thread; not needed where the app has one only')
    .option('--thread <id>', 'continue this thread, or create it with this id; without a message: go on with what is outstanding')
    .option('--tag <tag>', 'a tag of a new thread; may be given several times', several)
    .option('--env <name=value>', 'a variable that tools declare; a name alone takes the value of the environment; may be given several times', several)
    .action((app: string, message: string | undefined, options: Options) => perform(command, (around) => run(around, { ...options, app }, message)))
}

function several(given: string, before: readonly string[] = []): readonly string[] {
  return [...before, given]
}

async function run(around: Around, options: Omit<Asked, 'message'>, given: string | undefined): Promise<ExitCode> {
  const message = await (given === undefined ? pipedMessage(around.shell) : givenMessage(around.shell, given))
  const asked: Asked = { ...options, ...(message !== undefined && { message }) }
  await check(asked)
  const before = await look(around, asked)
  const opened = await open(around, asked)
  const finding = findThread(around, opened, asked)
  const once = createOnce()
  around.onStop(() => leave(around, { asked, opened, finding, once }))
  try {
    const found = await finding
    if (around.out.mode !== 'json') around.out.note(around.out.paint('dim', `thread ${found.id} · agent ${found.agent}`))
    const how = opened.runs === 'here' ? { goOn: () => once(goOnCommand(around, asked, found)) } : {}
    const watched = { client: opened.client, thread: found, ...how }
    const code = await (asked.message === undefined ? goOn(around, { ...watched, before }) : watchHere(around, { ...watched, run: found.send(asked.message) }))
    return opened.runs === 'here' && code !== exitCode.waiting ? await seeOut(around, watched, code) : code
  } finally {
    await opened.client.close()
  }
}

async function check({ message, thread }: Asked): Promise<void> {
  const { SkeinError } = await import('../index.js')
  if (thread === undefined && message === undefined) throw new SkeinError('BAD_OPTION', 'there is no message: give one as the last argument, or pipe it in')
}

async function open(around: Around, { app, env: given = [] }: Asked): Promise<Opened> {
  const { out, store, shell } = around
  const env = await envOf(shell, given, '--env ')
  const { connectSkein, createSkein, isSkeinError } = await import('../index.js')
  const client = store.shared ? await served(around) : undefined
  if (client) return { client, ...tellElsewhere(around, { given, who: 'another host' }) }
  const warn = (what: string, thrown: unknown): void => out.note(`skein: ${thrown instanceof Error ? `${what}: ${thrown.message}` : what}`)
  try {
    const skein: Skein = await createSkein({ app, backend: await store.source(), env, warn })
    return { client: skein, runs: 'here', agents: skein.agents }
  } catch (thrown) {
    if (!isSkeinError(thrown) || thrown.code !== 'STORE_IN_USE') throw thrown
    const pid = thrown.data?.['pid']
    return { client: await connectSkein({ backend: await store.source() }), ...tellElsewhere(around, { given, who: `another process${typeof pid === 'number' ? ` (pid ${pid})` : ''}` }) }
  }
}

function tellElsewhere({ out, store }: Around, { given, who }: { readonly given: readonly string[]; readonly who: string }): Pick<Opened, 'runs' | 'agents'> {
  out.note(`${who} serves ${store.name}; the turn runs there, with the app${given.length > 0 ? ' and the variables' : ''} of that host`)
  return { runs: 'elsewhere', agents: [] }
}

/** A client, where hosts serve the store. */
async function served({ store }: Around): Promise<SkeinClient | undefined> {
  const { connectSkein, isSkeinError } = await import('../index.js')
  const client = await connectSkein({ backend: await store.source() }).catch((thrown: unknown) => {
    // Nobody has used it yet.
    if (isSkeinError(thrown) && thrown.data?.['missing'] === 'namespace') return undefined
    throw thrown
  })
  if (await client?.hosted()) return client
  await client?.close()
  return undefined
}

async function findThread({ out }: Around, { client: { threads }, agents }: Opened, { agent, thread: id, tag = [], message }: Asked): Promise<Thread> {
  const { isSkeinError } = await import('../index.js')
  if (id !== undefined) {
    try {
      const thread = await threads.get(id)
      if (tag.length > 0) out.note(`thread ${id} exists; its tags stay as they are`)
      // Creating it again is how the store checks that the agent is the same.
      return agent === undefined ? thread : await threads.create({ id, agent })
    } catch (thrown) {
      const missing = isSkeinError(thrown) && thrown.code === 'UNKNOWN_THREAD'
      if (!missing || agent === undefined || message === undefined) throw thrown
    }
  }
  return threads.create({ agent: agent ?? (await onlyOf(agents)), tags: tag, ...(id !== undefined && { id }) })
}

async function onlyOf([only, ...others]: readonly string[]): Promise<string> {
  if (only !== undefined && others.length === 0) return only
  const { SkeinError } = await import('../index.js')
  const there = only === undefined ? '' : ` (the app has: ${[only, ...others].join(', ')})`
  throw new SkeinError('BAD_OPTION', `name the agent with --agent <name>${there}, or a thread to continue with --thread <id>`)
}

/** Looked at before the host opens, because that starts what is outstanding, which may be over in a moment. */
async function look({ store }: Around, { thread: id, message }: Asked): Promise<Standing> {
  if (id === undefined || message !== undefined) return { seq: 0 }
  return withClient(store, async ({ threads }) => standingOf(await threads.get(id)))
}

/** What a pause, a failure, a stopped process or kept mail left to do. */
async function goOn(around: Around, { before, ...watched }: Omit<Watching, 'run'> & { readonly before: Standing }): Promise<ExitCode> {
  const { client, thread } = watched
  // Answered after all mail that was kept before, so that the turns it asks for are there to be seen.
  await thread.resume()
  // The same for children that wait for someone, who may have answered. Paused ones stay so.
  const below = (await subtree(client, await thread.info())).filter(({ thread: id, status }) => id !== thread.id && status.startsWith('awaiting_'))
  for (const child of below) await (await client.threads.get(child.thread)).resume()
  let code: ExitCode | undefined
  for await (const turn of turnsSince(thread, before)) {
    code = await watchHere(around, { ...watched, run: turn })
    if (code === exitCode.waiting) return code
  }
  if (code !== undefined) return code
  const status = await thread.status()
  around.out.note(`nothing is outstanding: thread ${thread.id} is ${status}`, { thread: thread.id, status })
  return exitOfStatus(status)
}

/** Children that nobody waits for are let finish; what they say may start further turns, which are shown like the first. */
async function seeOut(around: Around, watched: Omit<Watching, 'run'>, first: ExitCode): Promise<ExitCode> {
  const { client, thread } = watched
  const { out, store } = around
  let code = first
  for (;;) {
    const before = await standingOf(thread)
    const busy = (await subtree(client, await thread.info())).filter(({ rest }) => !rest).map(({ thread: id }) => id)
    if (busy.length === 0 && before.open === undefined) break
    const children = busy.filter((id) => id !== thread.id)
    if (children.length > 0) out.note(`${counted(children.length, 'child is', 'children are')} still at work; this waits for them (Ctrl-C: they go on whenever a host serves the store)`, { thread: thread.id, busy: children })
    await thread.settled({ tree: true })
    for await (const turn of turnsSince(thread, before)) {
      code = await watchHere(around, { ...watched, run: turn })
      if (code === exitCode.waiting) return code
    }
  }
  const asked = (await client.inbox.list({ root: (await thread.info()).root })).filter(({ path }) => path.includes(thread.id))
  if (asked.length === 0) return code
  const command = typed(store, 'skein', 'inbox')
  out.note(`${counted(asked.length, 'call waits', 'calls wait')} for someone; see ${command}`, { thread: thread.id, command })
  return exitCode.waiting
}

/** Without the values of variables: they may be secrets, and the screen is kept. */
function goOnCommand({ store }: Around, { app, env = [] }: Asked, { id }: Thread): string {
  const names = env.flatMap((given) => ['--env', given.split('=', 1)[0] ?? ''])
  return typed(store, 'skein', 'run', app, '--thread', id, ...names)
}

/** Gives what it is given the first time, and nothing after that. */
function createOnce(): (text: string) => string | undefined {
  let told = false
  return (text) => {
    if (told) return undefined
    told = true
    return text
  }
}

interface Leaving {
  readonly asked: Asked
  readonly opened: Opened
  readonly finding: Promise<Thread>
  readonly once: (text: string) => string | undefined
}

/** LE1. */
async function leave(around: Around, { asked, opened, finding, once }: Leaving): Promise<void> {
  const { out, store } = around
  out.show([])
  if (opened.runs === 'here') out.note('stopping; calls that run may still finish (once more: stop at once)')
  // Why it was not found is told by the command itself.
  const thread = await finding.catch(() => undefined)
  await opened.client.close()
  out.show([])
  if (!thread) return
  const command = once(opened.runs === 'here' ? goOnCommand(around, asked, thread) : typed(store, 'skein', 'tail', thread.id))
  const what = opened.runs === 'here' ? 'the turn is kept; go on with' : 'the turn goes on in its host; watch it with'
  if (command !== undefined) out.note(`${what}: ${command}`, { thread: thread.id, command })
}
