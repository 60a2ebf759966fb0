/**
 * Hosts on NATS as processes of their own: killed, stopped for longer than their lease, asked to leave. Whatever
 * happens, every thread ends with the transcript of a quiet run.
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nats } from '../../src/backend/nats/nats.js'
import { connectSkein } from '../../src/runtime/handles/client.js'
import type { SkeinClient } from '../../src/runtime/handles/client.js'
import { limitOf } from '../helpers/contention.js'
import { startHost } from '../helpers/host-process.js'
import type { HostProcess } from '../helpers/host-process.js'
import { startNats } from '../helpers/nats-server.js'
import type { NatsServer } from '../helpers/nats-server.js'
import { times } from '../helpers/soak.js'

const leaseMs = 1_500
const steps = times(16, 30)
const ids = Array.from({ length: 16 }, (_, n) => `t${n}`)

let server: NatsServer
let client: SkeinClient
const hosts: HostProcess[] = []

async function start(): Promise<HostProcess> {
  const host = await startHost('nats-host.mjs', [server.url, 'crash', String(steps)])
  hosts.push(host)
  return host
}

beforeEach(async () => {
  server = await startNats()
  const source = nats({ servers: server.url, namespace: 'crash', partitions: 8, leaseMs, sync: 'relaxed' })
  await (await source.open('host')).close() // makes the namespace with a short lease
  client = await connectSkein({ backend: source })
})

afterEach(async () => {
  for (const host of hosts) host.signal('SIGKILL')
  await Promise.all(hosts.splice(0).map(({ ended }) => ended))
  await client.close()
  await server.remove()
})

/** Every thread is told to work; the runs. */
async function begin(message: string): Promise<Promise<string>[]> {
  const threads = await Promise.all(ids.map((id) => client.threads.create({ agent: 'worker', id })))
  const runs = threads.map((thread) => thread.send(message, { id: `${thread.id}-${message}` }))
  await Promise.all(runs.map((run) => run.accepted()))
  return runs.map((run) => run.text())
}

const threadIn = (line: string): string => line.split(' ')[1] ?? ''

/** Threads of which the host says that it works on them. */
const served = ({ lines }: HostProcess): Set<string> =>
  new Set(lines.filter((line) => line.startsWith('run ')).map(threadIn))

/** Whether the host began the last step of the thread: nobody need go on with it. */
const hasEnded = ({ lines }: HostProcess, id: string): boolean => lines.includes(`run ${id} ${steps - 1}`)

async function expectWhole(turns: number): Promise<void> {
  for (const id of ids) {
    const messages = await (await client.threads.get(id)).messages({ limit: 10_000 })
    const results = messages.filter(({ role }) => role === 'tool').map(({ text }) => Number(text))
    const once = Array.from({ length: steps }, (_, step) => step)
    expect([id, results]).toEqual([id, Array.from({ length: turns }, () => once).flat()])
  }
}

/** Until the host works, too. */
async function shared(host: HostProcess, message: string): Promise<void> {
  for (let round = 0; served(host).size === 0; round++) await Promise.all(await begin(`${message}${round}`))
}

test('N2, N1: the threads of a host that is killed go on elsewhere within the lease and a second; nothing is lost or doubled', async () => {
  let turns = 0
  // On a busy machine all threads may come to their last step before the signal does: once more, then.
  for (let orphans = 0; orphans === 0; turns++) {
    const [one, two] = [await start(), await start()]
    const work = await begin(`go${turns}`)
    await Promise.race([one, two].map((host) => host.heard((line) => line.endsWith(' 8'))))
    const victim = served(one).size > 0 ? one : two
    const other = victim === one ? two : one
    const own = served(other)
    const isOrphan = (id: string): boolean => served(victim).has(id) && !own.has(id)
    const adopted = other.heard((line) => line.startsWith('run ') && isOrphan(threadIn(line)))
    const limit = limitOf(leaseMs + 1_000)
    victim.signal('SIGKILL')
    const killedAt = performance.now()
    await victim.ended
    orphans = [...served(victim)].filter((id) => isOrphan(id) && !hasEnded(victim, id)).length
    const tookMs = orphans === 0 ? 0 : await adopted.then(() => performance.now() - killedAt)
    expect(tookMs).toBeLessThan(limit())
    for (const text of await Promise.all(work)) expect(text).toBe(`all of ${steps}`)
    adopted.catch(() => undefined)
    other.signal('SIGKILL')
    await other.ended
  }
  await start()
  await expectWhole(turns)
})

test('N3: a sender whose only host is killed is told so when its lease has ended, and what it sent is done by the next', async () => {
  const one = await start()
  const thread = await client.threads.create({ agent: 'worker', id: 't0' })
  const limit = limitOf(5_000)
  one.signal('SIGKILL')
  const killedAt = performance.now()
  const told = await thread
    .send('kept', { id: 'kept' })
    .accepted()
    .catch((thrown: unknown) => thrown)
  expect(told).toMatchObject({
    code: 'COMMAND_UNANSWERED',
    retry: true,
    data: { hosted: false },
    message: expect.stringMatching(
      /is kept in its mailbox, but (the host that served this store is gone|no host serves)/,
    ),
  })
  const tookMs = performance.now() - killedAt
  expect(tookMs).toBeLessThan(limit()) // a lease and two seconds, and never the 30 of an answer
  await start()
  await expect.poll(() => thread.status(), { timeout: 300_000 }).toBe('idle')
  await expect
    .poll(async () => (await thread.messages({ limit: 10_000 })).at(-1)?.text, { timeout: 300_000 })
    .toBe(`all of ${steps}`)
})

test('N3: a sender whose host is killed is answered by the one that takes over', async () => {
  const one = await start()
  const two = await start()
  await shared(two, 'warm')
  const threads = await Promise.all(ids.map((id) => client.threads.get(id)))
  const limit = limitOf(5_000)
  one.signal('SIGKILL')
  const killedAt = performance.now()
  await Promise.all(
    threads.map((thread) => thread.send('after', { id: `${thread.id}-after`, delivery: 'new_turn' }).accepted()),
  )
  const tookMs = performance.now() - killedAt
  expect(tookMs).toBeLessThan(limit())
})

test('N1: a zombie, stopped for longer than its lease and continued, writes nothing, stands down and takes part again', async () => {
  const one = await start()
  const two = await start()
  await shared(two, 'warm')
  const turns = (await (await client.threads.get('t0')).messages({ limit: 10_000 })).filter(
    ({ role }) => role === 'user',
  ).length
  const work = await begin('go')
  const before = served(one).size
  await one.heard((line) => line.endsWith(' 5'))
  one.signal('SIGSTOP')
  for (const text of await Promise.all(work)) expect(text).toMatch(/^all of /)
  one.signal('SIGCONT')
  await expectWhole(turns + 1)
  const said = one.lines.length
  // It is back when it works again.
  for (let round = 0; !one.lines.slice(said).some((line) => line.startsWith('run ')) || round < 2; round++) {
    await Promise.all(await begin(`again${round}`))
    await expectWhole(turns + 2 + round)
  }
  expect(before).toBeGreaterThan(0)
})

test('N2: a host that is asked to leave hands over in well under a second', async () => {
  const one = await start()
  const two = await start()
  await shared(two, 'warm')
  const work = await begin('go')
  await one.heard((line) => line.endsWith(' 5'))
  const mine = new Set([...served(one)].filter((id) => !two.lines.slice(-40).some((line) => threadIn(line) === id)))
  const limit = limitOf(500)
  const adopted = two.heard((line) => mine.has(threadIn(line)))
  one.signal('SIGTERM')
  const closed = one.heard((line) => line === 'closed').then(() => performance.now())
  await adopted
  const adoptedAt = performance.now()
  expect(adoptedAt - (await closed)).toBeLessThan(limit())
  await Promise.all(work)
})
