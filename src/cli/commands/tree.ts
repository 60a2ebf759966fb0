/**
 * `skein tree`: a thread and all below it: what each does and waits for, and who waits in line. Reads the store itself.
 */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { ChildView, Failure, ThreadInfo, Usage } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { counted, statusText, table } from '../format.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { withAnyClient } from '../store.js'
import { childName } from '../turn/calls.js'
import { subtree } from '../turn/children.js'
import { modelWaitLine, modelWaitsOf, waitingItems } from '../turn/waiting-for.js'
import type { ShownModelWait } from '../turn/waiting-for.js'
import type { AnyClient } from '../store.js'

interface Tree {
  readonly heads: readonly ThreadInfo[]
  /** By parent: its children as it knows them. */
  readonly children: ReadonlyMap<string, readonly ChildView[]>
  /** By thread: what its parent knows of it. */
  readonly entries: ReadonlyMap<string, ChildView>
  /** By thread: why its last turn is no answer. */
  readonly failures: ReadonlyMap<string, Failure>
  /** By thread, with all below it. */
  readonly usage: ReadonlyMap<string, Usage>
  readonly modelWaits: ReadonlyMap<string, ShownModelWait>
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .action((id: string) =>
      runCommand(command, (context) => withAnyClient(context.store, (client) => show(context, client, id))),
    )
}

async function show({ out }: CommandContext, client: AnyClient, id: string): Promise<ExitCode> {
  const top = await (await client.threads.get(id)).info()
  const hosted = await client.hosted()
  const tree = await readTree(client, top, hosted)
  if (out.mode === 'json') out.json({ thread: id, ...listing(tree), hosted })
  else {
    out.print(table([['TREE', 'AGENT', 'STATUS', 'WAITS FOR', 'SPENT', 'THREAD'], ...rows(tree, top, '')]))
    if (!hosted && tree.heads.some(({ rest }) => !rest))
      out.note('no host serves this store now; unfinished turns go on when one opens it')
  }
  return exitCode.ok
}

async function readTree(client: AnyClient, top: ThreadInfo, hosted: boolean): Promise<Tree> {
  const found = await subtree(client, top)
  // Parents know what their children are called, and who waits in line; other threads need not be read.
  const parents = new Set(
    found.flatMap(({ thread, parent, status }) => [
      ...(parent === undefined ? [] : [parent]),
      ...(status === 'waiting' ? [thread] : []),
    ]),
  )
  const children = new Map<string, readonly ChildView[]>()
  for (const parent of parents) {
    const thread = await client.threads.get(parent)
    children.set(parent, (await thread.view().now()).children)
  }
  const entries = new Map([...children.values()].flat().map((entry) => [entry.thread, entry]))
  const heads = inCallOrder(found, children)
  const modelWaits = hosted ? await modelWaitsOf(client, heads) : new Map<string, ShownModelWait>()
  const [usage, failures] = [await usageOf(client, heads, entries), await failuresOf(client, heads, entries)]
  return { heads, children, entries, failures, usage, modelWaits }
}

/** Siblings in the order in which their parent called them: on several hosts they begin in any order. */
function inCallOrder(heads: readonly ThreadInfo[], children: Tree['children']): readonly ThreadInfo[] {
  const called = [...children].flatMap(([parent, list]) => list.map(({ reference }) => `${parent}/${reference}`))
  const places = new Map(called.map((name, place) => [name, place]))
  const place = ({ parent, reference }: ThreadInfo): number => places.get(`${parent}/${reference}`) ?? -1
  return heads.toSorted((one, other) => place(one) - place(other))
}

/** A parent knows the last attempt of a child; an earlier one that failed is asked itself. */
async function failuresOf(
  client: AnyClient,
  heads: readonly ThreadInfo[],
  entries: Tree['entries'],
): Promise<ReadonlyMap<string, Failure>> {
  const failures = new Map<string, Failure>()
  for (const { thread, parent, status } of heads) {
    const entry = entries.get(thread)
    const isEarlier = !entry && parent !== undefined && status === 'done'
    const result = isEarlier ? (await (await client.threads.get(thread)).view().now()).result : entry
    if (result?.failure) failures.set(thread, result.failure)
  }
  return failures
}

/** What a child that is done has spent is known to its parent; the others are asked. */
async function usageOf(
  client: AnyClient,
  heads: readonly ThreadInfo[],
  entries: Tree['entries'],
): Promise<ReadonlyMap<string, Usage>> {
  const usage = new Map<string, Usage>()
  for (const { thread, status } of heads) {
    const known = status === 'done' ? entries.get(thread)?.usage : undefined
    usage.set(thread, known ?? (await (await client.threads.get(thread)).usage()).subtree)
  }
  return usage
}

function inLine({ children }: Tree, parent: string): readonly ChildView[] {
  return (children.get(parent) ?? []).filter(({ status }) => status === 'in line')
}

function listing(tree: Tree) {
  const { heads, entries, failures, usage, modelWaits } = tree
  const threads = heads.map((head) => ({
    ...head,
    ...defined({ reference: entries.get(head.thread)?.reference }),
    usage: usage.get(head.thread),
    ...defined({ failure: failures.get(head.thread), waits: modelWaits.get(head.thread) }),
  }))
  const lined = heads.flatMap(({ thread }) =>
    inLine(tree, thread).map(({ reference, agent, name }, ahead) => ({
      parent: thread,
      reference,
      agent,
      ...defined({ name }),
      place: ahead + 1,
    })),
  )
  return { threads, inLine: lined }
}

/** A child below its parent; behind those that were called, those in line, which are no threads yet. */
function rows(tree: Tree, head: ThreadInfo, indent: string): readonly (readonly string[])[] {
  const { heads, usage } = tree
  const below = `${indent}  `
  const line = inLine(tree, head.thread)
  return [
    [
      `${indent}${nameOf(tree, head)}`,
      head.agent,
      statusOf(tree, head),
      waits(tree, head),
      shortly(usage.get(head.thread)),
      head.thread,
    ],
    ...heads.filter(({ parent }) => parent === head.thread).flatMap((child) => rows(tree, child, below)),
    ...line.map((child, ahead) => [
      `${below}${childName(child)}`,
      child.agent,
      'in line',
      `its turn: place ${ahead + 1} of ${line.length}`,
      '',
      '',
    ]),
  ]
}

/** As its parent calls it; an earlier attempt of a child that was tried again, as the list of threads does. */
function nameOf({ entries }: Tree, { thread, reference = thread, name }: ThreadInfo): string {
  return childName(entries.get(thread) ?? { reference, ...defined({ name }) })
}

/** A child that is done may have failed: its parent has read why. */
function statusOf({ failures }: Tree, head: ThreadInfo): string {
  return head.status === 'done' && failures.has(head.thread) ? 'done (failed)' : statusText(head)
}

function shortly(
  { inputTokens, outputTokens, costUsd }: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 },
): string {
  return `${inputTokens} / ${outputTokens}${costUsd > 0 ? ` · $${costUsd.toFixed(4)}` : ''}`
}

function waits({ children, modelWaits }: Tree, head: ThreadInfo): string {
  const wait = modelWaits.get(head.thread)
  const people = waitingItems(head).map(({ why, tool }) => `${why}: ${tool}`)
  const working = (children.get(head.thread) ?? []).filter(({ status }) => status === 'working').length
  return [
    ...people,
    ...(wait ? [modelWaitLine(wait)] : []),
    ...(head.status === 'waiting' && working > 0 ? [counted(working, 'child', 'children')] : []),
    ...(head.says === undefined ? [] : [`says: ${head.says}`]),
  ].join(', ')
}
