/**
 * W10 of Skein: lists of many threads, in a process of its own. The threads are written through the store alone, so that
 * making them takes little; what is timed is a client's.
 */
import { settledMemory } from './children.mjs'
import { load } from './skein.mjs'
import * as work from './work.mjs'

const clock = () => performance.now()

/** Commits under way at once. */
const writers = 500
const perTree = 100
const statuses = ['idle', 'idle', 'idle', 'thinking', 'waiting', 'failed', 'done', 'done']

export async function w10({ dist, mode, folder, url, namespace, threads, turns }) {
  const doors = await load(new URL(dist))
  const store = mode === 'nats' ? doors.nats({ servers: url, namespace, partitions: 4 }) : doors.local(folder)
  await fill(store, threads)
  const client = await doors.connectSkein({ backend: store, key: 'a'.repeat(64) })
  const scanMs = await timed(3, () => client.threads.list({ status: 'failed', limit: 100 }))
  const before = await settledMemory()
  const start = clock()
  const directory = client.directory()
  await directory.ready()
  const readyMs = clock() - start
  const after = await settledMemory()
  const listed = []
  const listMs = await timed(turns, async () => listed.push(await client.threads.list({ limit: 100 })))
  work.assertEqual('threads in a page', listed[0].threads.length, 100)
  const failedMs = await timed(turns, () => client.threads.list({ status: 'failed', limit: 100 }))
  const rootsMs = await timed(turns, () => directory.list({ rootsOnly: true, sort: 'updated', limit: 100 }))
  const costMs = await timed(turns, () => directory.list({ sort: 'cost', limit: 100 }))
  const textMs = await timed(turns, () => directory.list({ q: 'no such text', limit: 100 }))
  const countMs = await timed(turns, () => directory.counts('r0'))
  work.assertEqual('threads of a tree', (await directory.counts('r0')).threads, perTree)
  const inboxMs = await timed(turns, () => client.inbox.list())
  await client.close()
  const rowBytes = (after.heap - before.heap) / threads
  return { scanMs, readyMs, listMs, failedMs, rootsMs, costMs, textMs, countMs, inboxMs, rowBytes }
}

async function timed(times, act) {
  const ms = []
  for (let count = 0; count < times; count++) {
    const start = clock()
    await act()
    ms.push(clock() - start)
  }
  return ms
}

/** Trees of a root and ninety-nine children. */
export async function fill(store, threads) {
  const backend = await store.open('host')
  const epochs = []
  for (let partition = 0; partition < backend.leases.partitions; partition++)
    epochs.push((await backend.leases.acquire(partition)).epoch)
  for (let first = 0; first < threads; first += writers) {
    const some = Array.from({ length: Math.min(writers, threads - first) }, (_, n) => first + n)
    await Promise.all(some.map((n) => backend.commit(commitOf(n, epochs[backend.leases.partitionOf(idOf(n))]))))
  }
  await backend.close()
}

const idOf = (n) => (n % perTree === 0 ? `r${Math.floor(n / perTree)}` : `r${Math.floor(n / perTree)}-${n % perTree}`)

function commitOf(n, epoch) {
  const thread = idOf(n)
  const root = `r${Math.floor(n / perTree)}`
  const status = statuses[n % statuses.length]
  const head = {
    agent: `agent${n % 7}`,
    status,
    root,
    path: thread === root ? [root] : [root, thread],
    tags: [`tenant:${n % 50}`],
    rest: status !== 'thinking',
    createdAt: 1_767_225_600_000 + n,
    updatedAt: 1_767_225_600_000 + ((n * 7_919) % threadsAround),
    title: `What was asked of thread number ${n}`,
    step: n % 30,
    usage: { tokens: n % 10_000, nanoUsd: (n * 37) % 1_000_000 },
    ...(thread !== root && { parent: root, reference: `child-${n % perTree}` }),
    ...(n % 1_000 === 0 && {
      pending: [{ call: 'call_1_0', why: 'approval', tool: 'pay', args: { cents: 3 }, requestedAt: n }],
    }),
  }
  const entry = { first: 1, count: 1, body: '["made"]', hash: 'h' }
  return { thread, expected: 0, epoch, entry, head, sends: [], done: [] }
}

const threadsAround = 1_000_003
