/**
 * Runs one command: makes its output, locates its store, handles its signals and errors. A command returns an exit
 * code or throws, and knows nothing of the rest.
 *
 * - An error becomes one line, or a list, on stderr (JSON with --json); a stack only with SKEIN_DEBUG=1.
 * - The first signal lets the command close what it has open; the second ends the process at once.
 */
import type { Command } from 'commander'
import { defined } from '../core/defined.js'
import type { Failure } from '../index.js'
import { exitCode, exitOfFailure } from './exit.js'
import type { ExitCode } from './exit.js'
import { joinWords } from './format.js'
import { createOutput } from './output.js'
import type { CliOutput } from './output.js'
import type { CliProcess, StopSignal } from './process.js'
import { locateStore } from './store.js'
import type { StoreFlags, StoreLocation } from './store.js'

export interface CommandContext {
  readonly shell: CliProcess
  readonly out: CliOutput
  readonly store: StoreLocation
  /** Sets what the first signal does; without it, that ends the process at once. */
  onStop(close: (signal: StopSignal) => Promise<void>): void
}

/** Runs the body of a command and reports its exit code. */
export type RunCommand = (command: Command, body: (context: CommandContext) => Promise<ExitCode>) => Promise<void>

export interface CommandModule {
  /** Adds the arguments, the options and the action of the command. */
  register(command: Command, runCommand: RunCommand): void
}

interface GlobalFlags extends StoreFlags {
  readonly json?: boolean
}

export function createRunCommand(shell: CliProcess, onExit: (code: ExitCode) => void): RunCommand {
  return async (command, body) => {
    const { json = false, keyEnv, ...flags } = command.optsWithGlobals<GlobalFlags>()
    // Of `serve` they are keys that it takes.
    const storeFlags = { ...flags, ...(command.name() !== 'serve' && defined({ keyEnv })) }
    const out = createOutput(shell, json)
    const signals = listenForSignals(shell)
    const ended = reportErrors({ shell, out, signals }, async () =>
      body({ shell, out, store: await locateStore(storeFlags, shell.env), onStop: signals.onStop }),
    )
    // After a signal closed its store, the command may return or throw anything: the exit code is that of the signal.
    const code = await Promise.race([
      signals.stopped,
      ended.then((own) => (signals.stopping() ? signals.stopped : own)),
    ])
    out.show([])
    onExit(code)
  }
}

interface ReportContext {
  readonly shell: CliProcess
  readonly out: CliOutput
  readonly signals: StopSignals
}

async function reportErrors({ shell, out, signals }: ReportContext, body: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await body()
  } catch (thrown) {
    const { failureGroup } = await import('../index.js')
    const failure = await failureOf(thrown)
    const code = exitOfFailure(failureGroup(failure.code))
    // The signal closed the store under the command: no error of its own.
    if (signals.stopping() && failure.code === 'STORE_CLOSED') return code
    const stack = shell.env['SKEIN_DEBUG'] === '1' && thrown instanceof Error ? `\n${thrown.stack}` : ''
    out.complain(`skein: ${out.paint('red', joinWords(failure.message))}${stack}`, { error: failure })
    return code
  }
}

async function failureOf(thrown: unknown): Promise<Failure> {
  const { SkeinError } = await import('../index.js')
  if (SkeinError.is(thrown)) {
    const { code, message, retry, data } = thrown
    // The server tells of a header, which nobody sends by hand here.
    const isUnknown = data?.['problem'] === 'UNAUTHENTICATED'
    return { code, message: isUnknown ? needsKey : message, retry, ...defined({ data }) }
  }
  return { code: 'INVARIANT', message: thrown instanceof Error ? thrown.message : String(thrown), retry: false }
}

const needsKey =
  'the server wants a key that it knows: set SKEIN_URL_KEY to it, or name another variable that has it with --key-env'

type StopSignals = ReturnType<typeof listenForSignals>

function listenForSignals(shell: CliProcess) {
  let close: ((signal: StopSignal) => Promise<void>) | undefined
  let stopping = false
  const stopped = new Promise<ExitCode>((resolve, reject) => {
    shell.onSignal((signal) => {
      if (stopping || !close) return shell.exit(exitCode[signal])
      stopping = true
      close(signal).then(() => resolve(exitCode[signal]), reject)
    })
  })
  return {
    /** Resolves when the command has closed what it had open. */
    stopped,
    stopping: () => stopping,
    onStop(handler: (signal: StopSignal) => Promise<void>) {
      close = handler
    },
  }
}
