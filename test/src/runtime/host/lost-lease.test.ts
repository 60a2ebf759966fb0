/**
 * Effects on the world whose host loses its lease, on NATS: bodies go on, and what comes of them reaches whoever has
 * the thread. What a crash leaves behind is in test/crash/effects.test.ts.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../../src/agent/define.js'
import type { Definition, Tool } from '../../../../src/agent/define.js'
import { memory } from '../../../../src/backend/memory/memory.js'
import { partitionOf } from '../../../../src/backend/nats/subjects.js'
import { nats } from '../../../../src/backend/nats/nats.js'
import type { Store } from '../../../../src/backend/port.js'
import { manualClock } from '../../../../src/core/manual-clock.js'
import type { ThreadRecord } from '../../../../src/core/records/record.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import { chainStart, decode, pack } from '../../../../src/runtime/journal/journal.js'
import { sealMail } from '../../../../src/runtime/journal/mail.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import type { SkeinOptions } from '../../../../src/runtime/options.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import type { Deferred } from '../../../helpers/deferred.js'
import { startNats } from '../../../helpers/nats-server.js'
import type { NatsServer } from '../../../helpers/nats-server.js'
import { createTcpProxy } from '../../../helpers/tcp-proxy.js'
import type { TcpProxy } from '../../../helpers/tcp-proxy.js'

const leaseMs = 1_000
const args = z.object({ cents: z.number() })
type Charge = Partial<Tool<typeof args>>

let server: NatsServer
let namespace = ''
let made = 0
const opened = new Set<Skein>()
const proxies = new Set<TcpProxy>()

beforeAll(async () => {
  server = await startNats()
})
afterAll(() => server.remove())
beforeEach(() => {
  namespace = `lost${++made}`
})
afterEach(async () => {
  for (const skein of opened) await skein.close()
  opened.clear()
  // Whoever closes gives back what it holds: through these.
  for (const proxy of proxies) await proxy.close()
  proxies.clear()
})

const through = (port: number, partitions = 1): Store =>
  nats({ servers: `nats://127.0.0.1:${port}`, namespace, partitions, leaseMs, patienceMs: 500, sync: 'relaxed' })

/** An agent that charges once and then tells what came of it. */
function charging(charge: Charge): readonly Definition[] {
  return [
    defineModel({
      name: 'm',
      model: scriptedModel(({ messages }) => {
        const result = messages.findLast(({ role }) => role === 'tool')
        return result ? `it says: ${result.text}` : { calls: [{ tool: 'charge', args: { cents: 500 } }] }
      }),
    }),
    definePrompt({ name: 'p', prompt: 'You pay.', model: 'm', tools: ['charge'] }),
    defineAgent({ name: 'payer', type: 'ai_human', sideA: { prompt: 'p' } }),
    defineTool({ name: 'charge', description: 'charges', args, sideEffect: true, execute: () => 'charged', ...charge }),
  ]
}

async function open(port: number, charge: Charge, options: Partial<SkeinOptions> = {}): Promise<Skein> {
  const skein = await createSkein({
    app: charging(charge),
    backend: through(port),
    closeGraceMs: 100,
    warn: () => undefined,
    ...options,
  })
  opened.add(skein)
  return skein
}

describe('a host that is cut off', () => {
  let proxy: TcpProxy
  let release: Deferred<string>
  let began: Deferred<void>
  let ran: string[]

  beforeEach(async () => {
    proxy = await createTcpProxy(server.port)
    proxies.add(proxy)
    ;[release, began, ran] = [deferred<string>(), deferred(), []]
  })

  const body = (host: string) => (): Promise<string> => {
    ran.push(host)
    began.resolve()
    return release.promise
  }

  /** A thread whose body runs on a host behind the proxy. */
  async function begin(charge: Charge): Promise<Skein> {
    const one = await open(proxy.port, { execute: body('one'), ...charge })
    const thread = await one.threads.create({ agent: 'payer', id: 'payer' })
    await thread.send('pay', { id: 'go' }).accepted()
    await began.promise
    return one
  }

  const cameTo = async (skein: Skein): Promise<string> => (await skein.threads.get('payer')).run('go').text()
  /** By the beat of the leases: each survey is a request to the server. */
  const gone = (skein: Skein): Promise<void> =>
    until('the lease is lost', async () => {
      await ticks(server)
      return skein.host.threadsAwake === 0
    })

  it('OR1, OR2: and comes back waits for the body that it began, however long that takes', async () => {
    const one = await begin({})
    proxy.cut()
    await gone(one)
    proxy.mend()
    await until('the thread is back', async () => {
      await ticks(server)
      return one.host.threadsAwake === 1
    })
    release.resolve('charged')
    expect([await cameTo(one), ran]).toEqual(['it says: charged', ['one']])
  })

  it('OR2: what the body says after the thread came back is heard', async () => {
    const one = await begin({
      execute: async (state, { cents }) => {
        ran.push('one')
        began.resolve()
        state.log(`${await release.promise} ${cents}`)
        return 'charged'
      },
    })
    proxy.cut()
    await gone(one)
    proxy.mend()
    await until('the thread is back', async () => {
      await ticks(server)
      return one.host.threadsAwake === 1
    })
    const heard: string[] = []
    const thread = await one.threads.get('payer')
    for await (const event of thread.events()) {
      if (event.type === 'call.began') release.resolve('took')
      if (event.type === 'tool.log') heard.push(event.text)
      if (event.type === 'turn.ended') break
    }
    expect([heard, ran]).toEqual([['took 500'], ['one']])
  })

  it('OR1: files that a body wrote are kept, however long the store is away', async () => {
    const one = await begin({
      execute: async ({ files }) => {
        ran.push('one')
        began.resolve()
        await files.writeFile('/bill', await release.promise)
        return 'charged'
      },
    })
    proxy.cut()
    release.resolve('5 euros')
    await gone(one)
    // The first try to store it has failed by now: it had half a second.
    proxy.mend()
    expect([await cameTo(one), ran]).toEqual(['it says: charged', ['one']])
    expect(await (await one.threads.get('payer')).files.readFile('/bill', 'utf8')).toBe('5 euros')
  })

  it('OR1: while another took its thread: the outcome is used there, and nothing runs twice', async () => {
    const one = await begin({ timeoutMs: 30_000 })
    const two = await open(server.port, { timeoutMs: 30_000, execute: body('two') })
    proxy.cut()
    await gone(one)
    await until('the other has it', async () => {
      await ticks(server)
      return two.host.threadsAwake === 1
    })
    release.resolve('charged')
    await quiet()
    proxy.mend()
    expect([await cameTo(two), ran]).toEqual(['it says: charged', ['one']])
  })

  it('OR1: what came of a body before the lease was lost, and could not be committed, is not forgotten', async () => {
    const one = await begin({ timeoutMs: 30_000 })
    const two = await open(server.port, { timeoutMs: 30_000, execute: body('two') })
    proxy.cut()
    release.resolve('charged')
    await gone(one)
    await until('the other has it', async () => {
      await ticks(server)
      return two.host.threadsAwake === 1
    })
    // The journal goes on elsewhere: what is still on its way to it will be refused.
    await (await two.threads.get('payer')).send('meanwhile').accepted()
    proxy.mend()
    expect([await cameTo(two), ran]).toEqual(['it says: charged', ['one']])
  })
})

describe('a partition that moves', () => {
  it('OR1: leaves a body that takes longer than the grace at work, and its outcome follows the thread', async () => {
    const [release, ran, said] = [deferred<string>(), [] as string[], [] as string[]]
    const charge = (host: string): Charge => ({
      timeoutMs: 30_000,
      execute: () => {
        ran.push(host)
        return release.promise
      },
    })
    const ids = [0, 1].map(
      (partition) => ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].find((id) => partitionOf(id, 2) === partition) ?? '',
    )
    const one = await open(server.port, charge('one'), { backend: through(server.port, 2) })
    for (const id of ids)
      await (await one.threads.create({ agent: 'payer', id })).send('pay', { id: `${id}-go` }).accepted()
    await until('both run', async () => {
      await ticks(server)
      return ran.length === 2
    })
    const two = await open(server.port, charge('two'), { backend: through(server.port, 2) })
    await until('one has moved', async () => {
      await ticks(server)
      return two.host.threadsAwake === 1
    })
    release.resolve('charged')
    for (const id of ids) said.push(await (await two.threads.get(id)).run(`${id}-go`).text())
    expect([said, ran]).toEqual([
      ['it says: charged', 'it says: charged'],
      ['one', 'one'],
    ])
  })
})

/** A request to the server takes its time; nothing else here does. */
async function ticks({ monitor }: NatsServer): Promise<void> {
  await (await fetch(`${monitor}/healthz`)).text()
}

describe('an intent that another host left behind', () => {
  const begunAt = 1_700_000_000_000
  let key = ''

  /** A journal that ends with the intent. */
  async function left(charge: Charge): Promise<void> {
    const source = memory()
    const skein = await createSkein({
      app: charging({ ...charge, execute: ({ idempotencyKey }) => (key = idempotencyKey) }),
      backend: source,
      clock: manualClock(begunAt),
      warn: () => undefined,
    })
    await (await skein.threads.create({ agent: 'payer', id: 'payer' })).send('pay', { id: 'go' }).result()
    const whole = await source.open('client')
    const records: ThreadRecord[] = (await whole.journal.read('payer')).flatMap((entry) => decode('payer', entry))
    await skein.close()
    const backend = await through(server.port).open('host')
    const head = {
      agent: 'payer',
      status: 'acting',
      root: 'payer',
      path: ['payer'],
      tags: [],
      rest: false,
      createdAt: 0,
      updatedAt: 0,
    }
    await backend.commit({
      thread: 'payer',
      expected: 0,
      epoch: 1,
      entry: pack(records.slice(0, records.findIndex(({ type }) => type === 'call.began') + 1), chainStart),
      head,
      sends: [],
      done: [],
    })
    await backend.close()
  }

  /** A host that finds it so long after it began. */
  async function find(charge: Charge, afterMs: number) {
    await left(charge)
    const clock = manualClock(begunAt + afterMs)
    const asked: string[] = []
    const skein = await open(
      server.port,
      {
        ...charge,
        execute: () => {
          asked.push('run')
          return 'again'
        },
        ...(charge.probe && {
          probe: () => {
            asked.push('probe')
            return null
          },
        }),
      },
      { clock },
    )
    await until('it is waited for', async () => {
      await ticks(server)
      return clock.pending > 0 || asked.length > 0
    })
    return { clock, asked, text: async () => (await skein.threads.get('payer')).run('go').text() }
  }

  async function post(outcome: string, id: string): Promise<void> {
    const backend = await through(server.port).open('client')
    const landed = { outcome: { ok: true as const, value: outcome } }
    await backend.mailbox.put({ to: 'payer', id, body: sealMail({ kind: 'receipt', step: 1, index: 0, key, landed }) })
    await backend.close()
  }

  it.each([
    [0, 5_000, 6_000],
    [2_000, 5_000, 4_000],
    [60_000, 5_000, 1_000],
    [-60_000, 5_000, 6_000],
    [2_000, undefined, 1_000],
  ])(
    'found %i ms after it began, with a limit of %s ms, it is resolved %i ms later',
    async (afterMs, timeoutMs, waitMs) => {
      const { clock, asked, text } = await find(
        { probe: () => null, ...(timeoutMs !== undefined && { timeoutMs }) },
        afterMs,
      )
      clock.advance(waitMs - 1)
      await quiet()
      expect(asked).toEqual([])
      clock.advance(1)
      expect(await text()).toBe('it says: again')
      expect(asked).toEqual(['probe', 'run'])
    },
  )

  it('T10: with nothing to ask, the model is told then that it may have happened', async () => {
    const { clock, asked, text } = await find({}, 0)
    clock.advance(1_000)
    expect(await text()).toMatch(/it says: .*may already have happened/)
    expect(asked).toEqual([])
  })

  it('one that is idempotent is run again at once', async () => {
    const { text } = await find({ idempotent: true, timeoutMs: 5_000 }, 0)
    expect(await text()).toBe('it says: again')
  })

  it('OR1: a receipt that comes meanwhile is the outcome; one for another call, and a second one, change nothing', async () => {
    const { clock, asked, text } = await find({ timeoutMs: 5_000 }, 0)
    const right = key
    key = 'another'
    await post('not this', 'r1')
    key = right
    await post('charged', 'r2')
    expect(await text()).toBe('it says: charged')
    await post('charged twice', 'r3')
    clock.advance(60_000)
    await quiet()
    expect([await text(), asked]).toEqual(['it says: charged', []])
  })
})
