/** `skein create`: makes a thread without a turn. Without a host the command is kept until there is one. */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'

import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { budgetHelp, budgetOf, envHelp, fileHelp, filesOf, several, variablesOf } from '../settings.js'
import { withAnyClient } from '../store.js'
import { markUnanswered, tellUnanswered } from '../unanswered.js'
import type { AnyClient } from '../store.js'

interface Options {
  readonly thread?: string
  readonly tag?: readonly string[]
  readonly env?: readonly string[]
  readonly file?: readonly string[]
  readonly budget?: readonly string[]
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<agent>', 'agent of the thread')
    .option('--thread <id>', 'id of the thread (default: one that nobody has)')
    .option('--tag <tag>', 'a tag; may be given several times', several)
    .option('--env <name=value>', envHelp, several)
    .option('--file <path=file>', fileHelp, several)
    .option('--budget <name=amount>', budgetHelp, several)
    .action((agent: string, options: Options) =>
      runCommand(command, (context) =>
        withAnyClient(context.store, (client) => create(context, client, { ...options, agent })),
      ),
    )
}

async function create(
  { out, shell }: CommandContext,
  { threads }: AnyClient,
  {
    agent,
    thread = `t-${crypto.randomUUID().slice(0, 13)}`,
    tag: tags = [],
    ...options
  }: Options & { readonly agent: string },
): Promise<ExitCode> {
  const [env, files, budget] = await Promise.all([
    variablesOf(shell, options.env ?? [], '--env '),
    filesOf(options.file),
    budgetOf(options.budget),
  ])
  const state = await markUnanswered(threads.create({ agent, id: thread, tags, env, files, ...defined({ budget }) }))
  const value = { thread, state }
  if (out.mode !== 'json') out.print(`${thread}\n`)
  if (state === 'kept') return tellUnanswered(out, value)
  if (out.mode === 'json') out.json(value)
  return exitCode.ok
}
