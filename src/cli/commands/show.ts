/** `skein show`: one thread, its state and its last messages. */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { Failure, Message, SkeinClient, Thread, ThreadUsage } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { answersTo, waitingLine, waitingItems } from '../turn/waiting-for.js'
import { byteCount, clockTime, counted, dateTime, failureLine, oneLine, preview, spent } from '../format.js'
import { label, visible } from '../visible.js'
import type { CliOutput } from '../output.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { atLeastOne } from './ps.js'
import { speakerOf } from '../turn/call-line.js'
import { withClient } from '../store.js'

interface Options {
  readonly limit: number
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .option('--limit <n>', 'the last so many messages', atLeastOne, 20)
    .action((id: string, options: Options) =>
      runCommand(command, (context) =>
        withClient(context.store, (client) => show(context, client, { id, ...options })),
      ),
    )
}

async function show(
  { out, store }: CommandContext,
  client: SkeinClient,
  { id, limit }: Options & { readonly id: string },
): Promise<ExitCode> {
  const thread = await client.threads.get(id)
  const [info, usage, all, hosted, held] = await Promise.all([
    thread.info(),
    thread.usage(),
    thread.messages(),
    client.hosted(),
    thread.files.usage(),
  ])
  const files = { files: held.files, bytes: held.bytes }
  const failure = info.status === 'failed' || info.status === 'done' ? await lastFailure(thread) : undefined
  const messages = all.slice(-limit)
  if (out.mode === 'json') {
    out.json({ ...info, usage, files, hosted, ...defined({ failure }), messages, more: all.length > messages.length })
    return exitCode.ok
  }
  const fields = [
    ['thread', id],
    ['agent', info.agent],
    [
      'status',
      `${info.status}${info.reason === undefined ? '' : `: ${oneLine(info.reason, 500)}`}${!hosted && !info.rest ? ' (no host serves this store now)' : ''}`,
    ],
    ...(failure ? [['failure', failureLine(failure)]] : []),
    ...(info.tags.length > 0 ? [['tags', info.tags.join(', ')]] : []),
    ...(info.parent === undefined ? [] : [['parent', info.parent]]),
    ['created', dateTime(info.createdAt)],
    ['updated', dateTime(info.updatedAt)],
    ['spent', spent(usage.own)],
    ...spentBelow(usage),
    ...(files.files > 0 ? [['files', `${counted(files.files, 'file')}, ${byteCount(files.bytes)}`]] : []),
    ...waitingItems(info).flatMap((item) => [
      ['waits', waitingLine(item)],
      ...answersTo(store, item).map((command) => ['', command]),
    ]),
  ]
  for (const [name = '', value = ''] of fields) out.print(`${out.paint('dim', name.padEnd(8))} ${label(value)}\n`)
  if (all.length > messages.length)
    out.print(`\n${out.paint('dim', `… ${all.length - messages.length} earlier messages, see --limit`)}\n`)
  for (const message of messages) out.print(`\n${written(out, message)}`)
  return exitCode.ok
}

/** Why the last turn failed, if it did. */
async function lastFailure(thread: Thread): Promise<Failure | undefined> {
  let failure: Failure | undefined
  for await (const event of thread.events({ until: 'now' })) if (event.type === 'turn.ended') ({ failure } = event)
  return failure
}

function amounts({ left, reserved }: NonNullable<ThreadUsage['budget']>): string {
  const names = { tokens: 'tokens', costUsd: 'USD', toolCalls: 'tool calls', steps: 'steps' } as const
  const each = (Object.keys(names) as (keyof typeof names)[]).filter((kind) => left[kind] !== undefined)
  return each
    .map((kind) => `${left[kind] ?? 0} ${names[kind]} left${reserved[kind] ? `, ${reserved[kind]} reserved` : ''}`)
    .join(' · ')
}

/** Only where it says more: there are children, or several models. */
function spentBelow({ own, subtree, byModel, budget }: ThreadUsage): readonly (readonly string[])[] {
  const below =
    subtree.inputTokens > own.inputTokens || subtree.outputTokens > own.outputTokens || subtree.costUsd > own.costUsd
  return [
    ...(budget ? [['budget', amounts(budget)]] : []),
    ...(below ? [['subtree', spent(subtree)]] : []),
    ...(byModel.length > 1 ? byModel.map(({ model, ...usage }) => ['', `${visible(model)}: ${spent(usage)}`]) : []),
  ]
}

function written({ paint }: CliOutput, message: Message): string {
  const { role, text, at, calls = [], tool, failed, fromCache } = message
  const who = role === 'tool' ? `${failed ? '✗' : '✓'} ${label(tool ?? 'tool')}` : (speakerOf(message) ?? role)
  const head = `${paint(failed ? 'red' : 'bold', who)} ${paint('dim', `${clockTime(at)}${fromCache ? ' cached' : ''}`)}\n`
  const body = role === 'tool' ? preview(text, 2_000) : visible(text).trimEnd()
  const asked = calls
    .map((call) => `${paint('dim', '→')} ${label(call.tool)} ${paint('dim', preview(call.args, 500))}\n`)
    .join('')
  return `${head}${body === '' ? '' : `${body}\n`}${asked}`
}
