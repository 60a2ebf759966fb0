/** `skein hosts`: lists the processes that serve a store, with what each says of itself. */
import type { Command } from 'commander'
import type { HostInfo } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { counted, dateTime, oneLine, table } from '../format.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { withAnyClient } from '../store.js'
import type { AnyClient } from '../store.js'

export function register(command: Command, runCommand: RunCommand): void {
  command.action(() =>
    runCommand(command, (context) => withAnyClient(context.store, (client) => list(context, client))),
  )
}

async function list({ out }: CommandContext, client: AnyClient): Promise<ExitCode> {
  const { hosts, partitions } = await client.hosts()
  if (out.mode === 'json') {
    out.json({ hosts, partitions })
    return exitCode.ok
  }
  if (hosts.length === 0) out.note('no host serves this store now')
  else out.print(table(rowsOf(hosts, partitions)))
  const held = hosts.reduce((sum, host) => sum + host.partitions.length, 0)
  if (hosts.length > 0 && held < partitions)
    out.note(
      `${counted(partitions - held, 'partition')} of ${partitions} ${partitions - held === 1 ? 'has' : 'have'} no ` +
        `host: a hand-over, the lease of a host that died, or records of a newer Skein`,
    )
  return exitCode.ok
}

/** Hosts write these themselves, so a word may be anything. */
const word = (text: string): string => oneLine(text, 60) || '?'

export function rowsOf(hosts: readonly HostInfo[], partitions: number): readonly (readonly string[])[] {
  const rows = hosts.map(({ name, since, app, appVersion, skein, records, partitions: held, awake, busy, load }) => [
    word(name),
    dateTime(since),
    word([app ?? '-', appVersion ?? ''].join(' ').trim()),
    `${word(skein)} (records ${records})`,
    `${held.length} of ${partitions}`,
    `${awake} awake, ${busy} at work`,
    `${Math.round(load * 100)} %`,
  ])
  return [['HOST', 'SINCE', 'APP', 'SKEIN', 'PARTITIONS', 'THREADS', 'LOAD'], ...rows]
}
