/** `skein show`: prints one thread, its state and its last messages. */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { RemoteThread } from '../../client.js'
import type { ChildView, Failure, ThreadInfo, ThreadUsage } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { byteCount, counted, dateTime, failureLine, oneLine, spent } from '../format.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { withAnyClient } from '../store.js'
import type { StoreLocation } from '../store.js'
import { messageText } from '../turn/message-text.js'
import { answersTo, waitingItems, waitingLine } from '../turn/waiting-for.js'
import { label, visible } from '../visible.js'
import { positiveCount } from './ps.js'
import { showContext } from './show-context.js'
import type { AnyClient } from '../store.js'

interface Options {
  readonly limit: number
  readonly context?: true
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .option('--context', 'what its model would read now, and what was left out and why')
    .option('--limit <n>', 'the last so many messages', positiveCount, 20)
    .action((id: string, options: Options) =>
      runCommand(command, (context) =>
        withAnyClient(context.store, (client) =>
          options.context ? showContext(context, client, id) : show(context, client, { id, ...options }),
        ),
      ),
    )
}

async function show(
  { out, store }: CommandContext,
  client: AnyClient,
  { id, limit }: Options & { readonly id: string },
): Promise<ExitCode> {
  const thread = await client.threads.get(id)
  const [description, all] = await Promise.all([describe(client, thread), thread.messages()])
  const messages = all.slice(-limit)
  const hidden = all.length - messages.length
  if (out.mode === 'json') {
    const { info, ...details } = description
    out.json({ ...info, ...details, messages, more: hidden > 0 })
    return exitCode.ok
  }
  for (const [name, value] of fieldsOf(description, store))
    out.print(`${out.paint('dim', name.padEnd(8))} ${label(value)}\n`)
  if (hidden > 0) out.print(`\n${out.paint('dim', `… ${hidden} earlier messages, see --limit`)}\n`)
  for (const message of messages) out.print(`\n${messageText(out, message)}`)
  return exitCode.ok
}

interface Description {
  readonly info: ThreadInfo
  readonly usage: ThreadUsage
  readonly files: { readonly files: number; readonly bytes: number }
  readonly hosted: boolean
  readonly failure?: Failure
  /** The children that it waits for, where it waits for nothing else. */
  readonly waitsFor?: readonly AwaitedChild[]
}

interface AwaitedChild extends Pick<ChildView, 'reference' | 'agent' | 'thread' | 'status' | 'place' | 'says'> {
  /** When it was last called; absent of one in line. */
  readonly since?: number
}

async function describe(client: AnyClient, thread: RemoteThread): Promise<Description> {
  const [info, usage, { files, bytes }, hosted] = await Promise.all([
    thread.info(),
    thread.usage(),
    thread.files.usage(),
    client.hosted(),
  ])
  const failure = info.status === 'failed' || info.status === 'done' ? await lastFailure(thread) : undefined
  const waitsFor = info.status === 'waiting' ? await awaitedChildren(thread) : undefined
  return { info, usage, files: { files, bytes }, hosted, ...defined({ failure, waitsFor }) }
}

async function awaitedChildren(thread: RemoteThread): Promise<readonly AwaitedChild[]> {
  const since = new Map<string, number>()
  let all: readonly ChildView[] = []
  for await (const { children, event, value } of thread.view({ from: 'start', until: 'now' })) {
    for (const { reference, status } of children) {
      if (status !== 'working') since.delete(reference)
      else if (event && 'at' in event && !since.has(reference)) since.set(reference, event.at)
    }
    all = value.children
  }
  return all
    .filter(({ status }) => status === 'working' || status === 'in line')
    .map(({ reference, agent, thread: id, status, place, says }) => ({
      reference,
      agent,
      thread: id,
      status,
      ...defined({ place, says, since: since.get(reference) }),
    }))
}

/** Why the last turn failed, if it did. */
async function lastFailure(thread: RemoteThread): Promise<Failure | undefined> {
  let failure: Failure | undefined
  for await (const event of thread.events({ until: 'now' })) if (event.type === 'turn.ended') ({ failure } = event)
  return failure
}

type Field = readonly [name: string, value: string]

function fieldsOf(
  { info, usage, files, hosted, failure, waitsFor }: Description,
  store: StoreLocation,
): readonly Field[] {
  const fields: Field[] = [
    ['thread', info.thread],
    ['agent', info.agent],
    ['status', statusOf(info, hosted)],
  ]
  if (failure) fields.push(['failure', failureLine(failure)])
  if (info.tags.length > 0) fields.push(['tags', info.tags.join(', ')])
  if (info.parent !== undefined) fields.push(['parent', info.parent])
  fields.push(['created', dateTime(info.createdAt)], ['updated', dateTime(info.updatedAt)], ...usageFields(usage))
  if (files.files > 0) fields.push(['files', `${counted(files.files, 'file')}, ${byteCount(files.bytes)}`])
  if (waitsFor) fields.push(...childFields(waitsFor))
  for (const item of waitingItems(info))
    fields.push(['waits', waitingLine(item)], ...answersTo(store, item).map((command): Field => ['', command]))
  return fields
}

/** How many children are listed; the rest is counted. */
const mostChildren = 10

function childFields(children: readonly AwaitedChild[]): readonly Field[] {
  const rest = children.length - mostChildren
  return [
    ['waits', `for ${counted(children.length, 'child', 'children')}`],
    ...children.slice(0, mostChildren).map((child): Field => ['', childLine(child)]),
    ...(rest > 0 ? [['', `… and ${rest} more (skein tree)`] as const] : []),
  ]
}

function childLine({ reference, thread, since, place, says }: AwaitedChild): string {
  const when = since === undefined ? `in line, place ${place ?? 0}` : `since ${dateTime(since)}`
  return `${reference} ${when}${says === undefined ? '' : `: ${oneLine(says, 200)}`} · ${thread}`
}

function statusOf({ status, reason, rest }: ThreadInfo, hosted: boolean): string {
  const why = reason === undefined ? '' : `: ${oneLine(reason, 500)}`
  return `${status}${why}${!hosted && !rest ? ' (no host serves this store now)' : ''}`
}

/** The subtree and the models only where they say more: there are children, or several models. */
function usageFields({ own, subtree, byModel, budget }: ThreadUsage): readonly Field[] {
  const children =
    subtree.inputTokens > own.inputTokens || subtree.outputTokens > own.outputTokens || subtree.costUsd > own.costUsd
  const fields: Field[] = [['spent', spent(own)]]
  if (budget) fields.push(['budget', budgetText(budget)])
  if (children) fields.push(['subtree', spent(subtree)])
  if (byModel.length > 1)
    fields.push(...byModel.map(({ model, ...usage }): Field => ['', `${visible(model)}: ${spent(usage)}`]))
  return fields
}

const budgetNames = { tokens: 'tokens', costUsd: 'USD', toolCalls: 'tool calls', steps: 'steps' } as const

function budgetText({ left, reserved }: NonNullable<ThreadUsage['budget']>): string {
  const kinds = (Object.keys(budgetNames) as (keyof typeof budgetNames)[]).filter((kind) => left[kind] !== undefined)
  return kinds
    .map(
      (kind) => `${left[kind] ?? 0} ${budgetNames[kind]} left${reserved[kind] ? `, ${reserved[kind]} reserved` : ''}`,
    )
    .join(' · ')
}
