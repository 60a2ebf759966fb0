/**
 * Mail: a command on its way to a thread, sealed by its sender and opened by its reader. It may have been written by
 * another process of another version, so it is checked when it is opened.
 */
import { z } from 'zod'
import type { App } from '../../agent/app.js'
import { agentNames } from '../../agent/callable.js'
import type { Mail, StoredMail } from '../../backend/port.js'
import { commandSchema, parseCommand } from '../../core/records/command.js'
import type { Command } from '../../core/records/command.js'
import { failure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { isObject } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import { lazy } from '../../core/schema.js'

/** For the reason: a command that is one is checked by its kind alone. */
const bodySchema = lazy(() => z.object({ command: commandSchema() }))

/** A command is plain JSON; its type is only more precise than `Json` can say. The backend copies it. */
export function sealMail(command: Command): Json {
  return { command } as unknown as Json
}

/** The command that was sealed in this process. */
export function commandIn(body: Json): Command | undefined {
  return isObject(body) && isObject(body['command']) ? (body['command'] as unknown as Command) : undefined
}

/** The command, if this is one. */
export function readMail(body: Json): Command | undefined {
  return isObject(body) ? parseCommand(body['command'] ?? null) : undefined
}

/** The command, or why it is refused before the thread is asked. */
export function openMail(mail: StoredMail, app: App): { readonly command: Command } | { readonly refused: Failure } {
  if (mail.damaged !== undefined) {
    return {
      refused: failure(
        'JOURNAL_CORRUPT',
        `mail ${mail.number} (${mail.id}) is damaged in the store (${mail.damaged}) and was not carried out; send ` +
          `it again`,
      ),
    }
  }
  const command = readMail(mail.body)
  if (command) return openCommand(command, app)
  const { error } = bodySchema().safeParse(mail.body)
  const why = error ? z.prettifyError(error) : 'it is none'
  return { refused: failure('BAD_OPTION', `this is not a command that Skein knows: ${why}`) }
}

/** The command, unless it creates a thread whose agent is not there. */
export function openCommand(command: Command, app: App): { readonly command: Command } | { readonly refused: Failure } {
  if (command.kind === 'create' && !app.agents.has(command.agent)) {
    const known = agentNames(app).join(', ') || 'none'
    return {
      refused: failure('UNKNOWN_AGENT', `the app has no agent ${JSON.stringify(command.agent)}; it has: ${known}`),
    }
  }
  return { command }
}

/** Whether it holds sealed values: then the vault must be open before it is decided. */
export function bringsKeys({ body }: Mail): boolean {
  const command = isObject(body) ? body['command'] : undefined
  return isObject(command) && ('keys' in command || 'env' in command)
}
