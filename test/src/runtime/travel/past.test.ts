/** What a fork has of its source for good: blobs, secrets, an export; and how it is stored. */
import { describe, expect, test } from 'vitest'
import { memory } from '../../../../src/backend/memory/memory.js'
import { SkeinError } from '../../../../src/core/failure.js'
import { manualClock } from '../../../../src/core/manual-clock.js'
import { replay } from '../../../../src/testing.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { turn } from '../../../helpers/deferred.js'
import { tapped } from '../../../helpers/tap.js'

const key = '0123456789abcdef'.repeat(4)

describe('the past of a fork', () => {
  test('J10, P4: files of a fork outlive its source, whatever is swept', async () => {
    const store = memory()
    const long = 'x'.repeat(2_000)
    const { app } = tinyApp({
      script: ({ messages }) => (messages.at(-1)?.role === 'user' ? calls('note') : { text: long }),
      tools: [looseTool('note', async ({ files }) => void (await files.writeFile('/notes.txt', 'kept')))],
    })
    await using skein = await createSkein({ app, backend: store })
    const source = await skein.threads.create({ agent: 'helper', id: 'source' })
    for (let round = 0; round < 40; round++) await source.send(`hello ${round}`).result()
    const fork = await source.fork({ id: 'fork' })
    const [based] = await fork.records({ limit: 1 })
    expect(based).toMatchObject({ type: 'thread.based', past: { parts: [{ size: expect.any(Number) }] } })
    await skein.threads.delete('source')
    const backend = await store.open('host')
    while ((await backend.trees.sweep({ olderThanMs: 0 })).more) await turn()
    expect(await fork.files.readFile('/notes.txt', 'utf8')).toBe('kept')
    await fork.send('still there?').result()
    expect(await fork.messages()).toHaveLength(41 * 4)
    await backend.close()
  })

  test('P4, EP1: a fork opens the variables of its source, a thread of another tree does not; its export has no value', async () => {
    const store = memory()
    const seen: (string | undefined)[] = []
    const { app } = tinyApp({
      script: ({ messages }) => (messages.at(-1)?.role === 'user' ? calls('login') : 'in'),
      tools: [
        looseTool('login', async ({ env }) => void seen.push(await env('TOKEN').catch(() => undefined)), {
          variables: [{ name: 'TOKEN', type: 'secret', required: false }],
        }),
      ],
    })
    await using skein = await createSkein({ app, backend: store, key })
    const source = await skein.threads.create({ agent: 'helper', id: 'source', env: { TOKEN: 'hidden-value' } })
    await source.send('go').result()
    const fork = await source.fork({ id: 'fork' })
    await fork.send('go').result()
    await fork.env.set({ TOKEN: 'another-value' })
    await fork.send('go').result()
    const bare = await source.fork({ id: 'bare', env: 'drop' })
    await bare.send('go').result()
    expect(seen).toEqual(['hidden-value', 'hidden-value', 'another-value', ''])
    const exported = await fork.export()
    const sealed = JSON.stringify((await (await store.open('client')).journal.read('source')).map(({ body }) => body))
    const [, value = ''] = /"TOKEN\\*":\\*"(v1\.[^"\\]+)/.exec(sealed) ?? []
    expect(value).not.toBe('')
    expect(JSON.stringify(exported)).not.toContain(value)
    expect(await replay(exported, { app })).toMatchObject({ same: true })
  })
})

test('T10, P4: a rewind goes on after a crash at any of its commits, and undoes each effect once', async () => {
  for (let commits = 0; commits < 7; commits++) {
    const store = memory()
    const undone: string[] = []
    const { app } = tinyApp({
      script: ({ messages }) => (messages.at(-1)?.text === 'do it' ? calls('pay', 'pay') : 'done'),
      tools: [
        looseTool('pay', () => 'paid', {
          sideEffect: true,
          idempotent: true,
          revert: ({ idempotencyKey }) => void undone.push(idempotencyKey),
        }),
      ],
    })
    {
      await using skein = await createSkein({ app, backend: store })
      const thread = await skein.threads.create({ agent: 'helper', id: 'source' })
      await thread.send('hello').result()
      await thread.send('do it', { id: 'second' }).result()
    }
    let taken = 0
    const clock = manualClock(Date.now())
    const cut = tapped(store, {
      commit: (_, go) =>
        taken++ < commits ? go() : Promise.reject(new SkeinError('STORE_FAILED', 'the power is gone')),
    })
    const dying = await createSkein({ app, backend: cut, clock, warn: () => undefined })
    const asked = (await dying.threads.get('source'))
      .rewind({ to: { turn: 'second' }, revert: true })
      .catch(() => undefined)
    for (let turns = 0; turns < 30; turns++) await turn()
    const closed = dying.close()
    clock.advance(60_000)
    await closed
    await asked
    await using skein = await createSkein({ app, backend: store })
    const thread = await skein.threads.get('source')
    while ((await thread.info()).rewound === undefined) await turn()
    await thread.settled()
    expect(
      (await thread.messages()).map(({ text }) => text),
      `after ${commits}`,
    ).toEqual(['hello', 'done'])
    expect(new Set(undone).size).toBe(2)
    // An idempotent revert that may have run is run again, and no other.
    expect(undone.length).toBeLessThanOrEqual(3)
  }
})
