/**
 * States of threads that were let go: what a turn costs does not grow with their age, and nothing wrong is gone on
 * with.
 */
import { expect, it } from 'vitest'
import { createState } from '../../../../actors/thread/state.js'
import { RetainedStates } from '../../../../src/runtime/host/retained.js'
import { continueFrom, wakeWhole } from '../../../../src/runtime/journal/wake.js'
import type { Woken } from '../../../../src/runtime/journal/wake.js'
import { tinyApp } from '../../../helpers/app.js'
import { until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

onEveryStore('a host with more threads than it keeps awake', (world) => {
  it('reads as much for the sixtieth turn of a thread as for the tenth, and folds no record twice', async () => {
    const { app } = tinyApp({ script: ({ messages }) => `re ${messages.length}` })
    const skein = await world.open(app, { maxResident: 1, snapshotEvery: 50 })
    const threads = await Promise.all(['a', 'b', 'c', 'd'].map((id) => skein.threads.create({ agent: 'helper', id })))
    let read = { entries: 0, bytes: 0 }
    world.tap.entry = (entry) => {
      read = { entries: read.entries + 1, bytes: read.bytes + entry.body.length }
      return entry
    }
    const costs: { entries: number; bytes: number }[] = []
    for (let turn = 1; turn <= 60; turn++) {
      read = { entries: 0, bytes: 0 }
      for (const thread of threads) expect(await thread.send('go').text()).toBe(`re ${2 * turn - 1}`)
      await until('the others to be let go', () => skein.host.threadsAwake <= 1)
      costs.push(read)
    }
    const [early, late] = [costs.slice(5, 15), costs.slice(50)]
    const most = (of: readonly { entries: number; bytes: number }[]): { entries: number; bytes: number } => ({
      entries: Math.max(...of.map(({ entries }) => entries)),
      bytes: Math.max(...of.map(({ bytes }) => bytes)),
    })
    expect(most(late).entries).toBeLessThanOrEqual(most(early).entries)
    expect(most(late).bytes).toBeLessThanOrEqual(most(early).bytes * 1.2)
  })

  it('a state is gone on with as far as the journal has gone on, and not at all when it is another thread’s', async () => {
    const { app } = tinyApp({ script: () => 'fine' })
    const skein = await world.open(app, { maxResident: 0 })
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('one').result()
    const backend = await world.store.source.open('client')
    const before = await wakeWhole(backend, 't')
    await thread.send('two').result()
    const whole = await wakeWhole(backend, 't')
    const on = await continueFrom(backend, before)
    expect([on?.state, on?.chain, on?.folded]).toEqual([whole.state, whole.chain, whole.folded])
    await until('it to be let go', () => skein.host.threadsAwake === 0)
    await skein.threads.delete('t')
    expect(await continueFrom(backend, whole)).toBeUndefined()
    const again = await skein.threads.create({ agent: 'helper', id: 't' })
    expect(await again.send('three').text()).toBe('fine')
    expect((await again.messages()).map(({ text }) => text)).toEqual(['three', 'fine'])
    expect(await continueFrom(backend, whole)).toBeUndefined()
    await backend.close()
  })
})

const wokenOf = (id: string, letters: number): Woken => {
  const state = createState(id)
  state.path = [id]
  state.transcript.items.push({ id: 'm', role: 'user', text: 'x'.repeat(letters), at: 0 })
  state.said = letters
  return { state, chain: 'c', folded: 0, foldedBytes: 0, snapshotBytes: 0 }
}

it('what is large is not kept; where there is no room, every fourth takes the place of the oldest', () => {
  const dropped: string[] = []
  const retained = new RetainedStates(({ state }) => dropped.push(state.id), 200_000)
  for (const id of ['a', 'b', 'c', 'd']) retained.keep(wokenOf(id, 8_000))
  retained.keep(wokenOf('large', 20_000))
  expect(retained.take('large')).toBeUndefined()
  expect(retained.take('b')?.state.id).toBe('b')
  expect(retained.take('b')).toBeUndefined()
  for (let n = 0; n < 17; n++) retained.keep(wokenOf(`more-${n}`, 8_000))
  expect(dropped).toEqual(['large', 'more-13', 'more-14', 'more-15', 'a'])
  expect([retained.take('a'), retained.take('c')?.state.id, retained.take('more-16')?.state.id]).toEqual([
    undefined,
    'c',
    'more-16',
  ])
  retained.forget('more-12')
  expect([retained.take('more-12'), retained.take('more-11')?.state.id]).toEqual([undefined, 'more-11'])
  dropped.length = 0
  retained.dropAll()
  expect(dropped).toHaveLength(12)
  expect(dropped[0]).toBe('d')
})

onEveryStore('a thread that leaves memory', (world) => {
  it('is read from its snapshot with all messages: its next turn folds no history', async () => {
    const { app } = tinyApp({ script: ({ messages }) => `re ${messages.length}` })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    for (let turn = 1; turn <= 40; turn++) expect(await thread.send('go').text()).toBe(`re ${2 * turn - 1}`)
    await world.close(skein)
    const again = await world.open(app)
    const same = await again.threads.get('t')
    const { seq } = await same.info()
    const read: number[] = []
    world.tap.entry = (entry) => {
      read.push(entry.first)
      return entry
    }
    expect(await same.send('go').text()).toBe('re 81')
    expect(Math.min(...read)).toBeGreaterThan(seq - 5)
    delete world.tap.entry
    expect(await same.messages()).toHaveLength(82)
  })
})
