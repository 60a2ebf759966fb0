#!/usr/bin/env node
/**
 * The `skein` binary: runs the program on the real process.
 *
 * - The process ends when the program has ended, neither earlier because its event loop is empty nor later because
 *   an app left timers and connections open.
 */
import { fstatSync } from 'node:fs'
import { Writable } from 'node:stream'
import { MessageChannel } from 'node:worker_threads'
import { keepCompiledModules } from './compile-cache.js'
import type { CliProcess, StopSignal } from './process.js'

const { stdout, stderr, env } = process

/** "Not a terminal" would not do: under cron and systemd stdin is /dev/null. */
function piped(): boolean {
  const stdin = fstatSync(0)
  return stdin.isFIFO() || stdin.isFile() || stdin.isSocket()
}

function onSignal(handler: (signal: StopSignal) => void): void {
  process.on('SIGINT', handler)
  process.on('SIGTERM', handler)
}

function ownStdout(): Writable {
  const write = stdout.write.bind(stdout)
  Object.assign(stdout, { write: stderr.write.bind(stderr) })
  return new Writable({ write: (chunk: Buffer, _, done) => void write(chunk, done) })
}

// `skein --help | head` closes the pipe early: without a listener that would print a stack trace.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

// An open port keeps the process alive; a pending promise would not.
new MessageChannel().port1.on('message', () => undefined)
const shell: CliProcess = {
  // A getter, because reading `process.stdin` opens it, and some commands read nothing.
  get stdin() {
    return process.stdin
  },
  piped,
  interactive: () => process.stdin.isTTY && stdout.isTTY,
  stdout,
  ownStdout,
  stderr,
  env,
  onSignal,
  exit: (code) => process.exit(code),
}
keepCompiledModules(env)
const { skein } = await import('./program.js')
process.exit(await skein(process.argv.slice(2), shell))
