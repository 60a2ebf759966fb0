/**
 * Which commands are refused when the network is not allowed. A policy that keeps an agent from the usual ways out, by what
 * the command says; not a wall: a program may open a connection without saying so.
 */
import { basename } from 'node:path'
import { SkeinError } from '../../src/core/failure.js'

const downloaders: ReadonlySet<string> = new Set(['curl', 'wget', 'npm', 'bun', 'pip'])
const remoteWords: ReadonlySet<string> = new Set(['push', 'pull', 'fetch', 'clone', 'remote'])
const shells: ReadonlySet<string> = new Set(['sh', 'bash', 'dash', 'zsh', 'ksh'])

export function checkNetwork(cmd: string, args: readonly string[]): void {
  check([cmd, ...args])
  if (!shells.has(basename(cmd))) return
  // A script is one arg to us and many commands to its shell.
  for (const script of args) for (const words of commandsOf(script)) check(words)
}

function check(words: readonly string[]): void {
  const [cmd = ''] = words
  const name = basename(cmd)
  const remote = name === 'git' ? words.find((word) => remoteWords.has(word)) : undefined
  if (remote !== undefined) {
    throw new SkeinError('TOOL_GIT_REMOTE_DISABLED', `git ${remote} reaches another machine, which is not allowed here. Work with the local repository.`)
  }
  const address = words.find((word) => /^https?:\/\//i.test(word))
  if (downloaders.has(name) || address !== undefined) {
    throw new SkeinError('TOOL_NETWORK_DISABLED', `${address ?? name} needs the network, which is not allowed here. Work with what is in the directory.`)
  }
}

/** The commands of a script, roughly: what separates commands splits it, what quotes words is dropped. */
function commandsOf(script: string): readonly (readonly string[])[] {
  return script
    .split(/[\n;|&()`{}]+/)
    .map((command) => command.split(/\s+/).map((word) => word.replaceAll(/["'\\]/g, '')))
    .map((words) => words.filter((word) => word !== '' && !/^\w+=/.test(word)))
}
