/** The message of a command: given, or read from stdin. */
import { fstatSync } from 'node:fs'
import { text } from 'node:stream/consumers'

/** Undefined when none was given and stdin is a terminal or /dev/null. An empty stdin is no message either. */
export async function messageFrom(given: string | undefined): Promise<string | undefined> {
  if (given !== undefined && given !== '-') return given
  if (given === undefined && !piped()) return undefined
  const read = (await text(process.stdin)).replace(/\r?\n$/, '')
  return read.trim() === '' ? undefined : read
}

/** "Not a terminal" would be too much: under cron and systemd stdin is /dev/null. */
function piped(): boolean {
  const stdin = fstatSync(0)
  return stdin.isFIFO() || stdin.isFile() || stdin.isSocket()
}
