/** A journal that is damaged or from the future parks its thread, and only it. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openDatabase } from '../../../../src/backend/local/database/driver.js'
import type { Store, StoredEntry } from '../../../../src/backend/port.js'
import { SkeinError } from '../../../../src/core/failure.js'
import { recordVersion } from '../../../../src/core/records/record.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { until } from '../../../helpers/deferred.js'
import { tapped, typesIn } from '../../../helpers/tap.js'
import { onEveryStore } from '../../../helpers/world.js'
import type { World } from '../../../helpers/world.js'

/** Two threads with two turns each, at rest; the store is closed. */
async function twoThreads(world: World): Promise<readonly [string, string]> {
  const skein = await world.open(tinyApp({ script: () => 'fine' }).app)
  const [bad, good] = [await skein.threads.create({ agent: 'helper' }), await skein.threads.create({ agent: 'helper' })]
  for (const thread of [bad, good, bad, good]) await thread.send('go').result()
  await world.close(skein)
  return [bad.id, good.id]
}

/** A record that a newer Skein appended, chained as it should be; gives its sequence. */
async function dreamed({ store }: World, thread: string): Promise<number> {
  const backend = await store.source.open('host')
  const lease = await backend.leases.acquire(0)
  const last = (await backend.journal.read(thread)).at(-1)
  const head = await backend.heads.get(thread)
  if (!lease || !last || !head) throw new Error('the thread is not there')
  const seq = last.first + last.count
  const body = JSON.stringify({ v: recordVersion + 1, r: [{ type: 'thread.dreamed', seq, at: 0 }] })
  const hash = createHash('sha256')
    .update(last.hash + body)
    .digest('base64url')
    .slice(0, 22)
  const { thread: _, seq: expected, ...rest } = head
  const result = await backend.commit({
    thread,
    expected,
    epoch: lease.epoch,
    entry: { first: seq, count: 1, body, hash },
    head: rest,
    sends: [],
    done: [],
  })
  expect(result.ok).toBe(true)
  await lease.release()
  await backend.close()
  return seq
}

const damages: readonly { readonly what: string; readonly says: RegExp; damage(entry: StoredEntry): StoredEntry }[] = [
  {
    what: 'changed text',
    says: /damaged at record/,
    damage: (entry) => ({ ...entry, body: entry.body.replace('fine', 'fake') }),
  },
  {
    what: 'text that is no JSON',
    says: /damaged at record/,
    damage: (entry) => ({ ...entry, body: entry.body.slice(0, -5) }),
  },
  { what: 'another hash', says: /hash chain/, damage: (entry) => ({ ...entry, hash: 'x'.repeat(22) }) },
  { what: 'a record that is missing', says: /is missing/, damage: (entry) => ({ ...entry, first: entry.first + 1 }) },
]

onEveryStore('a damaged journal', (world) => {
  it.each(damages)('P2, HO3: $what parks the thread with its place; others go on', async ({ damage, says }) => {
    const code = 'JOURNAL_CORRUPT'
    const [bad, good] = await twoThreads(world)
    world.tap.entry = (entry) => (entry.thread === bad && entry.first > 2 ? damage(entry) : entry)
    const skein = await world.open(tinyApp({ script: () => 'still fine' }).app)
    const thread = await skein.threads.get(bad)
    const failed = await thread
      .send('hello?', { id: 'kept' })
      .result()
      .then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
    expect(failed).toMatchObject({
      code: 'THREAD_PARKED',
      message: expect.stringMatching(says),
      cause: { code, data: { thread: bad, seq: expect.any(Number) } },
    })
    expect(world.warnings.some((warning) => warning.includes(`${bad} is parked`))).toBe(true)
    await expect(thread.messages()).rejects.toMatchObject({ code })
    expect(await (await skein.threads.get(good)).send('and you?').text()).toBe('still fine')
    // Mended, it goes on with the mail that was kept.
    await world.close(skein)
    delete world.tap.entry
    const mended = await world.open(tinyApp({ script: () => 'back' }).app)
    const back = await mended.threads.get(bad)
    await until('the kept message', async () => (await back.messages()).some(({ id }) => id === 'kept'))
    expect(await back.run('kept').text()).toBe('back')
  })

  it('P2: a record of a newer version is refused with what to do', async () => {
    const [bad, good] = await twoThreads(world)
    const seq = await dreamed(world, bad)
    const skein = await world.open(tinyApp({ script: () => 'still fine' }).app)
    const thread = await skein.threads.get(bad)
    await expect(thread.messages()).rejects.toMatchObject({
      code: 'RECORD_FROM_FUTURE',
      message: expect.stringContaining('upgrade Skein'),
    })
    await expect(thread.send('hello?').result()).rejects.toMatchObject({
      code: 'THREAD_PARKED',
      cause: { code: 'RECORD_FROM_FUTURE', data: { thread: bad, seq, version: recordVersion + 1 } },
    })
    expect(await (await skein.threads.get(good)).send('and you?').text()).toBe('still fine')
  })
})

onEveryStore('damage that is met in the middle of a turn', (world) => {
  const torn = (): Promise<never> => Promise.reject(new SkeinError('JOURNAL_CORRUPT', 'a page is torn'))
  const parked = { code: 'THREAD_PARKED', message: expect.stringContaining('a page is torn') }

  async function drain(stream: AsyncIterable<unknown>): Promise<void> {
    for await (const _ of stream) void _
  }

  it('P2: whoever waits for the thread is told that it is parked, before and after; others go on', async () => {
    const [bad, good] = await twoThreads(world)
    world.tap.commit = (commit, go) => (commit.thread === bad && typesIn(commit).includes('turn.ended') ? torn() : go())
    const { app } = tinyApp({
      script: ({ step }) => (step === 0 ? calls('look') : 'still fine'),
      tools: [looseTool('look', () => 'seen')],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.get(bad)
    const run = thread.send('go on', { id: 'cut' })
    const wait = (): Promise<unknown>[] => [
      run.result(),
      run.toolCalls(),
      drain(run.fullStream),
      drain(run.textStream),
      thread.settled(),
      thread.settled({ tree: true }),
    ]
    await run.accepted()
    for (const when of ['before', 'after'])
      for (const result of await Promise.allSettled(wait()))
        expect(result, when).toMatchObject({ status: 'rejected', reason: parked })
    expect(await thread.run((await thread.messages())[0]?.id ?? '').text()).toBe('fine')
    expect(await (await skein.threads.get(good)).send('and you?').text()).toBe('still fine')
  })

  it('P2: whoever deletes its tree is told', async () => {
    const [bad, good] = await twoThreads(world)
    world.tap.remove = torn
    const skein = await world.open(tinyApp({ script: () => 'still fine' }).app)
    await expect(skein.threads.delete(bad, { terminate: true })).rejects.toMatchObject(parked)
    await expect(skein.threads.delete(bad, { terminate: true })).rejects.toMatchObject({ code: 'THREAD_PARKED' })
    delete world.tap.remove
    await skein.threads.delete(good, { terminate: true })
  })
})

onEveryStore('a mailbox that cannot be read', (world) => {
  it('HO3: of a parked thread is a warning, and harms nobody', async () => {
    const [bad, good] = await twoThreads(world)
    world.tap.entry = (entry) => (entry.thread === bad ? { ...entry, hash: 'x'.repeat(22) } : entry)
    const { source } = world.store
    const deaf: Store = {
      async open(role) {
        const backend = tapped({ open: async () => source.open(role) }, world.tap)
        const opened = await backend.open(role)
        const read: typeof opened.mailbox.read = async (thread, after) => {
          if (thread === bad) throw new Error('disk error')
          return opened.mailbox.read(thread, after)
        }
        return { ...opened, mailbox: { ...opened.mailbox, read } }
      },
    }
    const skein = await world.open(tinyApp({ script: () => 'still fine' }).app, { backend: deaf })
    const sent = (await skein.threads.get(bad)).send('hello?')
    await until('the warning', () => world.warnings.some((warning) => warning.includes('mail')))
    expect(await (await skein.threads.get(good)).send('and you?').text()).toBe('still fine')
    world.clock.advance(30_000)
    await expect(sent.accepted()).rejects.toMatchObject({ code: 'COMMAND_UNANSWERED' })
  })
})

onEveryStore('a file that someone wrote to', (world) => {
  /** Runs SQL on the closed store; memory has no file. */
  async function written(sql: string): Promise<void> {
    const database = await openDatabase(join(world.store.dir ?? '', 'skein.db'))
    database.exec(sql)
    database.close()
  }

  it('P2: a row changed with SQL is found on load', async () => {
    if (world.store.dir === undefined) return
    const [bad, good] = await twoThreads(world)
    await written(
      `UPDATE journal SET body = replace(body, 'fine', 'fake') WHERE tid = (SELECT tid FROM threads WHERE id = ` +
        `'${bad}')`,
    )
    const skein = await world.open(tinyApp({ script: () => 'still fine' }).app)
    await expect((await skein.threads.get(bad)).send('hello?').result()).rejects.toMatchObject({
      code: 'THREAD_PARKED',
      cause: { code: 'JOURNAL_CORRUPT' },
    })
    expect(await (await skein.threads.get(good)).send('and you?').text()).toBe('still fine')
  })

  it.each([
    ['path', `'["a'`],
    ['path', '17'],
    ['tags', `CAST(x'5b22fffe225d' AS TEXT)`],
    ['tags', `'{}'`],
    ['agent', `x'00'`],
    ['status', `CAST(x'80' AS TEXT)`],
    ['updated', `'soon'`],
    ['rest', `CAST(x'ff' AS TEXT)`],
    ['pending', `'[{}]'`],
    ['pending', `x'ff'`],
    ['more', `'[]'`],
    ['created', '1e300'],
    ['parent', `CAST(x'c0' AS TEXT)`],
  ])(
    'J11: a head with a damaged %s (%s) is told and left out of no list, and is made again from the journal',
    async (column, value) => {
      if (world.store.dir === undefined) return
      const [bad, good] = await twoThreads(world)
      await written(`UPDATE threads SET ${column} = ${value} WHERE id = '${bad}'`)
      const client = await connectSkein({ backend: world.store.source, clock: world.clock })
      const { threads } = await client.threads.list()
      expect(threads.find(({ thread }) => thread === good)).toMatchObject({ status: 'idle' })
      expect(threads.find(({ thread }) => thread === bad)).toMatchObject({
        status: 'damaged',
        damaged: expect.any(String),
      })
      expect((await client.threads.list({ tag: 'x' })).threads).toEqual([])
      expect(await client.inbox.list()).toEqual([])
      expect(await (await client.threads.get(bad)).messages()).toHaveLength(4)
      await client.close()
      const skein = await world.open(tinyApp({ script: () => 'still fine' }).app)
      expect(await (await skein.threads.get(bad)).send('hello?').text()).toBe('still fine')
      const mended = (await skein.threads.list()).threads
      expect(mended.map(({ thread, status, damaged }) => [thread, status, damaged])).toEqual([
        [bad, 'idle', undefined],
        [good, 'idle', undefined],
      ])
    },
  )

  it.each([
    ['is no UTF-8', `CAST(x'7bfffe7d' AS TEXT)`],
    ['is no JSON', `substr(body, 1, length(body) - 3)`],
    ['is a number', '7'],
    ['is empty', `''`],
    ['is another text', `replace(body, '"', char(39))`],
  ])(
    'P2: a record whose text %s is told by everything that reads, with the thread and what to do',
    async (_what, value) => {
      if (world.store.dir === undefined) return
      const [bad, good] = await twoThreads(world)
      await written(
        `UPDATE journal SET body = ${value} WHERE position = (SELECT max(position) FROM journal JOIN threads ` +
          `USING (tid) WHERE id = '${bad}')`,
      )
      const skein = await world.open(tinyApp({ script: () => 'still fine' }).app)
      const client = await connectSkein({ backend: world.store.source, clock: world.clock })
      const told = {
        code: 'JOURNAL_CORRUPT',
        message: expect.stringMatching(new RegExp(`thread ${bad} .*Restore`)),
        data: { thread: bad },
      }
      for (const { threads } of [skein, client]) {
        const thread = await threads.get(bad)
        for (const read of [
          () => thread.files.readdir('/'),
          () => thread.kv.list(),
          () => thread.kv.get('x'),
          () => thread.schedules(),
          () => thread.usage(),
          () => thread.messages(),
        ]) {
          await expect(read()).rejects.toMatchObject(told)
        }
        expect(await (await threads.get(good)).kv.list()).toEqual([])
      }
      await client.close()
    },
  )

  it('a damaged snapshot is no damage: everything is read from the journal', async () => {
    if (world.store.dir === undefined) return
    const app = tinyApp({ script: () => 'still fine' }).app
    const first = await world.open(app, { snapshotEvery: 3 })
    const { id } = await first.threads.create({ agent: 'helper', files: { '/a': 'text' } })
    await (await first.threads.get(id)).kv.set('x', 7)
    for (const text of ['one', 'two']) await (await first.threads.get(id)).send(text).result()
    await world.close(first)
    await written(`UPDATE snapshots SET body = zeroblob(20) || body`)
    const skein = await world.open(app)
    const thread = await skein.threads.get(id)
    expect([
      await thread.files.readFile('/a', 'utf8'),
      await thread.kv.get('x'),
      await thread.schedules(),
      (await thread.messages()).length,
    ]).toEqual(['text', 7, [], 4])
    expect(await thread.send('three').text()).toBe('still fine')
  })

  it('J2: an epoch that is damaged into a later one bars nobody for ever', async () => {
    if (world.store.dir === undefined) return
    const [bad] = await twoThreads(world)
    await written(`UPDATE threads SET epoch = epoch + 64 WHERE id = '${bad}'`)
    const skein = await world.open(tinyApp({ script: () => 'still fine' }).app)
    expect(await (await skein.threads.get(bad)).send('hello?').text()).toBe('still fine')
  })

  it('mail that cannot be read is refused, with a warning, and what came after it is carried out', async () => {
    if (world.store.dir === undefined) return
    const [id] = await twoThreads(world)
    const backend = await world.store.source.open('host')
    for (const mail of ['first', 'second'])
      await backend.mailbox.put({ to: id, id: mail, body: { command: { kind: 'send', text: mail } } })
    await backend.close()
    await written(`UPDATE mail SET body = CAST(x'7bff' AS TEXT) WHERE id = 'first'`)
    const skein = await world.open(tinyApp({ script: () => 'still fine' }).app)
    expect(await (await skein.threads.get(id)).send('hello?').text()).toBe('still fine')
    expect(world.warnings.some((warning) => /mail \d+ to thread .* is damaged/.test(warning))).toBe(true)
  })

  it('records that were acknowledged and are gone park their thread, and the sender is told at once', async () => {
    if (world.store.dir === undefined) return
    const [bad, good] = await twoThreads(world)
    await written(
      `DELETE FROM journal WHERE position = (SELECT max(position) FROM journal JOIN threads USING (tid) WHERE id ` +
        `= '${bad}')`,
    )
    const skein = await world.open(tinyApp({ script: () => 'still fine' }).app)
    const told = {
      code: 'JOURNAL_CORRUPT',
      message: expect.stringMatching(/ends at record \d+, and \d+ were acknowledged.*back-up/),
      data: { thread: bad },
    }
    await expect((await skein.threads.get(bad)).messages()).rejects.toMatchObject(told)
    await expect((await skein.threads.get(bad)).send('hello?').result()).rejects.toMatchObject({
      code: 'THREAD_PARKED',
      cause: told,
    })
    expect(await (await skein.threads.get(good)).send('and you?').text()).toBe('still fine')
  })
})
