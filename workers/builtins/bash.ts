/**
 * `bash` on the thread's own files: a virtual shell with the usual text tools. Nothing of the host is reachable: no
 * processes, no network, no other interpreters.
 *
 * VB1 A command that fails returns a result instead of throwing: its changes are kept, as on a real disk.
 * VB2 A command that is aborted or timed out throws: none of its changes are kept.
 */
import { Bash, getCommandNames } from 'just-bash'
import type { BashExecResult } from 'just-bash'
import type { ToolState } from '../../src/agent/define.js'
import { systemClock } from '../../src/core/clock.js'
import type { Clock } from '../../src/core/clock.js'
import { SkeinError } from '../../src/core/failure.js'
import type { BashArgs } from '../../src/tools/own/args.js'
import { commandTimeoutMs, outputBytes } from '../../src/tools/own/limits.js'
import { toCommand } from './command.js'
import { threadPath, touching } from './path.js'
import { createShellFiles } from './shell-files.js'
import { shellLs } from './shell-ls.js'
import { createCollector } from './text.js'

export interface CommandError {
  readonly status: 'error'
  readonly code: 'TOOL_COMMAND_FAILED'
  readonly error: string
}

/** Limits of one command; one that exceeds them fails with a message. */
const executionLimits = {
  maxOutputSize: 32 * 1024 * 1024,
  maxStringLength: 32 * 1024 * 1024,
  maxLiveBytes: 128 * 1024 * 1024,
}

export async function run(
  { files, signal }: Pick<ToolState, 'files' | 'signal'>,
  args: BashArgs,
  clock: Clock = systemClock,
): Promise<string | CommandError> {
  const cwd = threadPath(args.opts?.cwd ?? '/')
  if (cwd !== '/') {
    const { kind } = await touching(cwd, () => files.stat(cwd))
    if (kind !== 'dir')
      throw new SkeinError('TOOL_PATH_INVALID', `${cwd} is not a directory; a command cannot run in it.`)
  }
  const timeoutMs = args.opts?.timeoutMs ?? commandTimeoutMs
  // Checks the clock itself: while a loop of a script runs, no timer fires.
  const shell = new Bash({
    customCommands: [shellLs],
    fs: createShellFiles(files, getCommandNames()),
    cwd,
    executionLimits: { ...executionLimits, maxExecutionTimeMs: timeoutMs },
  })
  const { stdout, stderr, exitCode } = await inTime({ cmd: args.cmd, timeoutMs, signal, clock }, (stopped) => {
    const { cmd, args: words } = toCommand(args.cmd, args.args ?? [])
    return shell.exec(cmd, { args: [...words], signal: stopped, rawScript: true })
  })
  const output = createCollector(outputBytes)
  output.add(stdout)
  // Advice about disabled interpreters is for whoever configures the shell, not for a model.
  output.add(stderr.replaceAll(/command not available in browser environments.*/g, 'command not found'))
  const text = output.text('send it to a file and read that in parts')
  if (exitCode === 0) return text
  return {
    status: 'error',
    code: 'TOOL_COMMAND_FAILED',
    error: `${args.cmd} exited with ${exitCode}${text === '' ? ' and said nothing' : `:\n${text}`}`,
  }
}

interface Limits {
  readonly cmd: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly clock: Clock
}

/** VB2: a stopped command throws, although the shell returns a result for it. */
async function inTime(
  { cmd, timeoutMs, signal, clock }: Limits,
  work: (stopped: AbortSignal) => Promise<BashExecResult>,
): Promise<BashExecResult> {
  signal.throwIfAborted()
  const deadline = clock.now() + timeoutMs
  const controller = new AbortController()
  const stop = (): void => controller.abort(signal.reason)
  const late = (): void =>
    controller.abort(
      new SkeinError(
        'PROCESS_TIMEOUT',
        `${cmd} did not end within ${timeoutMs} ms; nothing of it was kept. Do less at once, or give opts.timeoutMs.`,
      ),
    )
  signal.addEventListener('abort', stop)
  const stopTimer = clock.wakeAt(deadline, late)
  try {
    const result = await work(controller.signal)
    if (clock.now() >= deadline) late()
    controller.signal.throwIfAborted()
    return result
  } finally {
    stopTimer()
    signal.removeEventListener('abort', stop)
  }
}
