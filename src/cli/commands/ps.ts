/** `skein ps`: lists the threads of a store, newest last. Reads the store itself, so it needs no host. */
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import { threadStatuses } from '../../index.js'
import type { ThreadFilter, ThreadInfo, ThreadStatus } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { dateTime, statusText, table } from '../format.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { withAnyClient } from '../store.js'
import type { AnyClient } from '../store.js'
import { modelWaitLine, modelWaitsOf } from '../turn/waiting-for.js'
import type { ShownModelWait } from '../turn/waiting-for.js'

interface Options {
  readonly status?: ThreadStatus
  readonly agent?: string
  readonly tag?: string
  readonly all?: boolean
  readonly children?: boolean
  readonly limit: number
}

const ended = new Set<ThreadStatus>(['done', 'terminated'])

export function register(command: Command, runCommand: RunCommand): void {
  command
    .addOption(new Option('--status <status>', 'only threads that are').choices(threadStatuses))
    .option('--agent <name>', 'only threads of this agent')
    .option('--tag <tag>', 'only threads with this tag')
    .option('--all', 'done and terminated threads too')
    .option('--children', 'threads that others have called too, below those')
    .option('--limit <n>', 'the newest so many', positiveCount, 50)
    .action((options: Options) =>
      runCommand(command, (context) => withAnyClient(context.store, (client) => ps(context, client, options))),
    )
}

export function positiveCount(text: string): number {
  const count = Number(text)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('give a whole number from 1 up.')
  return count
}

async function ps({ out }: CommandContext, client: AnyClient, options: Options): Promise<ExitCode> {
  const { status, agent, tag, limit, children: nested = false } = options
  const filter: ThreadFilter = defined({ status, agent, tag })
  const { found, below } = await findNewest(client, filter, options)
  const threads = found.slice(-limit)
  const more = found.length > threads.length
  const hosted = await client.hosted()
  const modelWaits = hosted ? await modelWaitsOf(client, threads) : new Map<string, ShownModelWait>()
  if (out.mode === 'json') {
    const entries = threads.map((head) => ({ ...head, ...defined({ waits: modelWaits.get(head.thread) }) }))
    out.json({ threads: entries, hosted, more })
    return exitCode.ok
  }
  if (threads.length === 0) out.note('no threads')
  else out.print(listing(nested ? parentsFirst(threads) : threads, { modelWaits, below, nested }))
  if (more) out.note(`older threads are not shown; see --limit`)
  if (!hosted && threads.some(({ rest }) => !rest))
    out.note('no host serves this store now; unfinished turns go on when one opens it')
  return exitCode.ok
}

/** Threads of a tree that have not ended, besides its root. */
interface ChildCount {
  readonly all: number
  readonly busy: number
}

interface Found {
  readonly found: readonly ThreadInfo[]
  /** By root. */
  readonly below: ReadonlyMap<string, ChildCount>
}

/**
 * The store lists the oldest first, so all pages are read; one thread more than the limit tells that there are others.
 * Children are counted with their roots, unless they are asked for by `--children` or by any filter.
 */
async function findNewest(
  client: AnyClient,
  filter: ThreadFilter,
  { all, status, children, limit }: Options,
): Promise<Found> {
  const rootsOnly = !children && Object.keys(filter).length === 0
  const below = new Map<string, ChildCount>()
  let found: ThreadInfo[] = []
  let cursor: string | undefined
  do {
    const page = await client.threads.list({ ...filter, limit: 1_000, ...defined({ cursor }) })
    const heads = page.threads.filter((head) => all || status !== undefined || !ended.has(head.status))
    for (const { path, root, rest } of heads) {
      if (path.length === 1) continue
      const before = below.get(root) ?? { all: 0, busy: 0 }
      below.set(root, { all: before.all + 1, busy: before.busy + (rest ? 0 : 1) })
    }
    found = [...found, ...heads.filter(({ path }) => !rootsOnly || path.length === 1)].slice(-limit - 1)
    cursor = page.next
  } while (cursor !== undefined)
  return { found, below }
}

/** Each thread before its children; a thread whose parent is not listed is a top. */
function parentsFirst(threads: readonly ThreadInfo[]): readonly ThreadInfo[] {
  const listed = new Set(threads.map(({ thread }) => thread))
  const children = new Map<string, ThreadInfo[]>()
  const tops: ThreadInfo[] = []
  for (const head of threads) {
    const parent = head.path.at(-2)
    if (parent === undefined || !listed.has(parent)) tops.push(head)
    else children.set(parent, [...(children.get(parent) ?? []), head])
  }
  const withChildren = (head: ThreadInfo): readonly ThreadInfo[] => [
    head,
    ...(children.get(head.thread) ?? []).flatMap(withChildren),
  ]
  return tops.flatMap(withChildren)
}

interface Columns {
  readonly modelWaits: ReadonlyMap<string, ShownModelWait>
  readonly below: ReadonlyMap<string, ChildCount>
  readonly nested: boolean
}

/** The columns FORK OF, CHILDREN and WAITS FOR are there only where a thread has something in them. */
function listing(threads: readonly ThreadInfo[], { modelWaits, below, nested }: Columns): string {
  const counts = !nested && threads.some(({ thread }) => below.has(thread))
  const waits = modelWaits.size > 0
  const forks = threads.some(({ forkedFrom }) => forkedFrom)
  const titles = ['THREAD', 'STATUS', 'AGENT', 'UPDATED', 'TAGS']
  const head = [
    ...titles,
    ...(forks ? ['FORK OF'] : []),
    ...(counts ? ['CHILDREN'] : []),
    ...(waits ? ['WAITS FOR'] : []),
  ]
  const rows = threads.map((each) => [
    ...row(each, nested),
    ...(forks ? [each.forkedFrom?.thread ?? ''] : []),
    ...(counts ? [countText(below.get(each.thread))] : []),
    ...(waits ? [waitText(modelWaits.get(each.thread))] : []),
  ])
  return table([head, ...rows])
}

function waitText(wait: ShownModelWait | undefined): string {
  return wait ? modelWaitLine(wait) : ''
}

function countText(count: ChildCount | undefined): string {
  if (!count) return ''
  return count.busy === 0 ? `${count.all}` : `${count.all} (${count.busy} at work)`
}

function row(head: ThreadInfo, nested: boolean): readonly string[] {
  const { thread, path, reference, agent, updatedAt, tags } = head
  const name = nested && reference !== undefined ? `${'  '.repeat(path.length - 1)}${reference} ${thread}` : thread
  return [name, statusText(head), agent, dateTime(updatedAt), tags.join(',')]
}
