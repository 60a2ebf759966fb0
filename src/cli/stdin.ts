/** What a person types or pipes in: messages, and values that may be JSON. */
import { text } from 'node:stream/consumers'
import type { CliProcess } from './process.js'

/**
 * A message from the command line; `-` reads it from stdin. It may be empty, or left out, where files go with it: they
 * are a message by themselves.
 */
export async function readMessage(
  shell: CliProcess,
  argument: string | undefined,
  files: readonly string[] = [],
): Promise<string> {
  const message = argument === '-' ? await piped(shell) : (argument ?? '')
  if (message.trim() !== '' || files.length > 0) return message
  const { SkeinError } = await import('../index.js')
  throw new SkeinError('BAD_OPTION', 'the message is empty; give it a text, or files with --attach')
}

/** The message that is piped in; undefined when stdin is a terminal, /dev/null or empty. */
export async function pipedMessage(shell: CliProcess): Promise<string | undefined> {
  if (!shell.piped()) return undefined
  const message = await piped(shell)
  return message.trim() === '' ? undefined : message
}

/** All of stdin, without its last line end. */
export async function piped({ stdin }: CliProcess): Promise<string> {
  return (await text(stdin)).replace(/\r?\n$/, '')
}

/** What a person types for a value: JSON where it parses as JSON, else text. */
export function jsonOrText(typed: string): unknown {
  try {
    return JSON.parse(typed)
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return typed
    throw thrown
  }
}
