/**
 * Masks on the way into a thread: whatever is recorded or told has been through here, so that nothing needs to be
 * masked later (F3). Bodies mask their own secrets before (workers/body/call-recorder.ts); this is for what came some
 * other way.
 *
 * - Text, args, results, failures, keys and the names that a model or a body gives are masked; ids and what is
 *   sealed are as they are.
 */
import { defined } from '../../core/defined.js'
import type { Changes } from '../../core/records/change.js'
import type { Command } from '../../core/records/command.js'
import type { Outcome } from '../../core/effect.js'
import type { Failure } from '../../core/failure.js'
import { toJson } from '../../core/json.js'
import { maskProviderParts } from '../../core/records/provider-parts.js'
import type { Redactor } from '../../core/redact/redact.js'
import type { ModelReply } from '../../models/port.js'
import type { Returned, ToolOutput } from '../../pool/port.js'

export function maskFailure(redactor: Redactor, { message, data, cause, ...rest }: Failure): Failure {
  return {
    ...rest,
    message: redactor.text(message),
    ...(data && { data: redactor.json(toJson(data)) as NonNullable<Failure['data']> }),
    ...(cause && { cause: maskFailure(redactor, cause) }),
  }
}

function maskOutcome(redactor: Redactor, outcome: Outcome): Outcome {
  return outcome.ok
    ? { ...outcome, value: redactor.json(outcome.value) }
    : { ok: false, failure: maskFailure(redactor, outcome.failure) }
}

export function maskOutput(redactor: Redactor, said: ToolOutput): ToolOutput {
  return said.type === 'log'
    ? { ...said, text: redactor.text(said.text) }
    : { ...said, event: redactor.json(said.event) }
}

/** Before anything is recorded of it. */
export function maskReply(redactor: Redactor, reply: ModelReply): ModelReply {
  const { kept: given, ...rest } = reply
  const masked = {
    ...rest,
    text: redactor.text(reply.text),
    ...(reply.reasoning !== undefined && { reasoning: redactor.text(reply.reasoning) }),
    // The text of JSON is JSON with a mask in it, too.
    calls: reply.calls.map(({ tool, args }) => ({
      tool: redactor.text(tool),
      args: typeof args === 'string' ? redactor.text(args) : redactor.json(toJson(args)),
    })),
  }
  const kept =
    given &&
    maskProviderParts(given, {
      before: reply,
      after: masked,
      mask: (text) => redactor.text(text),
      same: (index) => isSame(redactor, reply.calls[index]?.args),
      clean: (meta) => redactor.json(meta) === meta,
    })
  return { ...masked, ...defined({ kept }) }
}

function isSame(redactor: Redactor, args: unknown): boolean {
  if (typeof args === 'string') return redactor.text(args) === args
  const plain = toJson(args)
  return redactor.json(plain) === plain
}

/** What came of a body, before anything is kept of it. The bytes of its files are its own. */
export function maskReturned(redactor: Redactor, returned: Returned): Returned {
  const { outcome, text, changes, queued, messages, told, preliminaries } = returned
  return {
    ...returned,
    outcome: maskOutcome(redactor, outcome),
    ...(text !== undefined && { text: redactor.text(text) }),
    ...(changes && { changes: maskChanges(redactor, changes) }),
    ...(queued && {
      queued: queued.map(({ tool, args }) => ({ tool: redactor.text(tool), args: redactor.json(args) })),
    }),
    ...(messages && { messages: messages.map((message) => ({ ...message, text: redactor.text(message.text) })) }),
    ...(told && {
      told: told.map((saying) =>
        'status' in saying ? { status: redactor.text(saying.status) } : { ...saying, text: redactor.text(saying.text) },
      ),
    }),
    ...(preliminaries && { preliminaries: preliminaries.map((event) => redactor.json(event)) }),
  }
}

/** What someone says to a thread, without the secrets that the thread knows. */
export function maskCommand(redactor: Redactor, command: Command): Command {
  switch (command.kind) {
    case 'message':
      return { ...command, text: redactor.text(command.text), ...maskContext(redactor, command) }
    case 'edit':
      return { ...command, ...(command.text !== undefined && { text: redactor.text(command.text) }) }
    case 'create':
      return {
        ...command,
        ...maskContext(redactor, command),
        ...(command.message && { message: { ...command.message, text: redactor.text(command.message.text) } }),
      }
    case 'change':
      return { ...command, changes: maskChanges(redactor, command.changes) }
    case 'answer':
      return { ...command, output: redactor.json(command.output) }
    case 'call':
      return { ...command, tool: redactor.text(command.tool), args: redactor.json(command.args) }
    case 'decide':
      return {
        ...command,
        ...(command.args !== undefined && { args: redactor.json(command.args) }),
        ...(command.comment !== undefined && { comment: redactor.text(command.comment) }),
      }
    case 'grant':
      return { ...command, ...(command.by !== undefined && { by: redactor.text(command.by) }) }
    case 'cancel':
    case 'pause':
    case 'terminate':
      return { ...command, ...(command.reason !== undefined && { reason: redactor.text(command.reason) }) }
    case 'tell':
      return {
        ...command,
        words: command.words.map((word) =>
          'status' in word ? { status: redactor.text(word.status) } : { ...word, text: redactor.text(word.text) },
        ),
      }
    case 'report':
      return {
        ...command,
        outcome: command.outcome.ok
          ? { ...command.outcome, value: redactor.json(command.outcome.value) }
          : { ok: false, failure: maskFailure(redactor, command.outcome.failure) },
      }
    default:
      return command
  }
}

type Seeds = Pick<Extract<Command, { kind: 'message' }>, 'context'>

function maskContext(redactor: Redactor, { context }: Seeds): Seeds {
  return context
    ? { context: Object.fromEntries(Object.entries(context).map(([name, value]) => [name, redactor.json(value)])) }
    : {}
}

function maskChanges(
  redactor: Redactor,
  { files, values, schedules }: Changes,
): Extract<Command, { kind: 'change' }>['changes'] {
  return {
    ...(files && { files: [...files] }),
    ...(values && {
      values: values.map(({ key, value }) => ({
        key: redactor.text(key),
        ...(value !== undefined && { value: redactor.json(value) }),
      })),
    }),
    ...(schedules && {
      schedules: schedules.map((change) =>
        change.op === 'add'
          ? { ...change, tool: redactor.text(change.tool), args: redactor.json(change.args) }
          : change,
      ),
    }),
  }
}
