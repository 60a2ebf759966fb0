#!/usr/bin/env node
/**
 * The `skein` binary: the program, in a process of its own.
 *
 * - The process lives until the program is done, whatever else keeps the event loop alive or does not, and no
 *   longer: an app may hold timers and connections of its own.
 */
import { fstatSync } from 'node:fs'
import { MessageChannel } from 'node:worker_threads'
import { skein } from './program.js'
import type { CliProcess, StopSignal } from './process.js'

const { stdout, stderr, env } = process

/** "Not a terminal" would be too much: under cron and systemd stdin is /dev/null. */
function piped(): boolean {
  const found = fstatSync(0)
  return found.isFIFO() || found.isFile() || found.isSocket()
}

function onSignal(heard: (signal: StopSignal) => void): void {
  process.on('SIGINT', heard)
  process.on('SIGTERM', heard)
}

// `skein --help | head` closes the pipe early; without a listener that is a stack trace.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

// An open port holds the process; a wait for another process would not.
new MessageChannel().port1.on('message', () => undefined)
const shell: CliProcess = {
  // Opened when it is asked for: some commands read nothing.
  get stdin() {
    return process.stdin
  },
  piped,
  interactive: () => process.stdin.isTTY && stdout.isTTY,
  stdout,
  stderr,
  env,
  onSignal,
  exit: (code) => process.exit(code),
}
process.exit(await skein(process.argv.slice(2), shell))
