/** The message of a command: given, or read from stdin. */
import { text } from 'node:stream/consumers'
import type { CliProcess } from './process.js'

/** A message that must be there; `-` reads it from stdin. */
export async function givenMessage(shell: CliProcess, given: string): Promise<string> {
  const message = given === '-' ? await piped(shell) : given
  if (message.trim() !== '') return message
  const { SkeinError } = await import('../index.js')
  throw new SkeinError('BAD_OPTION', 'the message is empty')
}

/** A message that was not given: undefined when stdin is a terminal, /dev/null or empty. */
export async function pipedMessage(shell: CliProcess): Promise<string | undefined> {
  if (!shell.piped()) return undefined
  const message = await piped(shell)
  return message.trim() === '' ? undefined : message
}

/** All of stdin, without its last line end. */
export async function piped({ stdin }: CliProcess): Promise<string> {
  return (await text(stdin)).replace(/\r?\n$/, '')
}
