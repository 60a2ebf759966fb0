/** Several hosts on one namespace, in one process; what happens to processes is in test/crash/hosts.test.ts. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Definition } from '../../../../src/agent/define.js'
import { failure } from '../../../../src/core/failure.js'
import { anonymousHost } from '../../../../src/backend/host-info.js'
import { partitionOf } from '../../../../src/backend/nats/subjects.js'
import { nats } from '../../../../src/backend/nats/nats.js'
import type { Store, Survey } from '../../../../src/backend/port.js'
import { recordVersion } from '../../../../src/core/records/record.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import type { HostEvent } from '../../../../src/runtime/host/host.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import type { SkeinOptions } from '../../../../src/runtime/options.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { startNats } from '../../../helpers/nats-server.js'
import type { NatsServer } from '../../../helpers/nats-server.js'

let server: NatsServer
let source: Store
let made = 0
const opened = new Set<Skein>()

beforeAll(async () => {
  server = await startNats()
})
afterAll(() => server.remove())
beforeEach(() => {
  source = nats({ servers: server.url, namespace: `hosts${++made}`, partitions: 8, leaseMs: 1_500, sync: 'relaxed' })
})
afterEach(async () => {
  for (const skein of opened) await skein.close()
  opened.clear()
})

async function open(app: readonly Definition[], options: Partial<SkeinOptions> = {}): Promise<Skein> {
  const skein = await createSkein({ app, backend: source, closeGraceMs: 200, ...options })
  opened.add(skein)
  return skein
}

async function close(skein: Skein): Promise<void> {
  opened.delete(skein)
  await skein.close()
}

/** An app whose tool says on which host it ran. */
function spoken(host: string, ran: string[]): readonly Definition[] {
  return tinyApp({
    script: ({ step }) => (step === 0 ? calls('say') : 'done'),
    tools: [
      looseTool('say', () => {
        ran.push(host)
        return host
      }),
    ],
  }).app
}

async function runAll(skein: Skein, ids: readonly string[], message: string): Promise<void> {
  await Promise.all(
    ids.map(async (id) => {
      const thread = await skein.threads.create({ agent: 'helper', id })
      expect(await thread.send(message, { id: `${id}-${message.replaceAll(' ', '-')}` }).text()).toBe('done')
    }),
  )
}

/** Told of what a host sees of its share. */
function watched(of: Store, seen: (survey: Survey) => void): Store {
  return {
    async open(role, self) {
      const backend = await of.open(role, self)
      const { leases } = backend
      const watch: typeof leases.watch = (told) =>
        leases.watch((survey) => {
          seen(survey)
          return told(survey)
        })
      return { ...backend, leases: { ...leases, watch } }
    },
  }
}

const ids = Array.from({ length: 40 }, (_, n) => `t${n}`)

describe('sharing', () => {
  it('N1, HO3: a host that joins gets its share, and both serve threads that either of them is asked for', async () => {
    const ran: string[] = []
    const one = await open(spoken('one', ran))
    await runAll(one, ids, 'alone')
    expect(new Set(ran)).toEqual(new Set(['one']))
    const two = await open(spoken('two', ran))
    // Whoever asks is not who serves: until the share has moved, the answers come from the first.
    for (let round = 0; !ran.includes('two'); round++) await runAll(two, ids, `round ${round}`)
    for (let round = 0; ; round++) {
      ran.length = 0
      await runAll(one, ids, `both ${round}`)
      const served = ran.filter((host) => host === 'two').length
      if (served >= 12 && served <= 28) break // 4 of 8 partitions, 40 threads
    }
  })

  it('N1: a host that leaves hands over what it had, and the other goes on with it', async () => {
    // Whoever waited for the end of a lease would not be answered.
    source = nats({ servers: server.url, namespace: `left${++made}`, leaseMs: 60_000, sync: 'relaxed' })
    const ran: string[] = []
    const [one, two] = [await open(spoken('one', ran)), await open(spoken('two', ran))]
    for (let round = 0; !ran.includes('two'); round++) await runAll(one, ids, `round ${round}`)
    await close(one)
    ran.length = 0
    await runAll(two, ids, 'after')
    expect(new Set(ran)).toEqual(new Set(['two']))
  })

  it('N1: a call that runs on a host that closes is run again where the thread goes on, and counts once', async () => {
    const [began, release] = [deferred(), deferred<string>()]
    const slow = (body: () => unknown): readonly Definition[] =>
      tinyApp({ script: ({ step }) => (step === 0 ? calls('slow') : 'done'), tools: [looseTool('slow', body)] }).app
    const one = await open(
      slow(() => {
        began.resolve()
        return release.promise
      }),
    )
    const thread = await one.threads.create({ agent: 'helper', id: 'x' })
    const run = thread.send('go', { id: 'm' })
    await run.accepted()
    await began.promise
    const two = await open(slow(() => 'second'))
    await close(one)
    const same = await two.threads.get('x')
    expect(await same.run('m').text()).toBe('done')
    expect((await same.messages()).map(({ role, text }) => [role, text])).toEqual([
      ['user', 'go'],
      ['assistant', ''],
      ['tool', 'second'],
      ['assistant', 'done'],
    ])
  })

  it('HO3: while a host joins, threads beside one that makes a long call go on at once, and the long call is made once', async () => {
    source = nats({ servers: server.url, namespace: `calm${++made}`, partitions: 2, leaseMs: 10_000, sync: 'relaxed' })
    const release = deferred()
    const began: string[] = []
    const app = (): readonly Definition[] =>
      tinyApp({
        script: ({ messages, step }) => {
          const [tool, steps] = messages[0]?.text === 'long' ? ['slow', 1] : ['quick', 10]
          return step < steps ? calls(tool) : 'done'
        },
        tools: [
          looseTool('slow', async ({ threadId }) => {
            began.push(threadId)
            return release.promise
          }),
          looseTool('quick', () => 1),
        ],
      }).app
    const crowded = deferred()
    let looks = 0
    const one = await open(app(), {
      closeGraceMs: 60_000,
      backend: watched(source, ({ share }) => void (share === 1 && ++looks === 2 && crowded.resolve())),
    })
    const begin = async (message: string, partition: number) => {
      const id = Array.from({ length: 100 }, (_, n) => `${message}${n}`).find(
        (each) => partitionOf(each, 2) === partition,
      )
      return (await one.threads.create({ agent: 'helper', ...(id !== undefined && { id }) })).send(message)
    }
    const long = await Promise.all([0, 1].map((partition) => begin('long', partition)))
    await until('both long calls', () => began.length === 2)
    const two = await open(app())
    await crowded.promise
    for (let round = 0; round < 3; round++) {
      const quick = await Promise.all([0, 1].map((partition) => begin('quick', partition)))
      expect(await Promise.all(quick.map((run) => run.text()))).toEqual(['done', 'done'])
    }
    release.resolve()
    expect(await Promise.all(long.map((run) => run.text()))).toEqual(['done', 'done'])
    await until('a share for each', async () =>
      (await two.hosts()).hosts.every(({ partitions }) => partitions.length === 1),
    )
    expect(began).toHaveLength(2)
  })

  it('L5, B7, AY1: a model that is limited on one host is not asked by the other either', async () => {
    const asked = { one: 0, two: 0 }
    const limits = failure('MODEL_RATE_LIMITED', 'slow down', { retry: true, data: { retryAfterMs: 200_000 } })
    const one = await open(
      tinyApp({
        script: () => {
          asked.one++
          return { error: limits }
        },
      }).app,
    )
    await open(
      tinyApp({
        script: () => {
          asked.two++
          return 'done'
        },
      }).app,
    )
    let lines = 0
    // Both have a line when two threads are first.
    for (let n = 0; lines < 2; n++) {
      const thread = await one.threads.create({ agent: 'helper', id: `t${n}` })
      for await (const { type } of thread.send('go').fullStream)
        if (type === 'model.waiting' || type === 'turn.ended') break
      if (asked.one > 0) lines = (await one.modelWaits()).filter(({ place }) => place === 1).length
    }
    const { one: sent, two } = asked
    for (let n = 0; n < 20; n++)
      await (await one.threads.create({ agent: 'helper', id: `later${n}` })).send('go').accepted()
    expect((await one.modelWaits()).length).toBeGreaterThan(20)
    expect([sent, asked]).toEqual([1, { one: 1, two }])
  })

  it('R2: a client of no host follows a run that another process serves', async () => {
    await open(spoken('one', []))
    const client = await connectSkein({ backend: source })
    const thread = await client.threads.create({ agent: 'helper', id: 'watched' })
    const types: string[] = []
    for await (const event of thread.send('go').fullStream) types.push(event.type)
    expect(types).toEqual(expect.arrayContaining(['turn.started', 'model.replied', 'tool.result', 'turn.ended']))
    await client.close()
  })
})

describe('versions', () => {
  it('P3, HO3: a thread whose agent only a newer app has is parked by an older host, and goes on when a newer one is there', async () => {
    const next = (): readonly Definition[] => [
      ...tinyApp({ script: () => 'new' }).app,
      ...tinyApp({ script: () => 'later', agent: 'later' }).app.filter(({ kind }) => kind !== 'model'),
    ]
    const newer = await open(next(), { version: '2.0.0' })
    const { id } = await newer.threads.create({ agent: 'later' })
    await close(newer)
    const news: HostEvent[] = []
    const older = await open(tinyApp({ script: () => 'old' }).app, {
      version: '1.0.0',
      onHostEvent: (each) => void (each.type === 'partitions' && news.push(each)),
      warn: () => undefined,
    })
    await expect((await older.threads.get(id)).send('hello?', { id: 'kept' }).result()).rejects.toMatchObject({
      code: 'THREAD_PARKED',
      cause: { code: 'UNKNOWN_AGENT' },
    })
    const other = await older.threads.create({ agent: 'helper' })
    expect(await other.send('and you?').text()).toBe('old')
    const again = await open(next(), { version: '2.0.0' })
    const thread = await again.threads.get(id)
    await until('the kept message', async () => (await thread.messages()).length > 0)
    expect(await thread.run('kept').text()).toBe('new')
    await until('the older one has none', () => news.length === 2)
    await until(
      'the newer one has all',
      async () => (await again.hosts()).hosts.find(({ appVersion }) => appVersion === '2.0.0')?.partitions.length === 8,
    )
    expect(news).toEqual([
      { type: 'partitions', held: 8, of: 8 },
      { type: 'partitions', held: 0, of: 8 },
    ])
    expect(await other.send('still there?').text()).toBe('new')
    // The newer one is gone: the older serves again.
    await close(again)
    expect(await other.send('and now?').text()).toBe('old')
  })
})

describe('records of a newer Skein', () => {
  it('HO3: keep a host from the partitions that hold them, and an operator is told once', async () => {
    const newer = await source.open('host', {
      ...anonymousHost,
      profile: { ...anonymousHost.profile, records: recordVersion + 1 },
    })
    for (const partition of [0, 1, 2]) await (await newer.leases.acquire(partition))?.release()
    await newer.close()
    const warnings: string[] = []
    const skein = await open(tinyApp({ script: () => 'fine' }).app, { warn: (what) => warnings.push(what) })
    expect((await skein.hosts()).hosts).toMatchObject([{ records: recordVersion, partitions: [3, 4, 5, 6, 7] }])
    expect(warnings).toEqual([
      expect.stringMatching(/^3 of 8 partitions were written by a newer Skein.*Update Skein here/),
    ])
  })
})

describe('the server', () => {
  it('N3: is killed and started again under load; every message is answered once, and hosts go on', async () => {
    const ran: string[] = []
    const own = await startNats()
    source = nats({ servers: own.url, namespace: 'load', partitions: 4, leaseMs: 1_500, sync: 'relaxed' })
    const news: string[] = []
    const [one] = [
      await open(spoken('one', ran), { onHostEvent: ({ type }) => news.push(type) }),
      await open(spoken('two', ran)),
    ]
    await runAll(one, ids, 'before')
    const during = runAll(one, ids, 'during')
    await own.kill()
    await own.start()
    await during
    expect(news.filter((type) => type.startsWith('server'))).toEqual(['server.lost', 'server.back'])
    for (const id of ids) {
      const messages = await (await one.threads.get(id)).messages()
      expect(messages.filter(({ role }) => role === 'user').map(({ text }) => text)).toEqual(['before', 'during'])
      expect(messages.filter(({ text }) => text === 'done')).toHaveLength(2)
    }
    for (const skein of opened) await close(skein)
    await own.remove()
  })
})
