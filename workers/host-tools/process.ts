/**
 * One real process, without a shell, in a process group of its own.
 *
 * HQ1 When it ends, in time or not, nothing of its group is left running.
 * HQ2 Its output is cut while it arrives, in the order in which it arrived.
 * HQ3 It sees PATH, HOME, LANG and what it is given, nothing else of the host's environment.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { systemClock } from '../../src/core/clock.js'
import { SkeinError } from '../../src/core/failure.js'
import { errorCode } from '../builtins/path.js'
import { createCollector } from '../builtins/text.js'

export interface Command {
  readonly cmd: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly home: string
  readonly env?: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly maxOutputBytes: number
  readonly signal: AbortSignal
}

export interface Ended {
  /** Null: ended by a signal. */
  readonly exitCode: number | null
  readonly signal: string | null
  readonly output: string
}

/** How long a process that left the group may hold the output open after the command ended. */
const lingerMs = 1000

export async function runProcess(command: Command): Promise<Ended> {
  const { cmd, args, cwd, home, env, signal, timeoutMs } = command
  signal.throwIfAborted()
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG = 'C.UTF-8' } = process.env
  const child = spawn(cmd, args, { cwd, env: { PATH, LANG, HOME: home, ...env }, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = createCollector(command.maxOutputBytes)
  child.stdout.on('data', (chunk: Uint8Array) => output.add(chunk))
  child.stderr.on('data', (chunk: Uint8Array) => output.add(chunk))
  let isLate = false
  const stop = (): void => killGroup(child)
  const stopTimer = systemClock.wakeAt(systemClock.now() + timeoutMs, () => {
    isLate = true
    stop()
  })
  signal.addEventListener('abort', stop)
  try {
    const { exitCode, signal: killed } = await endOf(child, cmd)
    signal.throwIfAborted()
    if (isLate) throw new SkeinError('PROCESS_TIMEOUT', `${cmd} did not end within ${timeoutMs} ms and was killed with all it started. It said: ${output.text()}`)
    return { exitCode, signal: killed, output: output.text('send it to a file and read that in parts') }
  } finally {
    stopTimer()
    signal.removeEventListener('abort', stop)
  }
}

function endOf(child: ChildProcess, cmd: string): Promise<Omit<Ended, 'output'>> {
  return new Promise((resolve, reject) => {
    let stopWaiting: (() => void) | undefined
    child.once('error', (thrown) => {
      if (child.pid === undefined) reject(notStarted(cmd, thrown))
      else reject(thrown)
    })
    child.once('exit', () => {
      killGroup(child)
      // Whoever left the group may still hold the pipes.
      stopWaiting = systemClock.wakeAt(systemClock.now() + lingerMs, () => {
        child.stdout?.destroy()
        child.stderr?.destroy()
      })
    })
    child.once('close', (exitCode, signal) => {
      stopWaiting?.()
      resolve({ exitCode, signal })
    })
  })
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (thrown) {
    // Nobody of it is left.
    if (errorCode(thrown) !== 'ESRCH') throw thrown
  }
}

function notStarted(cmd: string, thrown: Error): SkeinError {
  const why = errorCode(thrown) === 'ENOENT' ? 'there is no such executable' : errorCode(thrown) === 'EACCES' ? 'it may not be executed' : thrown.message
  return new SkeinError('TOOL_COMMAND_FAILED', `${cmd} could not be started: ${why}. cmd is one executable; its arguments belong in args, a script in {cmd: "sh", args: ["-lc", script]}.`, { cause: thrown })
}
