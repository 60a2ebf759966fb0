/** `skein replay`: asks the definitions of an app for what a recorded thread did; exit code 1 where that differs. */
import { Option } from 'commander'
import type { Command } from 'commander'
import { defined } from '../../../core/defined.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import { counted, oneLine, preview } from '../../format.js'
import type { CliOutput } from '../../output.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import { several, variablesOf } from '../../settings.js'
import type { ReplayReport } from '../../../testing.js'

interface Options {
  readonly against?: 'recorded' | 'models'
  readonly thread?: string
  readonly env?: readonly string[]
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<file>', 'what skein export has written')
    .argument('<app>', 'module or folder of the definitions')
    .addOption(
      new Option('--against <what>', 'recorded replies, or the models of the app, which are asked again')
        .choices(['recorded', 'models'])
        .default('recorded'),
    )
    .option('--thread <id>', 'another thread of the tree that was exported')
    .option('--env <name=value>', 'a variable that the thread had, as a flag; may be given several times', several)
    .action((file: string, app: string, options: Options) =>
      runCommand(command, (context) => ask(context, { ...options, file, app })),
    )
}

async function ask(
  { out, shell }: CommandContext,
  { file, app, against: what, thread, env: values = [] }: Options & { readonly file: string; readonly app: string },
): Promise<ExitCode> {
  const env = await variablesOf(shell, values, '--env ')
  const { replay } = await import('../../../testing.js')
  const report = await replay(file, { app, env, ...defined({ against: what, thread }) })
  if (out.mode === 'json') out.json(report)
  else out.print(reportText(out, report))
  return report.same ? exitCode.ok : exitCode.failed
}

/** Of a prompt or a schema, the beginning. */
const longest = 2_000

function reportText({ paint }: CliOutput, { thread, steps, divergence }: ReplayReport): string {
  if (!divergence) return `${paint('green', 'same')}  thread ${thread}, ${counted(steps, 'step')}\n`
  const { step, seq, kind, recorded, now, explanation } = divergence
  return [
    `${paint('red', 'diverged')}  thread ${thread}, step ${step}, record ${seq} (${kind})`,
    oneLine(explanation, longest),
    `${paint('dim', 'recorded')}  ${preview(recorded, longest)}`,
    `${paint('dim', 'now     ')}  ${preview(now, longest)}`,
    '',
  ].join('\n')
}
