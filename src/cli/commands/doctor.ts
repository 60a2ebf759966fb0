/** `skein doctor`: checks whether Skein can run here, and says what to do where it cannot. */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { Finding } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { joinWords, oneLine } from '../format.js'
import type { Colour } from '../output.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { several, workerEnvHelp, workersOf } from '../settings.js'
import type { WorkerFlags } from '../settings.js'

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('[app]', 'module or folder of the definitions, to be checked as well')
    .option('--worker-env <name>', workerEnvHelp, several)
    .action((app: string | undefined, flags: WorkerFlags) =>
      runCommand(command, (context) => examine(context, app, flags)),
    )
}

const colours: Readonly<Record<Finding['level'], Colour>> = { ok: 'green', warn: 'yellow', fail: 'red' }

async function examine(
  { out, shell, store }: CommandContext,
  app: string | undefined,
  flags: WorkerFlags,
): Promise<ExitCode> {
  const workers = await workersOf(shell, flags)
  const { diagnose } = await import('../../index.js')
  const findings = await diagnose({
    backend: await store.source(),
    ...store.key,
    env: shell.env,
    ...defined({ app, workers }),
  })
  for (const each of findings) {
    const { check, level, says, advice } = each
    if (out.mode === 'json') out.json(each)
    else
      out.print(
        `${out.paint(colours[level], level.padEnd(4))}  ${check.padEnd(9)}  ` +
          `${lines(advice === undefined ? says : `${says} → ${advice}`)}\n`,
      )
  }
  return findings.some(({ level }) => level === 'fail') ? exitCode.failed : exitCode.ok
}

/** A line, and one below it for every item of a list. */
function lines(text: string): string {
  return joinWords(text)
    .split('\n')
    .map((line) => oneLine(line, 2_000))
    .join(`\n${' '.repeat(17)}`)
}
