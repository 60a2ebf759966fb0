/** `skein backup`: copies the store, while it is in use or not, into a new folder. */
import type { Command } from 'commander'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { commandLine, localStore, withClient } from '../store.js'

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<dir>', 'the new folder')
    .action((dir: string) => runCommand(command, (context) => copy(context, dir)))
}

async function copy({ out, store }: CommandContext, dir: string): Promise<ExitCode> {
  await withClient(store, (client) => client.backup(dir))
  if (out.mode === 'json') out.json({ store: store.name, dir })
  else {
    out.print(`copied to ${dir}\n`)
    out.note(`to look at it: ${commandLine(localStore(dir), 'skein', 'ps')}`)
  }
  return exitCode.ok
}
