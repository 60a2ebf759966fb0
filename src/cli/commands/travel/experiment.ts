/**
 * `skein experiment`: forks of one thread at one point run side by side on other definitions, and a table says what
 * each answered, cost and took. The forks are kept, with tags that name the experiment and the variant.
 *
 * - Calls with a side effect are refused in them, unless `--effects` says otherwise.
 */
import { basename } from 'node:path'
import type { Command } from 'commander'
import { defined } from '../../../core/defined.js'
import type { Budget, ForkOptions, Skein, Thread, ThreadStatus } from '../../../index.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { duration, oneLine, table } from '../../format.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { budgetOf, envHelp, several } from '../../settings.js'
import { commandLine } from '../../store.js'
import { positiveCount } from '../ps.js'
import { withReport } from './crossing.js'
import { effectsOption } from './fork.js'
import { openHere } from './here.js'
import { placeHelp, placeOf } from './place.js'

interface Options {
  readonly tree?: true
  readonly variants: string
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
    .requiredOption('--variants <apps>', 'modules of definitions, with commas between them: a.ts,b.ts')
    .option('--times <n>', 'forks of each variant', positiveCount, 1)
    .option('--name <name>', 'what it is called in the tag (default: one that nobody has)')
    .option('--message <text>', 'what is said to each fork; needed where no turn is under way at the point')
    .option('--tree', 'all threads below it too, as they were at that position')
    .addOption(effectsOption().default('refuse'))
    .option('--budget <name=amount>', 'what each fork may spend, as costUsd=0.5; may be given several times', several)
    .option('--env <name=value>', envHelp, several)
    .action((text: string, options: Options) => runCommand(command, (context) => experiment(context, text, options)))
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
  readonly answer: string
}

interface Plan {
  readonly source: string
  readonly fork: ForkOptions
  readonly tag: string
  readonly times: number
  readonly env: readonly string[]
  readonly message?: string
}

async function experiment(context: CommandContext, text: string, options: Options): Promise<ExitCode> {
  const { out, store } = context
  const { tree, effects, times, env = [], message, name = crypto.randomUUID().slice(0, 8) } = options
  const apps = options.variants.split(',').filter((app) => app !== '')
  const { thread: source, at } = await placeOf(text)
  const budget: Budget | undefined = await budgetOf(options.budget)
  const plan: Plan = {
    source,
    fork: defined({ at, tree, effects, budget }),
    tag: `experiment:${name}`,
    times,
    env,
    ...defined({ message }),
  }
  const trials: Trial[] = []
  // One after the other: a store has one app at a time. The forks of a variant run at once.
  for (const [index, app] of apps.entries()) {
    const variant = apps.filter((each) => basename(each) === basename(app)).length > 1 ? app : basename(app)
    if (out.mode !== 'json') out.note(out.paint('dim', `${variant} (${index + 1} of ${apps.length})`))
    trials.push(...(await runVariant(context, plan, { app, variant })))
  }
  if (out.mode === 'json') out.json({ experiment: name, tag: plan.tag, source, trials })
  else {
    out.print(table([['VARIANT', 'THREAD', 'STATUS', 'STEPS', 'TOKENS', 'COST', 'TIME', 'ANSWER'], ...trials.map(row)]))
    out.note(`they are kept: ${commandLine(store, 'skein', 'ps', '--tag', plan.tag)}`)
  }
  return exitCode.ok
}

function row({ variant, thread, status, steps, tokens, costUsd, ms, answer }: Trial): readonly string[] {
  const numbers = [String(steps), String(tokens), `$${costUsd.toFixed(4)}`, duration(ms)]
  return [variant, thread, status, ...numbers, oneLine(answer, 60)]
}

interface Variant {
  readonly app: string
  readonly variant: string
}

async function runVariant(context: CommandContext, plan: Plan, variant: Variant): Promise<readonly Trial[]> {
  const skein = await openHere(context, { app: variant.app, env: plan.env, roots: [] })
  context.onStop(() => skein.close())
  try {
    const runs = Array.from({ length: plan.times }, () => runTrial(context, skein, { ...plan, ...variant }))
    // All of them are over before the host closes, also where one was refused.
    await Promise.allSettled(runs)
    return await Promise.all(runs)
  } finally {
    await skein.close()
  }
}

async function runTrial(context: CommandContext, skein: Skein, trial: Plan & Variant): Promise<Trial> {
  const { source, fork: asked, tag, variant, message } = trial
  const thread = await skein.threads.get(source)
  const tags = [...thread.tags, tag, `variant:${variant}`]
  const fork = await withReport(context, thread.fork({ ...asked, tags }))
  // A tree is at rest when it was copied.
  if (asked.tree) await fork.settled()
  const before = (await fork.usage()).subtree
  const { updatedAt: began } = await fork.info()
  await begin(fork, { tree: asked.tree === true, ...defined({ message }) })
  const { status, updatedAt } = await fork.settled({ tree: true })
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
    answer: (await fork.messages()).findLast(({ role }) => role === 'assistant')?.text ?? '',
  }
}

/** Lets the turn go on that the fork is in the middle of, or begins one. */
async function begin(
  fork: Thread,
  { tree, message }: { readonly tree: boolean; readonly message?: string },
): Promise<void> {
  const goesOn = await fork.resume({ tree })
  if (message !== undefined) await fork.send(message).accepted()
  if (goesOn || message !== undefined) return
  const { SkeinError } = await import('../../../index.js')
  throw new SkeinError('BAD_OPTION', 'no turn is under way at that point; say something to the forks with --message')
}
