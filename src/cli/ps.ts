/** `skein ps`: the threads of a store, newest last. Reads the store itself, so it needs no host. */
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import type { HeadFilter, SkeinClient, StoredHead } from '../index.js'
import { exitCode } from './exit.js'
import type { ExitCode } from './exit.js'
import { dateTime, table } from './format.js'
import { modelWaitLine, modelWaitsOf } from './model-waits.js'
import type { ModelWait } from './model-waits.js'
import type { Around, Perform } from './perform.js'
import { withClient } from './store.js'

interface Options {
  readonly status?: string
  readonly agent?: string
  readonly tag?: string
  readonly all?: boolean
  readonly limit: number
}

const statuses = ['created', 'idle', 'thinking', 'acting', 'waiting', 'awaiting_approval', 'awaiting_human', 'awaiting_variables', 'paused', 'failed', 'done', 'terminated']
const over = new Set(['done', 'terminated'])

export function register(command: Command, perform: Perform): void {
  command
    .addOption(new Option('--status <status>', 'only threads that are').choices(statuses))
    .option('--agent <name>', 'only threads of this agent')
    .option('--tag <tag>', 'only threads with this tag')
    .option('--all', 'done and terminated threads too')
    .option('--limit <n>', 'the newest so many', atLeastOne, 50)
    .action((options: Options) => perform(command, (around) => withClient(around.store, (client) => ps(around, client, options))))
}

export function atLeastOne(given: string): number {
  const count = Number(given)
  if (!Number.isInteger(count) || count < 1) throw new InvalidArgumentError('give a whole number from 1 up.')
  return count
}

async function ps({ out }: Around, client: SkeinClient, options: Options): Promise<ExitCode> {
  const { status, agent, tag, limit } = options
  const found = await newest(client, { ...(status && { status }), ...(agent && { agent }), ...(tag && { tag }) }, options)
  const threads = found.slice(-limit)
  const hosted = await client.hosted()
  const waits = hosted ? await modelWaitsOf(client, threads) : new Map<string, ModelWait>()
  if (out.mode === 'json') {
    const told = threads.map((head) => ({ ...head, ...(waits.has(head.thread) && { waits: waits.get(head.thread) }) }))
    out.json({ threads: told, hosted, more: found.length > threads.length })
    return exitCode.ok
  }
  if (threads.length === 0) out.note('no threads')
  else out.print(listing(threads, waits))
  if (found.length > threads.length) out.note(`older threads are not shown; see --limit`)
  if (!hosted && threads.some(({ rest }) => !rest)) out.note('no host serves this store now; unfinished turns go on when one opens it')
  return exitCode.ok
}

/** The list is oldest first, so all pages are read; one thread more than asked for tells that there are others. */
async function newest(client: SkeinClient, filter: HeadFilter, { all, status, limit }: Options): Promise<readonly StoredHead[]> {
  let found: StoredHead[] = []
  let cursor: string | undefined
  do {
    const page = await client.threads.list({ ...filter, limit: 1_000, ...(cursor !== undefined && { cursor }) })
    const wanted = page.threads.filter((thread) => all || status !== undefined || !over.has(thread.status))
    found = [...found, ...wanted].slice(-limit - 1)
    cursor = page.next
  } while (cursor !== undefined)
  return found
}

/** What is waited for has a column only where someone waits. */
function listing(threads: readonly StoredHead[], waits: ReadonlyMap<string, ModelWait>): string {
  const rows = [['THREAD', 'STATUS', 'AGENT', 'UPDATED', 'TAGS'], ...threads.map(row)]
  if (waits.size === 0) return table(rows)
  const waited = threads.map(({ thread }) => waits.get(thread)).map((wait) => (wait ? modelWaitLine(wait) : ''))
  return table(rows.map((cells, index) => [...cells, index === 0 ? 'WAITS FOR' : (waited[index - 1] ?? '')]))
}

function row({ thread, status, agent, updatedAt, tags }: StoredHead): readonly string[] {
  return [thread, status, agent, dateTime(updatedAt), tags.join(',')]
}
