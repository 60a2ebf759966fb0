/**
 * Linux namespaces around a command, if the host's user may create them: a PID namespace, so that everything it started
 * ends with it and it sees no other process; a network namespace, so that it has only its own loopback.
 *
 * - Availability is tried out, once per worker and kind of fence: kernels, containers and security modules all decide.
 * - A command can leave its group and its session, but not its PID namespace, and the kernel ends everything in it with
 *   its first process.
 */
import { spawn } from 'node:child_process'
import { access, constants, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { systemClock } from '../../src/core/clock.js'
import { SkeinError } from '../../src/core/failure.js'
import type { Isolation } from '../../src/tools/own/host-tools.js'

export interface Fence {
  /** It has a PID namespace. */
  readonly pids: boolean
  /** It has a network namespace. */
  readonly net: boolean
  /** Put before the command's own executable and arguments. */
  readonly before: readonly string[]
}

export interface FenceOptions {
  readonly isolation: Isolation
  readonly allowNetwork: boolean
  /** The user that the command runs as, where it is not the host's. */
  readonly uid?: number
  readonly gid?: number
}

const none: Fence = { pids: false, net: false, before: [] }
const trialMs = 5_000

/** Fences that were tried, by the options that matter. */
const known = new Map<string, Promise<Fence>>()

export async function fenceFor(options: FenceOptions): Promise<Fence> {
  const { isolation, allowNetwork } = options
  if (isolation === 'none') return none
  const key = JSON.stringify([allowNetwork, options.uid, options.gid])
  const finding =
    known.get(key) ?? findPrograms().then((programs) => firstThatWorks(programs ? fencesFor(options, programs) : []))
  known.set(key, finding)
  const found = await finding
  if (isolation === 'required' && !(found.pids && (found.net || allowNetwork))) {
    const why = 'this machine gives no namespaces to the user of this host, so no command is run'
    throw new SkeinError(
      'BAD_OPTION',
      `hostTools({ isolation: 'required' }): ${why}. Run the host where unshare --pid --net works, or leave ` +
        `isolation out.`,
    )
  }
  return found
}

/** How the namespaces are created, and how the command then drops the rights that this took. */
interface Maker {
  readonly unshare: readonly string[]
  readonly user: readonly string[]
}

/** Paths of util-linux and of a shell: the command may have another PATH. */
interface Programs {
  readonly unshare: string
  readonly setpriv: string
  readonly sh: string
}

async function findPrograms(): Promise<Programs | undefined> {
  if (process.platform !== 'linux') return undefined
  const path = [process.env['PATH'] ?? '', '/usr/bin', '/bin', '/usr/sbin', '/sbin'].join(delimiter)
  const [unshare, setpriv, sh] = await Promise.all(
    ['unshare', 'setpriv', 'sh'].map((name) => executableOf(name, { cwd: '/', path })),
  )
  return unshare?.allowed && setpriv?.allowed && sh?.allowed
    ? { unshare: unshare.file, setpriv: setpriv.file, sh: sh.file }
    : undefined
}

/** Best first. */
function fencesFor(options: FenceOptions, { unshare: program, setpriv, sh }: Programs): readonly Fence[] {
  const { allowNetwork } = options
  const pids = ['--pid', '--fork', '--kill-child', '--mount-proc']
  const net = allowNetwork ? [] : ['--net']
  const up = allowNetwork ? '' : 'PATH="$PATH:/usr/sbin:/sbin" ip link set lo up 2>/dev/null; '
  // A shell is the first process: that one ignores signals it does not handle, and adopts orphans.
  const whole = makersFor(options, setpriv).map(({ unshare, user }) => ({
    pids: true,
    net: !allowNetwork,
    before: [program, ...unshare, ...pids, ...net, '--', sh, '-c', `${up}"$@"; exit $?`, 'sh', ...user],
  }))
  if (allowNetwork) return whole
  const unconnected = makersFor(options, setpriv).map(({ unshare, user }) => ({
    pids: false,
    net: true,
    before: [program, ...unshare, ...net, '--', sh, '-c', `${up}exec "$@"`, 'sh', ...user],
  }))
  return [...whole, ...unconnected]
}

function makersFor({ uid, gid }: FenceOptions, setpriv: string): readonly Maker[] {
  const isOther = uid !== undefined || gid !== undefined
  const ids = [...(uid === undefined ? [] : [`--reuid=${uid}`]), ...(gid === undefined ? [] : [`--regid=${gid}`])]
  const root: Maker = { unshare: [], user: isOther ? [setpriv, ...ids, '--clear-groups', '--inh-caps=-all', '--'] : [] }
  // Only the current user is mapped, so that no other user is available in the namespace.
  const own: Maker = {
    unshare: ['--user', '--map-current-user', '--keep-caps'],
    user: [setpriv, '--inh-caps=-all', '--ambient-caps=-all', '--'],
  }
  return [...(process.getuid?.() === 0 ? [root] : []), ...(isOther ? [] : [own])]
}

async function firstThatWorks(fences: readonly Fence[]): Promise<Fence> {
  for (const fence of fences) if (await works(fence)) return fence
  return none
}

function works({ before }: Fence): Promise<boolean> {
  const [cmd = '', ...args] = before
  return new Promise((settle) => {
    const trial = spawn(cmd, [...args, '/bin/sh', '-c', 'exit 42'], { stdio: 'ignore' })
    const stopTimer = systemClock.wakeAt(systemClock.now() + trialMs, () => trial.kill('SIGKILL'))
    trial.once('error', () => {
      stopTimer()
      settle(false)
    })
    trial.once('exit', (code) => {
      stopTimer()
      settle(code === 42)
    })
  })
}

export interface Executable {
  readonly file: string
  readonly allowed: boolean
}

/**
 * The executable of a command, found without a shell, which would take some names for its own. Undefined if there is
 * none.
 */
export async function executableOf(
  cmd: string,
  { cwd, path }: { readonly cwd: string; readonly path: string },
): Promise<Executable | undefined> {
  const candidates = cmd.includes('/')
    ? [resolve(cwd, cmd)]
    : path.split(delimiter).map((folder) => resolve(cwd, folder, cmd))
  let refused: string | undefined
  for (const file of candidates) {
    const found = await stat(file).catch(() => undefined)
    if (!found?.isFile()) continue
    if (
      await access(file, constants.X_OK).then(
        () => true,
        () => false,
      )
    )
      return { file, allowed: true }
    refused ??= file
  }
  return refused === undefined ? undefined : { file: refused, allowed: false }
}
