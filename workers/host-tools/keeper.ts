/**
 * Ends what a thread started when the thread cannot do it any more. A thread can be ended in the middle of anything,
 * and so can the host (`kill -9`); a promise of theirs to kill a command would end with them. So a process beside
 * them knows which groups run, and holds one end of a pipe whose other end closes when the thread does, however that
 * happens.
 *
 * - When a thread or its host ends, all groups that it had begun and not ended are killed.
 * - A group that has ended is forgotten first: its number may be another's by then.
 */
import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { markName } from './stray.js'

/**
 * Lines in: `+ <group> <mark>` and `- <group> <mark>`; `-` where one of them is not known. After the last one it
 * acts: groups, then those who left them with the mark on them.
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

let line: Writable | undefined

export interface GuardedGroup {
  /** It has begun, as this group. */
  begun(group: number): void
  ended(): void
}

/** Called before the process is started: should the host end right then, its mark is known. */
export function guardGroup(mark: string | undefined): GuardedGroup {
  const entries: string[] = []
  const add = (group: string): void => {
    const entry = `${group} ${mark ?? '-'}\n`
    entries.push(entry)
    tell(`+ ${entry}`)
  }
  add('-')
  return {
    begun: (group) => add(String(group)),
    ended: () => entries.forEach((entry) => tell(`- ${entry}`)),
  }
}

function tell(what: string): void {
  line ??= start()
  line.write(what)
}

function start(): Writable {
  // In a group of its own: what is typed at the host's terminal is not for it.
  const env = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' }
  const keeper = spawn('sh', ['-c', script], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env })
  const { stdin } = keeper
  const forget = (): void => {
    if (line === stdin) line = undefined
  }
  keeper.once('error', forget)
  keeper.once('exit', forget)
  stdin.on('error', forget)
  // It waits for its thread, not the other way round.
  keeper.unref()
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref()
  return stdin
}
