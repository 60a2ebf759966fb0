/** `skein keys new`: a key for `skein serve` and `skein/server`. It is shown once; what is kept is its hash. */
import { Option } from 'commander'
import type { Command } from 'commander'
import type { Scope } from '../../../server.js'
import { exitCode } from '../../exit.js'
import type { ExitCode } from '../../exit.js'
import type { CommandContext, RunCommand } from '../../run-command.js'

interface KeyRequest {
  readonly name: string
  readonly scope?: readonly Scope[]
  readonly tag?: readonly string[]
  readonly root?: readonly string[]
}

export function register(command: Command, runCommand: RunCommand): void {
  const scope = new Option('--scope <scope...>', 'what it may do (default: write)')
  const sub = command
    .command('new')
    .description('make a key, and the entry for the file of --keys')
    .argument('<name>', 'who has it; recorded as who decided')
    .addOption(scope.choices(['read', 'write', 'approve', 'admin']))
    .option('--tag <tag...>', 'it sees only trees with one of these tags')
    .option('--root <thread...>', 'it sees only the trees below these threads')
  sub.action((name: string, options: Omit<KeyRequest, 'name'>) =>
    runCommand(sub, (context) => create(context, { ...options, name })),
  )
}

async function create({ out }: CommandContext, { name, scope = ['write'], tag, root }: KeyRequest): Promise<ExitCode> {
  const { createKey } = await import('../../../server.js')
  const { key, sha256 } = createKey()
  const entry = { name, sha256, scopes: scope, ...(tag && { tags: tag }), ...(root && { roots: root }) }
  if (out.mode === 'json') out.json({ key, entry })
  else {
    out.note('the key is shown once; the file of --keys takes the entry: { "keys": [ … ] }')
    out.print(`key    ${key}\nentry  ${JSON.stringify(entry)}\n`)
  }
  return exitCode.ok
}
