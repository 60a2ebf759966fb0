#!/usr/bin/env node
/**
 * The `skein` command: which commands there are, and what is common to all of them. What a command takes and does
 * is in the file of its name, which is loaded only when it was asked for.
 *
 * CI1 Nothing but commander is loaded before a command is known, so that help and completion answer at once.
 * CI2 Input that cannot be understood ends with exit code 4, and says where help is.
 */
import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'

interface Entry {
  readonly summary: string
  load(): Promise<{ register(command: Command): void }>
}

const commands: Readonly<Record<string, Entry>> = {
  run: { summary: 'send a message to an agent and watch its turn', load: () => import('./run.js') },
  ps: { summary: 'list threads', load: () => import('./ps.js') },
  tree: { summary: 'show a thread and its children, and who waits for what', load: () => import('./tree.js') },
  show: { summary: 'show a thread and its messages', load: () => import('./show.js') },
  tail: { summary: 'follow the events of a thread', load: () => import('./tail.js') },
  send: { summary: 'send a message to a thread', load: () => import('./send.js') },
  inbox: { summary: 'list what threads wait for a person to decide or to give', load: () => import('./inbox.js') },
  approve: { summary: 'let a call run that waits for approval', load: () => import('./approve.js') },
  deny: { summary: 'let a call that waits for approval never run', load: () => import('./deny.js') },
  dead: { summary: 'list children that failed for good, try them again or drop them', load: () => import('./dead.js') },
  answer: { summary: 'give the output of a call that waits for a person', load: () => import('./answer.js') },
  env: { summary: 'list or set the variables of a thread', load: () => import('./env.js') },
  files: { summary: 'look at the files of a thread, copy them out or in', load: () => import('./files/files.js') },
  cancel: { summary: 'end the running turn of a thread', load: () => import('./cancel.js') },
  pause: { summary: 'let a thread start nothing more', load: () => import('./pause.js') },
  resume: { summary: 'let a paused thread go on, or try a failed turn again', load: () => import('./resume.js') },
  terminate: { summary: 'end a thread for ever', load: () => import('./terminate.js') },
  delete: { summary: 'remove a tree of threads for ever', load: () => import('./delete.js') },
  backup: { summary: 'copy the store into a new folder', load: () => import('./backup.js') },
}

const after = `
Exit codes: 0 ok, 1 failure, 2 cancelled, 3 waiting for a person, 4 bad input, 130 and 143 stopped by a signal.
Environment: SKEIN_STORE (folder of the store), NO_COLOR, SKEIN_DEBUG=1 (stack traces).`

/** CI2 */
let help = 'skein --help'

function createProgram(): Command {
  const program = new Command('skein')
    .description('Durable agents: every thread keeps a journal, and goes on where it stood.')
    .option('--store <dir>', 'folder of the store (default: $SKEIN_STORE, else .skein)')
    .option('--json', 'one JSON object per line, for programs')
    .option('-V, --version', 'print the version')
    .on('option:version', printVersion)
    .exitOverride()
    // Usage errors are reported below, where it is known whether someone wants JSON.
    .configureOutput({ outputError: () => undefined })
    .configureHelp({ showGlobalOptions: true })
    .helpCommand(false)
    .addHelpText('after', after)
    .hook('preSubcommand', async (_, chosen) => {
      help = `skein ${chosen.name()} --help`
      const entry = commands[chosen.name()]
      if (entry) (await entry.load()).register(chosen)
    })
  for (const [name, { summary }] of Object.entries(commands)) program.command(name).description(summary)
  return program
}

function printVersion(): never {
  const { version }: { version: string } = createRequire(import.meta.url)('skein/package.json')
  process.stdout.write(`${version}\n`)
  process.exit(0)
}

/** `skein help send` is `skein send --help`. */
function asked(args: readonly string[]): readonly string[] {
  const [first, ...rest] = args
  return first === 'help' ? [...rest, '--help'] : args
}

function misused(error: CommanderError): number {
  if (error.exitCode === 0) return 0
  // Without a command commander prints the help itself.
  if (error.code === 'commander.help') return 4
  const message = error.message.replace(/^error: /, '').replace(/\s+/g, ' ')
  const json = process.argv.includes('--json')
  const line = json ? JSON.stringify({ error: { code: 'BAD_OPTION', message, retry: false } }) : `skein: ${message} (see ${help})`
  process.stderr.write(`${line}\n`)
  return 4
}

// `skein --help | head` closes the pipe early; without a listener that is a stack trace.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

try {
  await createProgram().parseAsync(asked(process.argv.slice(2)), { from: 'user' })
} catch (thrown) {
  if (!(thrown instanceof CommanderError)) throw thrown
  process.exitCode = misused(thrown)
}
