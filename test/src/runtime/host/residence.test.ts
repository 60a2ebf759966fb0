/** Which threads are in memory: resting ones are let go and woken again, from a snapshot where they have one. */
import { expect, it } from 'vitest'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { family, write } from '../../../helpers/family.js'
import { typesIn } from '../../../helpers/tap.js'
import { onEveryStore } from '../../../helpers/world.js'
import { wake, wakeWhole } from '../../../../src/runtime/journal/wake.js'

onEveryStore('passivation', (world) => {
  it('fifty threads need no more room than maxResident, and all still answer', async () => {
    const { app } = tinyApp({ script: ({ messages }) => `re ${messages.filter(({ role }) => role === 'user').length}` })
    const skein = await world.open(app, { maxResident: 2 })
    const threads = await Promise.all(Array.from({ length: 50 }, () => skein.threads.create({ agent: 'helper' })))
    for (const round of [1, 2, 3]) {
      const answers = await Promise.all(threads.map((thread) => thread.send('go').text()))
      expect(new Set(answers)).toEqual(new Set([`re ${round}`]))
      await until('the threads to be let go', () => skein.host.threadsAwake <= 2)
    }
  })

  it('a thread with work in flight stays', async () => {
    const end = deferred()
    const { app } = tinyApp({ script: [calls('slow'), 'done'], tools: [looseTool('slow', () => end.promise)] })
    const skein = await world.open(app, { maxResident: 0 })
    const thread = await skein.threads.create({ agent: 'helper' })
    await until('it to be let go', () => skein.host.threadsAwake === 0)
    const run = thread.send('go')
    await run.accepted()
    await quiet()
    expect(skein.host.threadsAwake).toBe(1)
    end.resolve()
    await run.result()
    await until('it to be let go again', () => skein.host.threadsAwake === 0)
  })

  it('L1: a paused thread whose deadline has just come is not let go with it', async () => {
    const { app } = tinyApp({ script: () => 'done' })
    const skein = await world.open(app, { maxResident: 1, limits: { maxWallClockMs: 1_000 } })
    const [paused, other] = [
      await skein.threads.create({ agent: 'helper' }),
      await skein.threads.create({ agent: 'helper' }),
    ]
    const reached = deferred()
    const release = deferred()
    world.tap.commit = async (commit, go) => {
      const result = await go()
      if (commit.thread !== other.id || !typesIn(commit).includes('turn.ended')) return result
      reached.resolve()
      await release.promise
      return result
    }
    // The other's turn is over but for its commit, then the paused one comes to rest last.
    world.clock.advance(1)
    const otherRun = other.send('go')
    await reached.promise
    await paused.pause()
    const run = paused.send('go')
    await run.accepted()
    await quiet()
    world.clock.advance(1_000)
    release.resolve()
    await otherRun.accepted()
    await until('the end of the paused turn', async () => {
      world.clock.advance(0)
      return (await paused.info()).wakeAt === undefined
    })
    expect((await run.result()).stopReason).toBe('deadline')
  })
})

onEveryStore('snapshots', (world) => {
  it('P1: a long thread is woken from its snapshot and knows all it knew', async () => {
    const { app, model } = tinyApp({
      script: ({ step }) => (step < 5 ? calls('look') : 'done'),
      tools: [looseTool('look', (_, args) => args)],
    })
    const skein = await world.open(app, { maxResident: 0, snapshotEvery: 200 })
    const thread = await skein.threads.create({ agent: 'helper' })
    for (let turn = 0; turn < 20; turn++) {
      await thread.send(`turn ${turn}`, { id: `m${turn}` }).result()
      await until('it to be let go', () => skein.host.threadsAwake === 0)
    }
    expect((await thread.info()).seq).toBeGreaterThan(250)
    await world.close(skein)

    const backend = await world.store.source.open('host')
    expect(await backend.snapshots.get(thread.id)).toBeDefined()
    const [part, whole] = [await wake(backend, thread.id), await wakeWhole(backend, thread.id)]
    expect(part.state.transcript.skipped).toBeGreaterThan(100)
    expect(part.folded).toBeLessThan(250)
    expect({ ...part.state, transcript: undefined }).toEqual({ ...whole.state, transcript: undefined })
    expect(part.chain).toBe(whole.chain)
    expect([
      ...whole.state.transcript.items.slice(0, part.state.transcript.skipped),
      ...part.state.transcript.items,
    ]).toEqual(whole.state.transcript.items)
    await backend.close()

    const again = await world.open(app)
    const same = await again.threads.get(thread.id)
    const before = await same.messages()
    await same.send('one more').result()
    // The model is asked with the whole transcript, not with the tail that was in memory.
    const asked = model.requests.at(-6)?.messages ?? []
    expect(asked.map(({ text }) => text)).toEqual([...before.map(({ text }) => text), 'one more'])
    expect(await same.send('again', { id: 'm3' }).text()).toBe('done')
    expect((await same.messages()).length).toBe(before.length + 12)
  })

  it('the snapshots of a parent are together no longer than its journal, however many children it has', async () => {
    const children = 200
    const app = family({
      lead: ({ step }) =>
        step === 0 ? { calls: Array.from({ length: children }, (_, index) => write(`section ${index}`)) } : 'done',
      writer: () => 'written',
    })
    const skein = await world.open(app, { snapshotEvery: 20 })
    const thread = await skein.threads.create({ agent: 'lead' })
    const sizes: number[] = []
    world.tap.snapshot = (of, { length }) => void (of === thread.id && sizes.push(length))
    expect(await thread.send('go').text()).toBe('done')
    const { seq } = await thread.info()
    await world.close(skein)
    expect(seq).toBeGreaterThan(children * 2)
    expect(sizes.length).toBeGreaterThan(0)
    const backend = await world.store.source.open('host')
    const journal = (await backend.journal.read(thread.id)).reduce((bytes, { body }) => bytes + body.length, 0)
    expect(sizes.slice(0, -1).reduce((bytes, size) => bytes + size, 0)).toBeLessThanOrEqual(journal)
    // One that finds it there goes on counting.
    const { folded, foldedBytes, snapshotBytes } = await wake(backend, thread.id)
    expect(snapshotBytes).toBe(sizes.at(-1))
    expect(folded < 20 || foldedBytes < snapshotBytes).toBe(true)
    await backend.close()
  })

  it('P2, HO3: damage before the snapshot parks the thread when its history is needed; mended, the turn goes on', async () => {
    const { app } = tinyApp({
      script: ({ step }) => (step < 20 ? calls({ tool: 'look', args: { step } }) : 'done'),
      tools: [looseTool('look', () => 1)],
    })
    const skein = await world.open(app, { snapshotEvery: 200 })
    const thread = await skein.threads.create({ agent: 'helper' })
    for (let turn = 0; turn < 7; turn++) await thread.send('go').result()
    await world.close(skein)
    world.tap.entry = (entry) => (entry.first < 20 ? { ...entry, hash: 'x'.repeat(22) } : entry)
    const again = await world.open(app)
    const same = await again.threads.get(thread.id)
    // Where reading takes longer than writing, the message is durable before the damage is met.
    const answer = await same
      .send('more', { id: 'more' })
      .accepted()
      .then(
        () => 'accepted',
        (thrown: { readonly code: string }) => thrown.code,
      )
    expect(world.store.shared ? ['accepted', 'THREAD_PARKED'] : ['THREAD_PARKED']).toContain(answer)
    await until('it is parked', () => world.warnings.includes(`thread ${thread.id} is parked`))
    await expect(same.inject('anyone?')).rejects.toMatchObject({ code: 'THREAD_PARKED' })
    await world.close(again)
    delete world.tap.entry
    const mended = await world.open(app)
    // The message was kept; to send it again is to ask for its run.
    expect(await (await mended.threads.get(thread.id)).send('more', { id: 'more' }).text()).toBe('done')
  })

  it('J6: without its snapshot, or with one that cannot be read, it is the same thread', async () => {
    const { app } = tinyApp({
      script: ({ step }) => (step < 20 ? calls({ tool: 'look', args: { step } }) : 'done'),
      tools: [looseTool('look', () => 1)],
    })
    const skein = await world.open(app, { snapshotEvery: 200 })
    const thread = await skein.threads.create({ agent: 'helper' })
    for (let turn = 0; turn < 7; turn++) await thread.send('go').result()
    const before = await thread.messages()
    await world.close(skein)
    const backend = await world.store.source.open('host')
    await backend.snapshots.put(thread.id, Buffer.from('not a snapshot at all'))
    await backend.close()
    const again = await world.open(app)
    const same = await again.threads.get(thread.id)
    expect(await same.messages()).toEqual(before)
    expect(await same.send('more').text()).toBe('done')
  })
})
