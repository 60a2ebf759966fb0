/**
 * `bash` on a real directory. A command that fails throws: its effects are in the world already, and no changes of the
 * thread's files have to be kept.
 */
import { stat } from 'node:fs/promises'
import { SkeinError } from '../../src/core/failure.js'
import type { BashArgs } from '../../src/tools/own/args.js'
import type { HostToolSettings } from '../../src/tools/own/host-tools.js'
import { touching } from '../builtins/path.js'
import { checkNetwork } from './network.js'
import { runProcess, signalOf } from './process.js'
import { openRoot, pathInside } from './root.js'

interface Call {
  readonly signal: AbortSignal
  readonly idempotencyKey: string
}

export async function run(
  settings: HostToolSettings,
  { cmd, args = [], opts }: BashArgs,
  { signal, idempotencyKey }: Call,
): Promise<string> {
  const { rootDir, allowNetwork, maxOutputBytes } = settings
  const timeoutMs = Math.min(opts?.timeoutMs ?? settings.timeoutMs, settings.timeoutMs)
  const zero = [cmd, ...args].find((word) => word.includes('\0'))
  if (zero !== undefined)
    throw new SkeinError(
      'TOOL_INPUT_INVALID',
      `${JSON.stringify(zero.slice(0, 100))} has a zero byte, which no argument can have.`,
    )
  if (!allowNetwork) checkNetwork(cmd, args)
  const root = await openRoot(rootDir)
  const path = opts?.cwd ?? '.'
  const cwd = await touching(path, async () => {
    const real = await pathInside(root, path)
    if (!(await stat(real)).isDirectory())
      throw new SkeinError('TOOL_PATH_INVALID', `${path} is not a directory; a command cannot run in it.`)
    return real
  })
  const env = { ...settings.env, SKEIN_IDEMPOTENCY_KEY: idempotencyKey }
  const {
    exitCode,
    signal: killed,
    output,
  } = await runProcess({ cmd, args, cwd, home: root.dir, env, fence: settings, timeoutMs, maxOutputBytes, signal })
  if (exitCode === 0) return output
  throw new SkeinError(
    'TOOL_COMMAND_FAILED',
    `${cmd} ${how(exitCode, killed)}${output === '' ? ' and said nothing' : `:\n${output}`}`,
    { data: { exitCode } },
  )
}

function how(exitCode: number | null, killed: string | null): string {
  if (exitCode === null) return `was ended by ${killed ?? 'a signal'}`
  const signal = signalOf(exitCode)
  return `exited with ${exitCode}${signal === undefined ? '' : ` (${signal})`}`
}
