/**
 * Refuses commands that use the network where it is not allowed: the usual programs, also inside scripts and behind
 * programs that start others. It is advice for the model, not a barrier: only a network namespace (fence.ts) prevents
 * a program from opening connections.
 */
import { basename } from 'node:path'
import { SkeinError } from '../../src/core/failure.js'

const downloads = ['curl', 'wget', 'npm', 'bun', 'pip', 'pip3']
const connects = ['ssh', 'scp', 'sftp', 'ftp', 'telnet', 'nc', 'ncat', 'netcat']
const reaching: ReadonlySet<string> = new Set([...downloads, ...connects])
const remoteWords: ReadonlySet<string> = new Set(['push', 'pull', 'fetch', 'clone', 'remote'])
const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh', 'ash'])
/** Words of a shell before a command. */
const keywords: ReadonlySet<string> = new Set(['if', 'then', 'else', 'elif', 'do', 'while', 'until', '!', 'time'])

interface Wrapper {
  /** Letters and names of options that take the next word. */
  readonly takes?: readonly string[]
  /** Words of its own before the command. */
  readonly words?: number
}

/** Programs that start the command which follows their own words. */
const wrappers: Readonly<Record<string, Wrapper>> = {
  env: { takes: ['u', 'C', 'unset', 'chdir'] },
  nice: { takes: ['n', 'adjustment'] },
  ionice: { takes: ['c', 'n', 'class', 'classdata'] },
  timeout: { takes: ['s', 'k', 'signal', 'kill-after'], words: 1 },
  xargs: {
    takes: ['I', 'n', 'P', 'L', 'd', 'a', 'E', 's', 'arg-file', 'delimiter', 'max-args', 'max-procs', 'max-lines'],
  },
  stdbuf: { takes: ['i', 'o', 'e', 'input', 'output', 'error'] },
  sudo: { takes: ['u', 'g', 'h', 'p', 'C', 'D', 'user', 'group', 'chdir'] },
  doas: { takes: ['u', 'C'] },
  setpriv: {
    takes: ['reuid', 'regid', 'groups', 'inh-caps', 'ambient-caps', 'bounding-set', 'securebits', 'pdeathsig'],
  },
  unshare: { takes: ['S', 'G', 'R', 'w', 'setuid', 'setgid', 'root', 'wd'] },
  strace: { takes: ['o', 'e', 'p', 's', 'u', 'E'] },
  time: { takes: ['f', 'o', 'format', 'output'] },
  watch: { takes: ['n', 'interval'] },
  flock: { takes: ['w', 'E', 'timeout', 'conflict-exit-code'], words: 1 },
  taskset: { words: 1 },
  chrt: { takes: ['T', 'P', 'D'], words: 1 },
  chroot: { words: 1 },
  exec: { takes: ['a'] },
  ...Object.fromEntries(
    ['nohup', 'setsid', 'command', 'builtin', 'busybox', 'toybox', 'catchsegv', 'parallel'].map((name) => [name, {}]),
  ),
}

/** Commands within commands: more than anyone writes by hand. */
const deepest = 32

export function checkNetwork(cmd: string, args: readonly string[]): void {
  check([cmd, ...args], 0)
}

function check(words: readonly string[], depth: number): void {
  const [cmd = '', ...args] = words
  const name = basename(cmd)
  refuse(name, words)
  if (depth === deepest) throw tooDeep(name)
  const within = (inner: readonly string[]): void => check(inner, depth + 1)
  const checkScript = (script: string): void => commandsOf(script).forEach(within)
  // A script is one argument here, and many commands for its shell.
  if (shells.has(name)) args.forEach(checkScript)
  if (name === 'eval') checkScript(args.join(' '))
  if (name === 'env') splitStrings(args).forEach(checkScript)
  if (name === 'find') args.forEach((word, at) => /^-(exec|ok)(dir)?$/.test(word) && within(args.slice(at + 1)))
  // `command -v curl` asks whether there is one.
  const asksOnly = name === 'command' && /^-[vV]/.test(args[0] ?? '')
  const wrapper = Object.hasOwn(wrappers, name) && !asksOnly ? wrappers[name] : undefined
  const own = keywords.has(name) ? args : []
  const inner = wrapper ? afterOwnWords(args, wrapper) : own
  if (inner.length > 0) within(inner)
}

function tooDeep(name: string): SkeinError {
  const why =
    'starts a command that starts a command, too often to see whether it needs the network, which is not allowed here'
  return new SkeinError('TOOL_NETWORK_DISABLED', `${name} ${why}. Say it plainly.`)
}

function refuse(name: string, words: readonly string[]): void {
  const remote = name === 'git' ? words.find((word) => remoteWords.has(word)) : undefined
  if (remote !== undefined) {
    throw new SkeinError(
      'TOOL_GIT_REMOTE_DISABLED',
      `git ${remote} reaches another machine, which is not allowed here. Work with the local repository.`,
    )
  }
  const address = words.find((word) => /^https?:\/\//i.test(word))
  if (reaching.has(name) || address !== undefined) {
    throw new SkeinError(
      'TOOL_NETWORK_DISABLED',
      `${address ?? name} needs the network, which is not allowed here. Work with what is in the directory.`,
    )
  }
}

/** What is left of the words of a wrapper: the command that it starts. */
function afterOwnWords(args: readonly string[], { takes = [], words = 0 }: Wrapper): readonly string[] {
  let own = words
  for (let at = 0; at < args.length; at++) {
    const word = args[at] ?? ''
    if (word === '--') continue
    const option = /^(?:--([\w-]+)|-(\w))$/.exec(word)
    const name = option?.[1] ?? option?.[2]
    if (name !== undefined && takes.includes(name)) at++
    else if (!word.startsWith('-') && !/^\w+=/.test(word) && own-- === 0) return args.slice(at)
  }
  return []
}

/** `env -S 'one two'` splits an argument into words. */
function splitStrings(args: readonly string[]): readonly string[] {
  return args.flatMap((word, at) => {
    if (/^-\w*S$|^--split-string$/.test(word)) return args[at + 1] ?? []
    return (
      /^-\w*S(.+)$|^--split-string=(.+)$/
        .exec(word)
        ?.slice(1)
        .filter((text) => text !== undefined) ?? []
    )
  })
}

/** The commands of a script, roughly: what separates commands splits it, what quotes words is dropped. */
function commandsOf(script: string): readonly (readonly string[])[] {
  return script
    .split(/[\n;|&()`{}]+/)
    .map((command) => command.split(/\s+/).map((word) => word.replaceAll(/["'\\]/g, '')))
    .map((words) => words.filter((word) => word !== '' && !/^\w+=/.test(word)))
}
