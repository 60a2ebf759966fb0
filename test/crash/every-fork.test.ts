/**
 * Forks at every record of a journal with all kinds of calls: each goes on to an end of its own, nothing of the source
 * is done again under its keys, and the source stays as it was.
 */
import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import { memory } from '../../src/backend/memory/memory.js'
import type { ThreadRecord } from '../../src/core/records/record.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { createScenario } from '../helpers/all-calls.js'
import { turn } from '../helpers/deferred.js'
import { times } from '../helpers/soak.js'

/** Goes on until the thread rests, deciding and answering what waits. */
async function finish(skein: Skein, id: string): Promise<void> {
  const thread = await skein.threads.get(id)
  for (let done = false; !done; await turn()) {
    for (const { id: item, why } of await skein.inbox.list({ thread: id }))
      await (why === 'approval' ? skein.inbox.approve(item) : skein.inbox.answer(item, 'yes'))
    done = (await thread.status()) === 'idle'
  }
}

const texts = async (skein: Skein, id: string): Promise<string[]> =>
  (await (await skein.threads.get(id)).messages()).map(({ text }) => text)

function openIntents(records: readonly ThreadRecord[]): number {
  const open = new Set<string>()
  for (const record of records) {
    if (record.type === 'call.began') open.add(`${record.step}/${record.index}`)
    if (record.type === 'call.returned') open.delete(`${record.step}/${record.index}`)
  }
  return open.size
}

test('P4: a fork at any record settles; the source is byte-equal, and no key of it is used again', async () => {
  const { app, keys } = createScenario()
  const store = memory()
  await using skein = await createSkein({ app, backend: store })
  const source = await skein.threads.create({ agent: 'helper', id: 'source' })
  await source.send('go', { id: 'm' }).accepted()
  await finish(skein, 'source')
  const records = await source.records({ limit: 10_000 })
  const expected = await texts(skein, 'source')
  const own = new Set(keys)
  expect(own.size).toBe(2)
  const backend = await store.open('client')
  const bytes = JSON.stringify(await backend.journal.read('source'))
  const every = times(3, 1)
  for (let seq = 1 + (records.length % every); seq <= records.length; seq += every) {
    const what = `fork at record ${seq} (${records[seq - 1]?.type})`
    const begun = keys.length
    const fork = await source.fork({ at: { seq }, effects: 'run', go: true, id: `f${seq}` })
    await finish(skein, fork.id)
    const kept = records.slice(0, seq)
    const wasAsked = kept.some(({ type }) => type === 'message.received')
    const said = wasAsked ? await texts(skein, fork.id) : expected
    const isUnknown = said.some((text) => text.includes('may have happened'))
    const same = isUnknown || isDeepStrictEqual(said, expected)
    expect(same, what).toBe(true)
    expect(isUnknown, what).toBe(wasAsked && openIntents(kept) > 0)
    expect(await fork.effects(), what).toHaveLength(keys.length - begun)
    expect(JSON.stringify(await backend.journal.read('source')), what).toBe(bytes)
  }
  expect(keys.slice(own.size).filter((key) => own.has(key))).toEqual([])
  expect(new Set(keys).size).toBe(keys.length)
  await backend.close()
})
