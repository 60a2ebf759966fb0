/** The message of a command: given, or read from stdin. */
import { fstatSync } from 'node:fs'
import { text } from 'node:stream/consumers'

/** A message that must be there; `-` reads it from stdin. */
export async function givenMessage(given: string): Promise<string> {
  const message = given === '-' ? await piped() : given
  if (message.trim() !== '') return message
  const { SkeinError } = await import('../index.js')
  throw new SkeinError('BAD_OPTION', 'the message is empty')
}

/** A message that was not given: undefined when stdin is a terminal, /dev/null or empty. */
export async function pipedMessage(): Promise<string | undefined> {
  // "Not a terminal" would be too much: under cron and systemd stdin is /dev/null.
  const stdin = fstatSync(0)
  if (!stdin.isFIFO() && !stdin.isFile() && !stdin.isSocket()) return undefined
  const message = await piped()
  return message.trim() === '' ? undefined : message
}

/** All of stdin, without its last line end. */
export async function piped(): Promise<string> {
  return (await text(process.stdin)).replace(/\r?\n$/, '')
}
