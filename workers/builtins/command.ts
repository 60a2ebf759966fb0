/**
 * Translates a command and its arguments for the virtual shell: one word that it does not parse, and arguments that it
 * does not change. Options of `sh` and `bash` that the virtual ones do not know (`-lc`) are translated, too.
 */

export interface ShellCommand {
  readonly cmd: string
  readonly args: readonly string[]
}

const shells: ReadonlySet<string> = new Set(['sh', 'bash', '/bin/sh', '/bin/bash', '/usr/bin/sh', '/usr/bin/bash'])

/** Options that the script itself can set. */
const settable = /[aefnuvx]/

export function toCommand(cmd: string, args: readonly string[]): ShellCommand {
  return shells.has(cmd) ? shellCommand(cmd, args) : { cmd: quoted(cmd), args }
}

function shellCommand(cmd: string, args: readonly string[]): ShellCommand {
  let letters = ''
  const long: string[] = []
  let at = 0
  for (; at < args.length; at++) {
    const arg = args[at] ?? ''
    if (arg === '--') {
      at++
      break
    }
    // A login or interactive shell is no different here.
    if (/^-[a-z]+$/i.test(arg)) {
      letters += arg.slice(1)
      if (arg.includes('o')) long.push(args[++at] ?? '')
    } else if (!/^--(login|norc|noprofile|posix)$/.test(arg)) break
    if (letters.includes('c')) {
      at++
      break
    }
  }
  const rest = args.slice(at)
  if (!letters.includes('c')) return { cmd: quoted(cmd), args: rest }
  const [script = '', ...words] = rest
  const settings = [
    ...[...letters].filter((letter) => settable.test(letter)).map((letter) => `set -${letter}`),
    ...long.map((name) => `set -o ${quoted(name)}`),
  ]
  return { cmd: quoted(cmd), args: ['-c', [...settings, script].join('\n'), ...words] }
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`
