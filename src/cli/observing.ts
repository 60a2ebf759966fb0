/**
 * Options of commands that run threads: who observes them. Nothing of it is loaded where none is given.
 */
import type { Command } from 'commander'
import { defined } from '../core/defined.js'
import type { SkeinOptions } from '../index.js'
import type { CliProcess } from './process.js'
import { visible } from './visible.js'

export interface ObserveFlags {
  readonly otlp?: string
  readonly metrics?: boolean
  readonly logJson?: boolean
}

/** Adds what any process that runs threads may send; `serves`: it goes on, so that counting and logs make sense. */
export function observeOptions(command: Command, serves: boolean): Command {
  command.option('--otlp <url>', 'send traces to this collector by OTLP over HTTP; env: as the OTEL_* variables say')
  return serves
    ? command
        .option('--metrics', 'count what threads do: GET /metrics of skein serve')
        .option('--log-json', 'a line of JSON on stderr for each turn and each warning')
    : command
}

/** What `createSkein` is told; undefined where nobody observes. */
export async function observersOf(
  shell: CliProcess,
  { otlp: url, metrics: counts, logJson }: ObserveFlags,
): Promise<SkeinOptions['observe']> {
  if (url === undefined && !counts && !logJson) return undefined
  const { log, metrics, otlp } = await import('../observe.js')
  return [
    ...(url === undefined ? [] : [otlp({ env: shell.env, ...defined({ url: url === 'env' ? undefined : url }) })]),
    ...(counts ? [metrics()] : []),
    ...(logJson ? [log({ to: (line) => shell.stderr.write(`${visible(line)}\n`) })] : []),
  ]
}
