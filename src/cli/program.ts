/**
 * The `skein` program: the list of its commands, and the options that all of them share. What a command takes and
 * does is in `commands/`.
 *
 * - The module of a command is loaded when that command is called: help and `--version` load commander alone.
 * - A command line that cannot be parsed ends with exit code 4, and names the command that prints help.
 */
import { createRequire } from 'node:module'
import { Command, CommanderError } from 'commander'
import type { CliProcess } from './process.js'
import type { CommandModule } from './run-command.js'
import { visible } from './visible.js'

interface Entry {
  readonly summary: string
  load(): Promise<CommandModule>
}

const commands: Readonly<Record<string, Entry>> = {
  init: {
    summary: 'make a project with an agent that runs at once',
    load: () => import('./commands/project/init.js'),
  },
  run: { summary: 'send a message to an agent and watch its turn', load: () => import('./commands/run.js') },
  chat: { summary: 'talk to an agent, line by line', load: () => import('./commands/chat.js') },
  create: { summary: 'make a thread without a turn', load: () => import('./commands/create.js') },
  host: { summary: 'serve a store until it is told to stop', load: () => import('./commands/host.js') },
  dev: {
    summary: 'serve a store, and load the app again when a file of it changes',
    load: () => import('./commands/project/dev.js'),
  },
  serve: {
    summary: 'serve a store, and answer HTTP, until it is told to stop',
    load: () => import('./commands/service/serve.js'),
  },
  ui: {
    summary: 'open the page of a store in a browser',
    load: () => import('./commands/service/ui.js'),
  },
  mcp: {
    summary: 'agents and threads for a client of MCP, over stdin and stdout',
    load: () => import('./commands/service/mcp.js'),
  },
  keys: { summary: 'make keys for those who use it over HTTP', load: () => import('./commands/service/keys.js') },
  hosts: { summary: 'list the hosts that serve a store', load: () => import('./commands/hosts.js') },
  ps: { summary: 'list threads', load: () => import('./commands/ps.js') },
  tree: { summary: 'show a thread and its children, and who waits for what', load: () => import('./commands/tree.js') },
  show: { summary: 'show a thread and its messages', load: () => import('./commands/show.js') },
  tail: { summary: 'follow the events of a thread', load: () => import('./commands/tail.js') },
  send: { summary: 'send a message to a thread', load: () => import('./commands/send.js') },
  inbox: {
    summary: 'list what threads wait for a person to decide or to give',
    load: () => import('./commands/inbox.js'),
  },
  approve: {
    summary: 'let a call run that waits for approval',
    load: async () => (await import('./commands/decide.js')).approve,
  },
  deny: {
    summary: 'decline what someone was asked for: an approval, an answer, values',
    load: async () => (await import('./commands/decide.js')).deny,
  },
  dead: {
    summary: 'list children that failed for good, try them again or drop them',
    load: () => import('./commands/failures/dead.js'),
  },
  effects: {
    summary: 'list calls that nobody knows the outcome of, and say what became of one',
    load: () => import('./commands/failures/effects.js'),
  },
  answer: {
    summary: 'give the output of a call that waits for a person',
    load: async () => (await import('./commands/decide.js')).answer,
  },
  env: { summary: 'list or set the variables of a thread', load: () => import('./commands/env.js') },
  files: {
    summary: 'look at the files of a thread, copy them out or in',
    load: () => import('./commands/files/files.js'),
  },
  cancel: {
    summary: 'end the running turn of a thread',
    load: async () => (await import('./commands/lifecycle.js')).cancel,
  },
  pause: {
    summary: 'let a thread start nothing more',
    load: async () => (await import('./commands/lifecycle.js')).pause,
  },
  resume: {
    summary: 'let a paused thread go on, or a turn that failed or was granted more',
    load: async () => (await import('./commands/lifecycle.js')).resume,
  },
  timeline: {
    summary: 'list the turns and steps of a thread, and the points to go back to',
    load: () => import('./commands/travel/timeline.js'),
  },
  fork: {
    summary: 'make another thread with the past of one, up to a point',
    load: () => import('./commands/travel/fork.js'),
  },
  rewind: {
    summary: 'let a thread go back to a point of its past',
    load: () => import('./commands/travel/rewind.js'),
  },
  diff: {
    summary: 'show what differs between two threads, or two points of one',
    load: () => import('./commands/travel/diff.js'),
  },
  experiment: {
    summary: 'run forks of a thread on other definitions, and compare what they do',
    load: () => import('./commands/travel/experiment.js'),
  },
  grant: { summary: 'let a thread spend more, and go on', load: () => import('./commands/grant.js') },
  terminate: {
    summary: 'end a thread for ever',
    load: async () => (await import('./commands/lifecycle.js')).terminate,
  },
  delete: { summary: 'remove a tree of threads for ever', load: () => import('./commands/delete.js') },
  doctor: {
    summary: 'check whether Skein can run here: Node, store, server, app',
    load: () => import('./commands/doctor.js'),
  },
  bench: {
    summary: 'measure what Skein costs on this machine',
    load: () => import('./commands/testing/bench.js'),
  },
  export: { summary: 'write a thread into a file', load: () => import('./commands/testing/export.js') },
  replay: {
    summary: 'ask the definitions of today for what a recorded thread did',
    load: () => import('./commands/testing/replay.js'),
  },
  sim: {
    summary: 'live an app through many times, with everything going wrong',
    load: () => import('./commands/testing/sim.js'),
  },
  types: {
    summary: 'write the names of an app for the compiler',
    load: () => import('./commands/project/type-map.js'),
  },
  backup: { summary: 'copy the store into a new folder', load: () => import('./commands/backup.js') },
}

const exitCodesAndVariables = `
Exit codes: 0 ok, 1 failure, 2 cancelled, 3 waiting for a person, 4 bad input, 130 and 143 stopped by a signal.
Environment: SKEIN_STORE (folder of the store), SKEIN_NATS, SKEIN_NAMESPACE, SKEIN_NATS_CREDS, SKEIN_NATS_CA,
SKEIN_NATS_CERT, SKEIN_NATS_KEY, SKEIN_NATS_MONITOR, SKEIN_URL (as the options), SKEIN_URL_KEY (the key for --url),
SKEIN_KEY_FILE (file with the key for secrets), SKEIN_KEY (the key itself), NO_COLOR, SKEIN_DEBUG=1 (stack traces).`

/** Collects an option that may be given several times. */
function several(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

interface ProgramListener {
  /** The command line names this command. */
  onCommand(name: string): void
  onExit(code: number): void
}

function createProgram(shell: CliProcess, { onCommand, onExit }: ProgramListener): Command {
  const { stdout, stderr } = shell
  const program = new Command('skein')
    .description('Durable agents: every thread keeps a journal, and goes on where it stood.')
    .option('--store <dir>', 'folder of the store (default: $SKEIN_STORE, else .skein)')
    .option(
      '--nats <url>',
      'a NATS server instead of a folder; user and password may be in the URL (default: $SKEIN_NATS)',
    )
    .option('--namespace <name>', 'place of the app on the NATS server (default: $SKEIN_NAMESPACE, else skein)')
    .option('--creds <file>', 'credentials for NATS, as its operator gives them')
    .option('--tls-ca <file>', 'certificate that the NATS server is known by')
    .option('--tls-cert <file>', 'own certificate for the NATS server')
    .option('--tls-key <file>', 'key of that certificate')
    .option('--monitor <url>', 'monitoring port of the NATS server (default: port 8222 of it)')
    .option('--url <url>', 'a server of Skein (skein serve) instead of a store (default: $SKEIN_URL)')
    .option(
      '--key-env <name>',
      'the variable of the environment that holds the key for --url (default: SKEIN_URL_KEY); of serve: a key that ' +
        'it takes, as SHOP_KEY=write,approve; a name alone may do everything; may be given several times',
      several,
    )
    .option('--key-file <file>', 'file that holds the key for secrets (default: $SKEIN_KEY_FILE)')
    .option('--json', 'one JSON object per line, for programs')
    .option('-V, --version', 'print the version')
    .on('option:version', () => {
      stdout.write(`${version()}\n`)
      throw new CommanderError(0, 'commander.version', '')
    })
    .exitOverride()
    // Usage errors are written by `skein()`, which knows whether they must be JSON.
    .configureOutput({
      outputError: () => undefined,
      writeOut: (text) => void stdout.write(text),
      writeErr: (text) => void stderr.write(visible(text)),
    })
    .configureHelp({ showGlobalOptions: true })
    .helpCommand(false)
    .addHelpText('after', exitCodesAndVariables)
    .hook('preSubcommand', async (_, command) => {
      onCommand(command.name())
      const entry = commands[command.name()]
      if (!entry) return
      const [{ register }, { createRunCommand }] = await Promise.all([entry.load(), import('./run-command.js')])
      register(command, createRunCommand(shell, onExit))
    })
  for (const [name, { summary }] of Object.entries(commands)) program.command(name).description(summary)
  return program
}

function version(): string {
  const manifest: { version: string } = createRequire(import.meta.url)('skein/package.json')
  return manifest.version
}

/** `skein help send` is `skein send --help`. */
function withHelpCommand(args: readonly string[]): readonly string[] {
  const [first, ...rest] = args
  return first === 'help' ? [...rest, '--help'] : args
}

function usageError(error: CommanderError, help: string, json: boolean): string {
  const message = error.message.replace(/^error: /, '').replace(/\s+/g, ' ')
  return json
    ? JSON.stringify({ error: { code: 'BAD_OPTION', message, retry: false } })
    : `skein: ${message} (see ${help})`
}

/** Runs a command line; resolves with its exit code when both streams are flushed. */
export async function skein(args: readonly string[], shell: CliProcess): Promise<number> {
  const { stdout, stderr } = shell
  let code = 0
  let help = 'skein --help'
  const program = createProgram(shell, {
    onCommand: (name) => (help = `skein ${name} --help`),
    onExit: (own) => (code = own),
  })
  try {
    await program.parseAsync(withHelpCommand(args), { from: 'user' })
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown
    code = thrown.exitCode === 0 ? 0 : 4
    // Without any command commander has printed the help itself.
    if (code !== 0 && thrown.code !== 'commander.help')
      stderr.write(`${visible(usageError(thrown, help, args.includes('--json')))}\n`)
  }
  await Promise.all([stdout, stderr].map((stream) => new Promise<void>((done) => void stream.write('', () => done()))))
  return code
}
