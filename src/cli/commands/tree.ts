/**
 * `skein tree`: a thread and all below it: what each does and waits for, and who waits in line. Reads the store itself.
 */
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { SkeinClient, ThreadInfo, Usage } from '../../index.js'
import { modelWaitLine, modelWaitsOf, waitingItems } from '../turn/waiting-for.js'
import { childName } from '../turn/calls.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { createChildren, subtree } from '../turn/children.js'
import type { Children } from '../turn/children.js'
import { counted, table } from '../format.js'
import type { ShownModelWait } from '../turn/waiting-for.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { withClient } from '../store.js'

interface Tree {
  readonly heads: readonly ThreadInfo[]
  readonly family: Children
  /** Of each with all below it. */
  readonly usage: ReadonlyMap<string, Usage>
  readonly modelWaits: ReadonlyMap<string, ShownModelWait>
}

export function register(command: Command, runCommand: RunCommand): void {
  command
    .argument('<thread>', 'id of the thread')
    .action((id: string) =>
      runCommand(command, (context) => withClient(context.store, (client) => show(context, client, id))),
    )
}

async function show({ out }: CommandContext, client: SkeinClient, id: string): Promise<ExitCode> {
  const top = await (await client.threads.get(id)).info()
  const tree = await read(client, top)
  const hosted = await client.hosted()
  if (out.mode === 'json') out.json({ thread: id, ...listing(tree), hosted })
  else {
    out.print(table([['TREE', 'AGENT', 'STATUS', 'WAITS FOR', 'SPENT', 'THREAD'], ...rows(tree, top, '')]))
    if (!hosted && tree.heads.some(({ rest }) => !rest))
      out.note('no host serves this store now; unfinished turns go on when one opens it')
  }
  return exitCode.ok
}

async function read(client: SkeinClient, top: ThreadInfo): Promise<Tree> {
  const heads = await subtree(client, top)
  const family = createChildren()
  // Parents know what their children are called, and who waits in line; the rest need not be read.
  const parents = new Set(
    heads.flatMap(({ thread, parent, status }) => [
      ...(parent === undefined ? [] : [parent]),
      ...(status === 'waiting' ? [thread] : []),
    ]),
  )
  for (const parent of parents)
    for await (const event of (await client.threads.get(parent)).events({ until: 'now' })) family.take(event)
  const modelWaits = (await client.hosted()) ? await modelWaitsOf(client, heads) : new Map<string, ShownModelWait>()
  return { heads, family, usage: await usageOf(client, heads, family), modelWaits }
}

/** Of one that is over its parent knows all of it; the others are asked. */
async function usageOf(
  client: SkeinClient,
  heads: readonly ThreadInfo[],
  family: Children,
): Promise<ReadonlyMap<string, Usage>> {
  const usage = new Map<string, Usage>()
  for (const { thread, status } of heads) {
    const known = status === 'done' ? family.spent(thread) : undefined
    usage.set(thread, known ?? (await (await client.threads.get(thread)).usage()).subtree)
  }
  return usage
}

function listing({ heads, family, usage, modelWaits }: Tree) {
  const threads = heads.map((head) => {
    const reference = family.reference(head.thread)
    const failure = family.failure(head.thread)
    return {
      ...head,
      ...defined({ reference }),
      usage: usage.get(head.thread),
      ...defined({ failure }),
      ...(modelWaits.has(head.thread) && { waits: modelWaits.get(head.thread) }),
    }
  })
  const inLine = heads.flatMap(({ thread }) =>
    family.inLine(thread).map(({ reference, agent, name }, ahead) => ({
      parent: thread,
      reference,
      agent,
      ...defined({ name }),
      place: ahead + 1,
    })),
  )
  return { threads, inLine }
}

/** A child below its parent; behind those that were called, those in line, which are no threads yet. */
function rows(tree: Tree, head: ThreadInfo, indent: string): readonly (readonly string[])[] {
  const { heads, family, usage } = tree
  const below = `${indent}  `
  const line = family.inLine(head.thread)
  return [
    [
      `${indent}${family.label(head.thread)}`,
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

/** One that is done may have failed: its parent has read why. */
function statusOf({ family }: Tree, { thread, status }: ThreadInfo): string {
  return status === 'done' && family.failure(thread) ? 'done (failed)' : status
}

function shortly(
  { inputTokens, outputTokens, costUsd }: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 },
): string {
  return `${inputTokens} / ${outputTokens}${costUsd > 0 ? ` · $${costUsd.toFixed(4)}` : ''}`
}

function waits({ family, modelWaits }: Tree, head: ThreadInfo): string {
  const line = modelWaits.get(head.thread)
  const people = waitingItems(head).map(({ why, tool }) => `${why}: ${tool}`)
  const working = head.status === 'waiting' ? family.working(head.thread).length : 0
  return [
    ...people,
    ...(line ? [modelWaitLine(line)] : []),
    ...(working > 0 ? [counted(working, 'child', 'children')] : []),
    ...(head.says === undefined ? [] : [`says: ${head.says}`]),
  ].join(', ')
}
