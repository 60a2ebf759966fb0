/** `skein ps`: the threads of a store, newest last. Reads the store itself, so it needs no host. */
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { defined } from '../../core/defined.js'
import type { HeadFilter, SkeinClient, StoredHead } from '../../index.js'
import { exitCode } from '../exit.js'
import type { ExitCode } from '../exit.js'
import { dateTime, table } from '../format.js'
import { modelWaitLine, modelWaitsOf } from '../turn/waiting-for.js'
import type { ShownModelWait } from '../turn/waiting-for.js'
import type { CommandContext, RunCommand } from '../run-command.js'
import { withClient } from '../store.js'

interface Options {
  readonly status?: string
  readonly agent?: string
  readonly tag?: string
  readonly all?: boolean
  readonly children?: boolean
  readonly limit: number
}

const statuses = [
  'created',
  'idle',
  'thinking',
  'acting',
  'waiting',
  'awaiting_approval',
  'awaiting_human',
  'awaiting_variables',
  'paused',
  'failed',
  'done',
  'terminated',
]
const over = new Set(['done', 'terminated'])

export function register(command: Command, runCommand: RunCommand): void {
  command
    .addOption(new Option('--status <status>', 'only threads that are').choices(statuses))
    .option('--agent <name>', 'only threads of this agent')
    .option('--tag <tag>', 'only threads with this tag')
    .option('--all', 'done and terminated threads too')
    .option('--children', 'threads that others have called too, below those')
    .option('--limit <n>', 'the newest so many', atLeastOne, 50)
    .action((options: Options) =>
      runCommand(command, (context) => withClient(context.store, (client) => ps(context, client, options))),
    )
}

export function atLeastOne(given: string): number {
  const count = Number(given)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('give a whole number from 1 up.')
  return count
}

async function ps({ out }: CommandContext, client: SkeinClient, options: Options): Promise<ExitCode> {
  const { status, agent, tag, limit } = options
  const filter: HeadFilter = { ...(status && { status }), ...(agent && { agent }), ...(tag && { tag }) }
  const { found, below } = await newest(client, filter, options)
  const threads = found.slice(-limit)
  const hosted = await client.hosted()
  const waits = hosted ? await modelWaitsOf(client, threads) : new Map<string, ShownModelWait>()
  if (out.mode === 'json') {
    const told = threads.map((head) => ({ ...head, ...(waits.has(head.thread) && { waits: waits.get(head.thread) }) }))
    out.json({ threads: told, hosted, more: found.length > threads.length })
    return exitCode.ok
  }
  if (threads.length === 0) out.note('no threads')
  else
    out.print(
      listing(options.children ? asTrees(threads) : threads, { waits, below, nested: options.children === true }),
    )
  if (found.length > threads.length) out.note(`older threads are not shown; see --limit`)
  if (!hosted && threads.some(({ rest }) => !rest))
    out.note('no host serves this store now; unfinished turns go on when one opens it')
  return exitCode.ok
}

/** Threads of a tree that are not over, besides its root. */
interface Below {
  readonly all: number
  readonly busy: number
}

interface Found {
  readonly found: readonly StoredHead[]
  readonly below: ReadonlyMap<string, Below>
}

/**
 * The list is oldest first, so all pages are read; one thread more than asked for tells that there are others.
 * Children are counted with their roots; a program, and whoever asks for a status, an agent or a tag, gets them like
 * all others.
 */
async function newest(
  client: SkeinClient,
  filter: HeadFilter,
  { all, status, children, limit }: Options,
): Promise<Found> {
  const apart = !children && Object.keys(filter).length === 0
  const below = new Map<string, Below>()
  let found: StoredHead[] = []
  let cursor: string | undefined
  do {
    const page = await client.threads.list({ ...filter, limit: 1_000, ...defined({ cursor }) })
    const wanted = page.threads.filter((thread) => all || status !== undefined || !over.has(thread.status))
    for (const { path, root, rest } of wanted) {
      if (path.length === 1) continue
      const before = below.get(root) ?? { all: 0, busy: 0 }
      below.set(root, { all: before.all + 1, busy: before.busy + (rest ? 0 : 1) })
    }
    found = [...found, ...wanted.filter(({ path }) => !apart || path.length === 1)].slice(-limit - 1)
    cursor = page.next
  } while (cursor !== undefined)
  return { found, below }
}

/** Each thread before those that it has called; one whose parent is not shown stands by itself. */
function asTrees(threads: readonly StoredHead[]): readonly StoredHead[] {
  const shown = new Set(threads.map(({ thread }) => thread))
  const children = new Map<string, StoredHead[]>()
  const tops: StoredHead[] = []
  for (const head of threads) {
    const parent = head.path.at(-2)
    if (parent === undefined || !shown.has(parent)) tops.push(head)
    else children.set(parent, [...(children.get(parent) ?? []), head])
  }
  const ordered: StoredHead[] = []
  const visit = (head: StoredHead): void => {
    ordered.push(head)
    for (const child of children.get(head.thread) ?? []) visit(child)
  }
  for (const head of tops) visit(head)
  return ordered
}

interface Listing {
  readonly waits: ReadonlyMap<string, ShownModelWait>
  readonly below: ReadonlyMap<string, Below>
  readonly nested: boolean
}

/** What is waited for has a column only where someone waits, and children where there are some. */
function listing(threads: readonly StoredHead[], { waits, below, nested }: Listing): string {
  const counts = !nested && threads.some(({ thread }) => below.has(thread))
  const head = [
    'THREAD',
    'STATUS',
    'AGENT',
    'UPDATED',
    'TAGS',
    ...(counts ? ['CHILDREN'] : []),
    ...(waits.size > 0 ? ['WAITS FOR'] : []),
  ]
  const rows = threads.map((each) => {
    const wait = waits.get(each.thread)
    return [
      ...row(each, nested),
      ...(counts ? [countOf(below.get(each.thread))] : []),
      ...(waits.size > 0 ? [wait ? modelWaitLine(wait) : ''] : []),
    ]
  })
  return table([head, ...rows])
}

function countOf(below: Below | undefined): string {
  if (!below) return ''
  return below.busy === 0 ? `${below.all}` : `${below.all} (${below.busy} at work)`
}

function row(
  { thread, path, reference, status, agent, updatedAt, tags }: StoredHead,
  nested: boolean,
): readonly string[] {
  const name = nested && reference !== undefined ? `${'  '.repeat(path.length - 1)}${reference} ${thread}` : thread
  return [name, status, agent, dateTime(updatedAt), tags.join(',')]
}
