/** `skein sim`: runs the simulation that a file exports, and says what happened in it or which seed fails. */
import { InvalidArgumentError } from 'commander'
import type { Command } from 'commander'
import { defined } from '../../../core/defined.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import type { CommandContext, RunCommand } from '../../run-command.js'
import type { SimReport } from '../../../testing.js'
import { duration } from '../../format.js'
import { visible } from '../../visible.js'
import { positiveCount } from '../ps.js'

interface Options {
  readonly seeds?: number
  readonly seed?: number
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<file>', 'a module that exports `simulation`, the options of simulate')
    .option('--seeds <n>', 'how many seeds are tried', positiveCount)
    .option('--seed <n>', 'the first seed', seedNumber)
    .action((file: string, options: Options) => runCommand(command, (context) => live(context, { ...options, file })))
}

function seedNumber(text: string): number {
  const seed = Number(text)
  if (!Number.isSafeInteger(seed)) throw new InvalidArgumentError('give a whole number.')
  return seed
}

async function live(
  { out }: CommandContext,
  { file, seeds, seed }: Options & { readonly file: string },
): Promise<ExitCode> {
  const { simulateFile, SimulationFailure } = await import('../../../testing.js')
  try {
    const report = await simulateFile(file, defined({ seeds, seed }))
    if (out.mode === 'json') out.json({ ok: true, ...report })
    else out.print(reportTable(report))
    return exitCode.ok
  } catch (thrown) {
    if (!(thrown instanceof SimulationFailure)) throw thrown
    const { seed: failing, broken, faults, message } = thrown
    if (out.mode === 'json') out.json({ ok: false, seed: failing, broken, faults })
    else out.print(`${visible(message)}\n`)
    return exitCode.failed
  }
}

function reportTable({ faults, virtualMs, ...counts }: SimReport): string {
  const rows: readonly (readonly [string, string])[] = [
    ['seeds', String(counts.seeds)],
    ['interleavings', String(counts.interleavings)],
    [
      'faults',
      Object.entries(faults)
        .map(([kind, count]) => `${count} ${kind}`)
        .join(', ') || 'none',
    ],
    ['take-overs', String(counts.takeOvers)],
    ['commits', String(counts.commits)],
    ['threads', String(counts.threads)],
    ['stale runs', String(counts.staleRuns)],
    ['unknown effects', String(counts.unknownEffects)],
    ['retried calls', String(counts.retriedCalls)],
    ['restarted children', String(counts.restartedChildren)],
    ['virtual time', duration(virtualMs)],
  ]
  return rows.map(([name, value]) => `${name.padEnd(18)}  ${value}\n`).join('')
}
