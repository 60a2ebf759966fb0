/**
 * `skein experiment`: forks of one thread at one point run side by side on other definitions, and a table says what
 * each answered, cost and took. The forks are kept, with tags that name the experiment and the variant.
 *
 * - Calls with a side effect are refused in them, unless `--effects` says otherwise.
 * - All variants are opened before anything is forked, and a fork that has nothing to do is not kept.
 * - A signal pauses the forks that are not finished: the next host would go on with them on its own definitions.
 */
import { basename } from 'node:path'
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { defined } from '../../../core/defined.js'
import type { Budget, ForkOptions, Skein, Thread, ThreadStatus } from '../../../index.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { counted, duration, oneLine, table } from '../../format.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { budgetOf, envHelp, several } from '../../settings.js'
import { commandLine } from '../../store.js'
import { positiveCount } from '../ps.js'
import { withReport } from './crossing.js'
import { effectsOption } from './fork.js'
import { openHere } from './here.js'
import { withOptionNames } from './option-names.js'
import { placeHelp, placeOf } from './place.js'

interface Options {
  readonly tree?: true
  readonly variants: readonly string[]
  readonly times: number
  readonly name?: string
  readonly message?: string
  readonly effects?: ForkOptions['effects']
  readonly budget?: readonly string[]
  readonly env?: readonly string[]
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', placeHelp)
    .requiredOption('--variants <apps>', 'modules of definitions, with commas between them: a.ts,b.ts', listOfApps)
    .option('--times <n>', 'forks of each variant', positiveCount, 1)
    .option('--name <name>', 'what it is called in the tag (default: one that nobody has)', someText)
    .option('--message <text>', 'what is said to each fork; needed where no turn is under way at the point')
    .option('--tree', 'all threads below it too, as they were at that position')
    .addOption(effectsOption().default('refuse'))
    .option('--budget <name=amount>', 'what each fork may spend, as costUsd=0.5; may be given several times', several)
    .option('--env <name=value>', envHelp, several)
    .action((text: string, options: Options) =>
      runCommand(command, (context) => withOptionNames(context, experiment(context, text, options))),
    )
}

function listOfApps(text: string): readonly string[] {
  const apps = text.split(',').filter((app) => app.trim() !== '')
  if (apps.length === 0) throw new InvalidArgumentError('name one module at least.')
  return apps
}

function someText(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('give it a name.')
  return text
}

/** One fork, when it is at rest or waits for someone. */
interface Trial {
  readonly variant: string
  readonly thread: string
  readonly status: ThreadStatus
  readonly steps: number
  readonly tokens: number
  readonly costUsd: number
  readonly ms: number
  /** Calls with a side effect that were refused, and those that wait for an approval. */
  readonly refused: number
  readonly asked: number
  readonly answer: string
}

interface Plan {
  readonly source: string
  readonly fork: ForkOptions
  readonly tag: string
  readonly times: number
  readonly env: readonly string[]
  readonly message?: string
  /** Forks that were begun and are not finished. */
  readonly open: Set<Thread>
}

async function experiment(context: CommandContext, text: string, options: Options): Promise<ExitCode> {
  const { out, store } = context
  const { tree, effects, times, env = [], message, name = crypto.randomUUID().slice(0, 8) } = options
  const apps = options.variants
  const { thread: source, at } = await placeOf(text)
  const budget: Budget | undefined = await budgetOf(options.budget)
  const plan: Plan = {
    source,
    fork: defined({ at, tree, effects, budget }),
    tag: `experiment:${name}`,
    times,
    env,
    open: new Set(),
    ...defined({ message }),
  }
  for (const app of apps) await (await openHere(context, { app, env, roots: [] })).close()
  const trials: Trial[] = []
  // One after the other: a store has one app at a time. The forks of a variant run at once.
  for (const [index, app] of apps.entries()) {
    const variant = apps.filter((each) => basename(each) === basename(app)).length > 1 ? app : basename(app)
    if (out.mode !== 'json') out.note(out.paint('dim', `${variant} (${index + 1} of ${apps.length})`))
    trials.push(...(await runVariant(context, plan, { app, variant })))
  }
  if (out.mode === 'json') out.json({ experiment: name, tag: plan.tag, source, trials })
  else {
    out.print(trialTable(trials))
    out.note(`they are kept: ${commandLine(store, 'skein', 'ps', '--tag', plan.tag)}`)
  }
  return exitCode.ok
}

/** What became of effects is told where there were any. */
function trialTable(trials: readonly Trial[]): string {
  const acted = trials.some(({ refused, asked }) => refused + asked > 0)
  const rows = trials.map(({ variant, thread, status, steps, tokens, costUsd, ms, answer, ...effects }) => {
    const numbers = [String(steps), String(tokens), `$${costUsd.toFixed(4)}`, duration(ms)]
    return [variant, thread, status, ...numbers, ...(acted ? [effectsText(effects)] : []), oneLine(answer, 60)]
  })
  const last = acted ? ['EFFECTS', 'ANSWER'] : ['ANSWER']
  return table([['VARIANT', 'THREAD', 'STATUS', 'STEPS', 'TOKENS', 'COST', 'TIME', ...last], ...rows])
}

function effectsText({ refused, asked }: Pick<Trial, 'refused' | 'asked'>): string {
  return [refused > 0 && `${refused} refused`, asked > 0 && `${asked} asked`].filter(Boolean).join(', ')
}

interface Variant {
  readonly app: string
  readonly variant: string
}

async function runVariant(context: CommandContext, plan: Plan, variant: Variant): Promise<readonly Trial[]> {
  const skein = await openHere(context, { app: variant.app, env: plan.env, roots: [] })
  context.onStop(async () => {
    const paused = await pauseAll(plan.open)
    await skein.close()
    if (paused.length > 0) context.out.note(pausedNote(context, plan, paused), { paused, tag: plan.tag })
  })
  try {
    const runs = Array.from({ length: plan.times }, () => runTrial(context, skein, { ...plan, ...variant }))
    // All of them are over before the host closes, also where one was refused.
    await Promise.allSettled(runs)
    return await Promise.all(runs)
  } finally {
    await skein.close()
  }
}

async function pauseAll(open: ReadonlySet<Thread>): Promise<readonly string[]> {
  const forks = [...open]
  await Promise.allSettled(forks.map((fork) => fork.pause({ tree: true })))
  return forks.map(({ id }) => id)
}

function pausedNote({ store }: CommandContext, { tag }: Plan, [first = '', ...more]: readonly string[]): string {
  return (
    `${counted(more.length + 1, 'fork is', 'forks are')} not finished and paused: ` +
    `${commandLine(store, 'skein', 'ps', '--tag', tag)} lists them, ` +
    `${commandLine(store, 'skein', 'resume', first)} goes on with one`
  )
}

async function runTrial(context: CommandContext, skein: Skein, trial: Plan & Variant): Promise<Trial> {
  const { source, fork: asked, tag, variant, message, open } = trial
  const thread = await skein.threads.get(source)
  const tags = [...thread.tags, tag, `variant:${variant}`]
  const fork = await withReport(context, thread.fork({ ...asked, tags }))
  // A tree is at rest when it was copied.
  if (asked.tree) await fork.settled()
  const before = (await fork.usage()).subtree
  const { updatedAt: began } = await fork.info()
  const deniedBefore = await deniedIn(fork)
  open.add(fork)
  if (!(await begin(fork, { tree: asked.tree === true, ...defined({ message }) }))) {
    open.delete(fork)
    await skein.threads.delete(fork.id, { terminate: true })
    throw await nothingToDo()
  }
  const { status, updatedAt } = await fork.settled({ tree: true })
  open.delete(fork)
  const after = (await fork.usage()).subtree
  const rows = await fork.timeline({ limit: 10_000 })
  return {
    variant,
    thread: fork.id,
    status,
    steps: rows.filter(({ kind }) => kind === 'step').length,
    tokens: after.inputTokens + after.outputTokens - before.inputTokens - before.outputTokens,
    costUsd: after.costUsd - before.costUsd,
    ms: updatedAt - began,
    refused: (await deniedIn(fork)) - deniedBefore,
    asked: (await skein.inbox.list({ root: fork.id })).filter(({ why }) => why === 'approval').length,
    answer: (await fork.messages()).findLast(({ role }) => role === 'assistant')?.text ?? '',
  }
}

async function deniedIn(fork: Thread): Promise<number> {
  return (await fork.messages()).filter(({ failed }) => failed?.code === 'TOOL_DENIED').length
}

/** Lets the turn go on that the fork is in the middle of, or begins one; false: there is none. */
async function begin(
  fork: Thread,
  { tree, message }: { readonly tree: boolean; readonly message?: string },
): Promise<boolean> {
  const goesOn = await fork.resume({ tree })
  if (message !== undefined) await fork.send(message).accepted()
  return goesOn || message !== undefined
}

async function nothingToDo(): Promise<Error> {
  const { SkeinError } = await import('../../../index.js')
  return new SkeinError('BAD_OPTION', 'no turn is under way at that point; say something to the forks with --message')
}
