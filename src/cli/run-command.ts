/**
 * The life of one command: its streams, its signals, its end. A command gives an exit code or throws; all the rest
 * (words for errors, Ctrl-C, leaving) happens here, once.
 *
 * - What is thrown becomes one line, or a list, on stderr (JSON with --json); a stack only with SKEIN_DEBUG=1.
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
import { locateStore } from './place.js'
import type { StoreLocation, StoreFlags } from './place.js'
import type { CliProcess, StopSignal } from './process.js'

export interface CommandContext {
  readonly shell: CliProcess
  readonly out: CliOutput
  readonly store: StoreLocation
  /** What to do at the first signal, instead of ending at once. */
  onStop(close: (signal: StopSignal) => Promise<void>): void
}

interface Globals extends StoreFlags {
  readonly json?: boolean
}

export type RunCommand = (command: Command, body: (around: CommandContext) => Promise<ExitCode>) => Promise<void>

export function createRunCommand(shell: CliProcess, ended: (code: ExitCode) => void): RunCommand {
  return async (command, body) => {
    const { json = false, ...place } = command.optsWithGlobals<Globals>()
    const out = createOutput(shell, json)
    const stops = listenForStops(shell)
    const own = attempt({ shell, out, stops }, async () =>
      body({ shell, out, store: await locateStore(place, shell.env), onStop: stops.onStop }),
    )
    // A command whose means were closed under it may end or throw on the way; the signal is what is told.
    const code = await Promise.race([stops.stopped, own.then((came) => (stops.begun() ? stops.stopped : came))])
    out.show([])
    ended(code)
  }
}

interface Means {
  readonly shell: CliProcess
  readonly out: CliOutput
  readonly stops: Stops
}

async function attempt({ shell, out, stops }: Means, body: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await body()
  } catch (thrown) {
    const { failureGroup } = await import('../index.js')
    const failure = await failureOf(thrown)
    const code = exitOfFailure(failureGroup(failure.code))
    // That is us: the signal closed it under the command.
    if (stops.begun() && failure.code === 'STORE_CLOSED') return code
    const stack = shell.env['SKEIN_DEBUG'] === '1' && thrown instanceof Error ? `\n${thrown.stack}` : ''
    out.complain(`skein: ${out.paint('red', joinWords(failure.message))}${stack}`, { error: failure })
    return code
  }
}

async function failureOf(thrown: unknown): Promise<Failure> {
  const { SkeinError } = await import('../index.js')
  if (SkeinError.is(thrown)) {
    const { code, message, retry, data } = thrown
    return { code, message, retry, ...defined({ data }) }
  }
  return { code: 'INVARIANT', message: thrown instanceof Error ? thrown.message : String(thrown), retry: false }
}

type Stops = ReturnType<typeof listenForStops>

function listenForStops(shell: CliProcess) {
  let close: ((signal: StopSignal) => Promise<void>) | undefined
  let begun = false
  const stopped = new Promise<ExitCode>((resolve, reject) => {
    const heard = (signal: StopSignal): void => {
      if (begun || !close) return shell.exit(exitCode[signal])
      begun = true
      close(signal).then(() => resolve(exitCode[signal]), reject)
    }
    shell.onSignal(heard)
  })
  return {
    stopped,
    begun: () => begun,
    onStop(given: (signal: StopSignal) => Promise<void>) {
      close = given
    },
  }
}
