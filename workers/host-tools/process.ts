/**
 * One real process, without a shell, in a process group of its own.
 *
 * - When it ends, in time or not, nothing of its group is left running; nor anything that left the group, if it had a
 *   namespace or can be found by its mark (HS1). The same holds when the worker or the host ends.
 * - Its output is cut while it arrives, in the order in which it arrived.
 * - It sees PATH, HOME, LANG and what it is given, nothing else of the host's environment.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess, SpawnOptions } from 'node:child_process'
import { constants } from 'node:os'
import { systemClock } from '../../src/core/clock.js'
import { defined } from '../../src/core/defined.js'
import { SkeinError } from '../../src/core/failure.js'
import { errorCode } from '../builtins/path.js'
import { createCollector } from '../builtins/text.js'
import { executableOf, fenceFor } from './fence.js'
import type { FenceOptions } from './fence.js'
import { guardGroup } from './group-guard.js'
import type { GuardedGroup } from './group-guard.js'
import { killMarked, markName, newMark } from './marked-processes.js'

export interface HostCommand {
  readonly cmd: string
  readonly args: readonly string[]
  readonly cwd: string
  readonly home: string
  readonly env?: Readonly<Record<string, string>>
  readonly fence: FenceOptions
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

/** How long a process that left the group may keep the output open after the command ended. */
const lingerMs = 1000

export async function runProcess(command: HostCommand): Promise<Ended> {
  const { cmd, signal, timeoutMs } = command
  const started = await start(command)
  const { child } = started
  const output = createCollector(command.maxOutputBytes)
  child.stdout?.on('data', (chunk: Uint8Array) => output.add(chunk))
  child.stderr?.on('data', (chunk: Uint8Array) => output.add(chunk))
  let isLate = false
  const stopTimer = systemClock.wakeAt(systemClock.now() + timeoutMs, () => {
    isLate = true
    started.kill()
  })
  signal.addEventListener('abort', started.kill)
  try {
    const { exitCode, signal: killed } = await endOf(started, cmd)
    signal.throwIfAborted()
    if (isLate)
      throw new SkeinError(
        'PROCESS_TIMEOUT',
        `${cmd} did not end within ${timeoutMs} ms and was killed with all it started. It said: ${output.text()}`,
      )
    return { exitCode, signal: killed, output: output.text('send it to a file and read that in parts') }
  } finally {
    stopTimer()
    signal.removeEventListener('abort', started.kill)
  }
}

interface Started {
  readonly child: ChildProcess
  /** Ends everything it started, as far as it can be found. */
  kill(): void
  /** It has ended: the guard forgets it. */
  release(): void
}

async function start({ cmd, args, cwd, home, env, fence: fenceOptions, signal }: HostCommand): Promise<Started> {
  const { PATH = '/usr/local/bin:/usr/bin:/bin', LANG = 'C.UTF-8' } = process.env
  const baseEnv = { PATH, LANG, HOME: home, ...env }
  const [fence, found] = await Promise.all([fenceFor(fenceOptions), executableOf(cmd, { cwd, path: baseEnv.PATH })])
  signal.throwIfAborted()
  if (!found) throw notStarted(cmd, 'there is no such executable')
  if (!found.allowed) throw notStarted(cmd, 'it may not be executed')
  const mark = newMark()
  const guarded = guardGroup(mark)
  const inEnv = { ...baseEnv, ...(mark !== undefined && { [markName]: mark }) }
  const options = { cwd, env: inEnv, ...(fence.before.length === 0 && { argv0: cmd, ...userOf(fenceOptions) }) }
  const child = spawned(cmd, [...fence.before, found.file, ...args], { options, guarded })
  const { pid } = child
  const kill = (): void => {
    if (pid !== undefined) killGroup(pid)
    if (mark !== undefined && !fence.pids) killMarked(mark)
  }
  return { child, kill, release: guarded.ended }
}

interface Spawning {
  readonly options: SpawnOptions
  readonly guarded: GuardedGroup
}

/** Some errors are thrown at once, others arrive as an event. */
function spawned(cmd: string, [file = '', ...args]: readonly string[], { options, guarded }: Spawning): ChildProcess {
  try {
    const child = spawn(file, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    if (child.pid === undefined) guarded.ended()
    else guarded.begun(child.pid)
    return child
  } catch (thrown) {
    guarded.ended()
    if (thrown instanceof Error) throw notStarted(cmd, whyNot(thrown), thrown)
    throw thrown
  }
}

function userOf({ uid, gid }: FenceOptions): Pick<SpawnOptions, 'uid' | 'gid'> {
  return { ...defined({ uid, gid }) }
}

function endOf({ child, kill, release }: Started, cmd: string): Promise<Omit<Ended, 'output'>> {
  return new Promise((resolve, reject) => {
    let stopWaiting: (() => void) | undefined
    child.once('error', (thrown) => {
      if (child.pid === undefined) reject(notStarted(cmd, whyNot(thrown), thrown))
      else reject(thrown)
    })
    child.once('exit', () => {
      kill()
      release()
      // A process that left the group may still hold the pipes.
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

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch (thrown) {
    // No process of the group is left.
    if (errorCode(thrown) !== 'ESRCH') throw thrown
  }
}

function whyNot(thrown: Error): string {
  switch (errorCode(thrown)) {
    case 'EPERM':
      return 'the host may not start processes as another user (hostTools({ uid, gid }) needs a host that runs as root)'
    case 'ENOENT':
      return 'there is no such executable'
    case 'EACCES':
      return 'it may not be executed'
    default:
      return thrown.message
  }
}

function notStarted(cmd: string, why: string, cause?: Error): SkeinError {
  return new SkeinError(
    'TOOL_COMMAND_FAILED',
    `${cmd} could not be started: ${why}. cmd is one executable; its arguments belong in args, a script in {cmd: ` +
      `"sh", args: ["-lc", script]}.`,
    { cause },
  )
}

/** What a shell makes of a child that a signal ended. */
export function signalOf(exitCode: number): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => number === exitCode - 128)?.[0]
}
