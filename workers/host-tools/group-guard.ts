/**
 * Ends the commands of a worker that cannot end them itself any more: it may be killed in the middle of anything, and
 * so may the host (`kill -9`). A guard process knows which process groups run, and holds one end of a pipe whose other
 * end closes when the worker ends, however that happens.
 *
 * - When a worker or its host ends, all groups that it had begun and not ended are killed.
 * - A group that has ended is forgotten, because its number may be reused.
 */
import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { markName } from './marked-processes.js'

/**
 * Reads lines `+ <group> <mark>` and `- <group> <mark>`, with `-` for what is not known. At the end of its input it
 * kills the groups, then the processes that left them and have the mark.
 */
const script = `
IFS='
'
held=
while read -r line; do
  each=\${line#* }
  case $line in
    +*) held="$held$IFS$each" ;;
    -*)
      rest=
      for one in $held; do [ "$one" = "$each" ] || rest="$rest$IFS$one"; done
      held=$rest
      ;;
  esac
done
for each in $held; do
  group=\${each% *} mark=\${each#* }
  [ "$group" = "-" ] || kill -9 "-$group"
  [ "$mark" = "-" ] || for round in 1 2 3 4 5; do
    for seen in $(grep -lszxF "${markName}=$mark" /proc/[0-9]*/environ); do
      seen=\${seen#/proc/}
      kill -9 "\${seen%/environ}"
    done
  done
done
`

let guard: Writable | undefined

export interface GuardedGroup {
  /** The process has begun, with this group. */
  begun(group: number): void
  ended(): void
}

/** To be called before the process is started, so that its mark is known if the host ends right then. */
export function guardGroup(mark: string | undefined): GuardedGroup {
  const entries: string[] = []
  const add = (group: string): void => {
    const entry = `${group} ${mark ?? '-'}\n`
    entries.push(entry)
    send(`+ ${entry}`)
  }
  add('-')
  return {
    begun: (group) => add(String(group)),
    ended: () => entries.forEach((entry) => send(`- ${entry}`)),
  }
}

function send(text: string): void {
  guard ??= start()
  guard.write(text)
}

function start(): Writable {
  // In a group of its own, so that signals of the host's terminal do not reach it.
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' }
  const child = spawn('sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env })
  const { stdin } = child
  const forget = (): void => {
    if (guard === stdin) guard = undefined
  }
  child.once('error', forget)
  child.once('exit', forget)
  stdin.on('error', forget)
  // It must not keep this process alive.
  child.unref()
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  return stdin
}
