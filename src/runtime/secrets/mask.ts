/**
 * Masks for what enters a thread: what is recorded or published has been through one of these places, so that nothing
 * needs to be masked when it is read (F3). A thread is masked with every secret that it can reach (`redactor` of
 * environment.ts), a body in its worker with those of its call.
 *
 * - resolve/commands.ts, `maskCommand`: what callers and other threads send, before it is decided.
 * - effects/model-call.ts, `maskReply`: a reply, before it is recorded; effects/model-stream.ts: the same text as it
 *   streams, which cannot wait for the whole.
 * - workers/body: what a body writes, logs and returns. Bytes of files are masked there alone: they do not pass here.
 * - effects/tool-job.ts, `maskOutput`, and effects/tool-call.ts, `maskReturned`: the output and the result of a body
 *   again, for secrets of the thread that its tool does not declare.
 * - Operators: debugging.ts (`maskThrown`), pool/processes/worker-secrets.ts. Ids and sealed values are never masked.
 */
import { defined } from '../../core/defined.js'
import { toJson } from '../../core/json.js'
import type { Changes } from '../../core/records/change.js'
import type { Command } from '../../core/records/command.js'
import { maskProviderParts } from '../../core/records/provider-parts.js'
import { maskOutcome } from '../../core/redact/outcome.js'
import type { Redactor } from '../../core/redact/redact.js'
import type { ModelReply } from '../../models/port.js'
import type { Returned, ToolOutput } from '../../pool/port.js'

export function maskOutput(redactor: Redactor, output: ToolOutput): ToolOutput {
  return output.type === 'log'
    ? { ...output, text: redactor.text(output.text) }
    : { ...output, event: redactor.json(output.event) }
}

export function maskReply(redactor: Redactor, reply: ModelReply): ModelReply {
  const { kept: parts, ...rest } = reply
  const masked = {
    ...rest,
    text: redactor.text(reply.text),
    ...defined({ reasoning: maskText(redactor, reply.reasoning) }),
    // Args may be the text of JSON, and stay that: a mask needs no escape.
    calls: reply.calls.map(({ tool, args }) => ({
      tool: redactor.text(tool),
      args: typeof args === 'string' ? redactor.text(args) : redactor.json(toJson(args)),
    })),
  }
  const kept =
    parts &&
    maskProviderParts(parts, {
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

/** A body's result. The bytes of its files were masked in the worker. */
export function maskReturned(redactor: Redactor, returned: Returned): Returned {
  const { outcome, text, changes, queued, messages, told, preliminaries } = returned
  return {
    ...returned,
    outcome: maskOutcome(redactor, outcome),
    ...defined({
      text: maskText(redactor, text),
      changes: changes && maskChanges(redactor, changes),
      queued: queued?.map(({ tool, args }) => ({ tool: redactor.text(tool), args: redactor.json(args) })),
      messages: messages?.map((message) => ({ ...message, text: redactor.text(message.text) })),
      told: told?.map((saying) => maskSaying(redactor, saying)),
      preliminaries: preliminaries?.map((event) => redactor.json(event)),
    }),
  }
}

/** What a caller or another thread sends. */
export function maskCommand(redactor: Redactor, command: Command): Command {
  switch (command.kind) {
    case 'message':
      return { ...command, text: redactor.text(command.text), ...maskContext(redactor, command) }
    case 'edit':
      return { ...command, ...defined({ text: maskText(redactor, command.text) }) }
    case 'create':
      return { ...command, ...maskContext(redactor, command), ...maskFirst(redactor, command) }
    case 'change':
      return { ...command, changes: maskChanges(redactor, command.changes) }
    case 'call':
      return { ...command, tool: redactor.text(command.tool), args: redactor.json(command.args) }
    case 'tell':
      return { ...command, words: command.words.map((word) => maskSaying(redactor, word)) }
    case 'report':
      return {
        ...command,
        outcome: maskOutcome(redactor, command.outcome),
        ...defined({ note: maskText(redactor, command.note) }),
      }
    default:
      return maskOrder(redactor, command)
  }
}

type Order = Exclude<Command, { readonly kind: 'message' | 'edit' | 'create' | 'change' | 'call' | 'tell' | 'report' }>

/** What a person decides about a thread. */
function maskOrder(redactor: Redactor, command: Order): Command {
  switch (command.kind) {
    case 'answer':
      return { ...command, output: redactor.json(command.output), ...defined({ by: maskText(redactor, command.by) }) }
    case 'decide':
      return { ...command, ...maskDecision(redactor, command) }
    case 'resolve':
      return { ...command, ...maskResolution(redactor, command) }
    case 'grant':
      return { ...command, ...defined({ by: maskText(redactor, command.by) }) }
    case 'cancel':
    case 'pause':
    case 'terminate':
      return { ...command, ...defined({ reason: maskText(redactor, command.reason) }) }
    default:
      return plainOrder(command)
  }
}

/** Ids, sealed values, and what a host recorded itself. The compiler asks for every new kind. */
function plainOrder(
  command: CommandOf<'resume' | 'delete' | 'provide' | 'env' | 'receipt' | 'requeue' | 'drop' | 'rewind'>,
): Command {
  return command
}

type CommandOf<Kind extends Command['kind']> = Extract<Command, { kind: Kind }>

function maskText(redactor: Redactor, text: string | undefined): string | undefined {
  return text === undefined ? undefined : redactor.text(text)
}

/** Of a child, as its body or its mail has it. */
function maskSaying<Saying extends { readonly text: string } | { readonly status: string }>(
  redactor: Redactor,
  saying: Saying,
): Saying {
  return 'status' in saying
    ? { ...saying, status: redactor.text(saying.status) }
    : { ...saying, text: redactor.text(saying.text) }
}

/** What a thread begins with. */
function maskFirst(
  redactor: Redactor,
  { message, changes }: CommandOf<'create'>,
): Pick<CommandOf<'create'>, 'message' | 'changes'> {
  return defined({
    message: message && { ...message, text: redactor.text(message.text) },
    changes: changes && maskChanges(redactor, changes),
  })
}

function maskResolution(
  redactor: Redactor,
  { value, comment, by }: CommandOf<'resolve'>,
): Pick<CommandOf<'resolve'>, 'value' | 'comment' | 'by'> {
  return defined({
    value: value === undefined ? undefined : redactor.json(value),
    comment: maskText(redactor, comment),
    by: maskText(redactor, by),
  })
}

function maskDecision(
  redactor: Redactor,
  { args, comment, by }: CommandOf<'decide'>,
): Pick<CommandOf<'decide'>, 'args' | 'comment' | 'by'> {
  return defined({
    args: args === undefined ? undefined : redactor.json(args),
    comment: maskText(redactor, comment),
    by: maskText(redactor, by),
  })
}

type Seeds = Pick<CommandOf<'message'>, 'context'>

function maskContext(redactor: Redactor, { context }: Seeds): Seeds {
  return context
    ? { context: Object.fromEntries(Object.entries(context).map(([name, value]) => [name, redactor.json(value)])) }
    : {}
}

function maskChanges(redactor: Redactor, { files, values, schedules }: Changes): CommandOf<'change'>['changes'] {
  return defined({
    files: files && [...files],
    values: values?.map(({ key, value }) => ({
      key: redactor.text(key),
      ...defined({ value: value === undefined ? undefined : redactor.json(value) }),
    })),
    schedules: schedules?.map((change) =>
      change.op === 'add' ? { ...change, tool: redactor.text(change.tool), args: redactor.json(change.args) } : change,
    ),
  })
}
