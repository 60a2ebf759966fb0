/**
 * Namespaces of Linux around a command, where the machine gives them to the host's user: of processes, so that
 * whatever it started ends with it and it sees no other process; of the network, so that there is none but its own
 * loopback.
 *
 * - What is there is tried, once per thread and kind, not concluded: kernels, containers and security modules all
 *   have a say.
 * - A command in a namespace of processes can leave its group and its session; it cannot leave the namespace, and the
 *   kernel ends everything in it with its first process.
 */
import { spawn } from 'node:child_process'
import { access, constants, stat } from 'node:fs/promises'
import { delimiter, resolve } from 'node:path'
import { systemClock } from '../../src/core/clock.js'
import { SkeinError } from '../../src/core/failure.js'
import type { Isolation } from '../../src/tools/own/host-tools.js'

export interface Fence {
  /** It has a namespace of processes. */
  readonly pids: boolean
  /** It has a network of its own, with nothing in it. */
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

/** By what was asked for. */
const known = new Map<string, Promise<Fence>>()

export async function fenceFor(wanted: FenceOptions): Promise<Fence> {
  const { isolation, allowNetwork } = wanted
  if (isolation === 'none') return none
  const key = JSON.stringify([allowNetwork, wanted.uid, wanted.gid])
  const finding =
    known.get(key) ?? findPrograms().then((programs) => firstThatWorks(programs ? fencesFor(wanted, programs) : []))
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

/** Who makes the namespaces, and how the command is made to have no more rights than its user. */
interface Maker {
  readonly unshare: readonly string[]
  readonly user: readonly string[]
}

/** Of util-linux, and a shell: by their paths, because the command may have a PATH of its own. */
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
function fencesFor(wanted: FenceOptions, { unshare: program, setpriv, sh }: Programs): readonly Fence[] {
  const { allowNetwork } = wanted
  const pids = ['--pid', '--fork', '--kill-child', '--mount-proc']
  const net = allowNetwork ? [] : ['--net']
  const up = allowNetwork ? '' : 'PATH="$PATH:/usr/sbin:/sbin" ip link set lo up 2>/dev/null; '
  // The first process of a namespace ignores signals that it does not handle, and orphans come to it: no place for a
  // command.
  const whole = makersFor(wanted, setpriv).map(({ unshare, user }) => ({
    pids: true,
    net: !allowNetwork,
    before: [program, ...unshare, ...pids, ...net, '--', sh, '-c', `${up}"$@"; exit $?`, 'sh', ...user],
  }))
  if (allowNetwork) return whole
  const unconnected = makersFor(wanted, setpriv).map(({ unshare, user }) => ({
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
  // With one user in it, a user namespace has no other to become.
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
 * The file that a command's name means: a shell in between would take some names for its own. Undefined: there is none.
 */
export async function executableOf(
  cmd: string,
  { cwd, path }: { readonly cwd: string; readonly path: string },
): Promise<Executable | undefined> {
  const places = cmd.includes('/')
    ? [resolve(cwd, cmd)]
    : path.split(delimiter).map((folder) => resolve(cwd, folder, cmd))
  let refused: string | undefined
  for (const file of places) {
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
