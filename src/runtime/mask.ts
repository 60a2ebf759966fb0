/**
 * Masks on the way into a thread: whatever is recorded or told has been through here, so that nothing needs to be masked
 * later (F3). Bodies mask their own secrets before (workers/worksheet.ts); this is for what came some other way.
 *
 * MA1 Text, args, results and failures are masked; names of tools, ids and what is sealed are as they are.
 */
import type { Command } from '../core/command.js'
import type { Outcome } from '../core/effect.js'
import type { Failure } from '../core/failure.js'
import { toJson } from '../core/json.js'
import type { Json } from '../core/json.js'
import type { Redactor } from '../core/redact.js'
import type { ModelReply } from '../models/port.js'
import type { Returned, Said } from '../pool/port.js'

export function maskFailure(redactor: Redactor, { message, data, cause, ...rest }: Failure): Failure {
  return {
    ...rest,
    message: redactor.text(message),
    ...(data && { data: redactor.json(toJson(data)) as NonNullable<Failure['data']> }),
    ...(cause && { cause: maskFailure(redactor, cause) }),
  }
}

function maskOutcome(redactor: Redactor, outcome: Outcome): Outcome {
  return outcome.ok ? { ...outcome, value: redactor.json(outcome.value) } : { ok: false, failure: maskFailure(redactor, outcome.failure) }
}

export function maskSaid(redactor: Redactor, said: Said): Said {
  return said.type === 'log' ? { ...said, text: redactor.text(said.text) } : { ...said, event: redactor.json(said.event) }
}

/** Before anything is recorded of it. */
export function maskReply(redactor: Redactor, reply: ModelReply): ModelReply {
  return {
    ...reply,
    text: redactor.text(reply.text),
    ...(reply.reasoning !== undefined && { reasoning: redactor.text(reply.reasoning) }),
    // The text of JSON is JSON with a mask in it, too.
    calls: reply.calls.map(({ tool, args }) => ({ tool, args: typeof args === 'string' ? redactor.text(args) : redactor.json(toJson(args)) })),
  }
}

/** What came of a body, before anything is kept of it. The bytes of its files are its own. */
export function maskReturned(redactor: Redactor, returned: Returned): Returned {
  const { outcome, text, changes, queued, messages, preliminaries } = returned
  return {
    ...returned,
    outcome: maskOutcome(redactor, outcome),
    ...(text !== undefined && { text: redactor.text(text) }),
    ...(changes?.values && { changes: { ...changes, values: changes.values.map((change) => (change.value === undefined ? change : { ...change, value: redactor.json(change.value) })) } }),
    ...(queued && { queued: queued.map(({ tool, args }) => ({ tool, args: redactor.json(args) })) }),
    ...(messages && { messages: messages.map((message) => ({ ...message, text: redactor.text(message.text) })) }),
    ...(preliminaries && { preliminaries: preliminaries.map((event) => redactor.json(event)) }),
  }
}

/** What someone says to a thread, without the secrets that the thread knows. */
export function maskCommand(redactor: Redactor, command: Command): Command {
  switch (command.kind) {
    case 'message':
      return { ...command, text: redactor.text(command.text) }
    case 'answer':
      return { ...command, output: plain(redactor, command.output) }
    case 'call':
      return { ...command, args: plain(redactor, command.args) }
    case 'decide':
      return { ...command, ...(command.args !== undefined && { args: plain(redactor, command.args) }), ...(command.comment !== undefined && { comment: redactor.text(command.comment) }) }
    case 'cancel':
    case 'pause':
    case 'terminate':
      return { ...command, ...(command.reason !== undefined && { reason: redactor.text(command.reason) }) }
    case 'report':
      return { ...command, outcome: command.outcome.ok ? { ...command.outcome, value: plain(redactor, command.outcome.value) } : { ok: false, failure: maskFailure(redactor, command.outcome.failure) } }
    default:
      return command
  }
}

type CommandJson = Extract<Command, { kind: 'answer' }>['output']

/** The same with types that a command can have: both are JSON. */
function plain(redactor: Redactor, value: CommandJson): CommandJson {
  const clean = redactor.json(value as Json)
  return clean === value ? value : (JSON.parse(JSON.stringify(clean)) as CommandJson)
}
