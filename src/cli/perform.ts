/**
 * The life of one command: its streams, its signals, its end. A command gives an exit code or throws; all the rest
 * (words for errors, Ctrl-C, leaving) happens here, once.
 *
 * PF1 What is thrown becomes one line, or a list, on stderr (JSON with --json); a stack only with SKEIN_DEBUG=1.
 * PF2 The first signal lets the command close what it has open; the second ends the process at once.
 * PF3 The process lives until its command is done, whatever else keeps the event loop alive or does not.
 */
import { MessageChannel } from 'node:worker_threads'
import type { Command } from 'commander'
import type { Failure } from '../index.js'
import { exitCode, exitOfFailure } from './exit.js'
import type { ExitCode } from './exit.js'
import { listed } from './format.js'
import { createOutput } from './output.js'
import type { Output } from './output.js'

export type StopSignal = 'SIGINT' | 'SIGTERM'

export interface Around {
  readonly out: Output
  readonly store: string
  /** What to do at the first signal, instead of ending at once. */
  onStop(close: (signal: StopSignal) => Promise<void>): void
}

interface Globals {
  readonly store?: string
  readonly json?: boolean
}

export async function perform(command: Command, body: (around: Around) => Promise<ExitCode>): Promise<void> {
  const { json = false, store = process.env['SKEIN_STORE'] || '.skein' } = command.optsWithGlobals<Globals>()
  const out = createOutput(json)
  // PF3: an open port holds the process; a wait for another process would not.
  new MessageChannel().port1.on('message', () => undefined)
  const stops = listenForStops()
  const ended = attempt(out, stops, () => body({ out, store, onStop: stops.onStop }))
  // A command whose means were closed under it may end or throw on the way; the signal is what is told.
  const code = await Promise.race([stops.stopped, ended.then((own) => (stops.begun() ? stops.stopped : own))])
  out.show([])
  await out.flush()
  // Not by itself: an app may hold timers and connections of its own.
  process.exit(code)
}

async function attempt(out: Output, stops: Stops, body: () => Promise<ExitCode>): Promise<ExitCode> {
  try {
    return await body()
  } catch (thrown) {
    const { failureGroup } = await import('../index.js')
    const failure = await failureOf(thrown)
    const code = exitOfFailure(failureGroup(failure.code))
    // That is us: the signal closed it under the command.
    if (stops.begun() && failure.code === 'STORE_CLOSED') return code
    const stack = process.env['SKEIN_DEBUG'] === '1' && thrown instanceof Error ? `\n${thrown.stack}` : ''
    out.complain(`skein: ${out.paint('red', listed(failure.message))}${stack}`, { error: failure })
    return code
  }
}

async function failureOf(thrown: unknown): Promise<Failure> {
  const { isSkeinError } = await import('../index.js')
  if (isSkeinError(thrown)) {
    const { code, message, retry, data } = thrown
    return { code, message, retry, ...(data && { data }) }
  }
  return { code: 'INVARIANT', message: thrown instanceof Error ? thrown.message : String(thrown), retry: false }
}

type Stops = ReturnType<typeof listenForStops>

function listenForStops() {
  let close: ((signal: StopSignal) => Promise<void>) | undefined
  let begun = false
  const stopped = new Promise<ExitCode>((resolve, reject) => {
    const heard = (signal: StopSignal): void => {
      if (begun || !close) process.exit(exitCode[signal])
      begun = true
      close(signal).then(() => resolve(exitCode[signal]), reject)
    }
    process.on('SIGINT', heard)
    process.on('SIGTERM', heard)
  })
  return {
    stopped,
    begun: () => begun,
    onStop(given: (signal: StopSignal) => Promise<void>) {
      close = given
    },
  }
}
