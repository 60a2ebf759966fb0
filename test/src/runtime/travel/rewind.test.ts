/** Rewinding: what counts afterwards, what is undone and in which order, and what happens when that fails. */
import { describe, expect, test } from 'vitest'
import { memory } from '../../../../src/backend/memory/memory.js'
import type { Store } from '../../../../src/backend/port.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { deferred } from '../../../helpers/deferred.js'
import { times } from '../../../helpers/soak.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { createFamilyApp } from '../../../helpers/tree.js'

interface Scene {
  readonly backend?: Store
  readonly fails?: () => boolean
  /** What a revert waits for. */
  readonly gate?: () => Promise<void>
}

function scene({ backend = memory(), fails = () => false, gate }: Scene = {}) {
  const world: string[] = []
  const { app } = tinyApp({
    script: ({ messages }) => {
      const last = messages.at(-1)
      if (last?.role === 'user' && last.text.startsWith('do'))
        return calls('note', { tool: 'charge', args: { n: 1 } }, { tool: 'charge', args: { n: 2 } })
      return { text: `said ${messages.length}` }
    },
    tools: [
      looseTool('note', async ({ files, kv }) => {
        await files.writeFile('/notes.txt', 'noted')
        await kv.set('noted', true)
        return 'noted'
      }),
      looseTool('charge', ({ idempotencyKey }, { n }) => void world.push(`charge ${String(n)} ${idempotencyKey}`), {
        sideEffect: true,
        revert: async ({ idempotencyKey }, args) => {
          await gate?.()
          if (fails() && (args as { n: number }).n === 1) throw new Error('the bank is closed')
          world.push(`revert ${(args as { n: number }).n} ${idempotencyKey}`)
          return 'reverted'
        },
      }),
    ],
  })
  return { world, open: () => createSkein({ app, backend }) }
}

describe('rewinding', () => {
  test('P4: a thread goes back: messages, files and values are as they were, and what follows goes on from there', async () => {
    const backend = memory()
    const { open, world } = scene({ backend })
    {
      await using skein = await open()
      const thread = await skein.threads.create({ agent: 'helper', id: 'source' })
      await (await thread.send('hello')).result()
      await (await thread.send('do it', { id: 'second' })).result()
      await expect(thread.rewind({ to: { turn: 'second' } })).rejects.toMatchObject({ code: 'EFFECTS_CROSSED' })
      await expect(thread.rewind({ to: { turn: 'second' }, revert: true, force: true })).rejects.toThrow(/not both/)
      expect(await thread.rewind({ to: { turn: 'second' }, dry: true })).toMatchObject({
        effects: [{ revert: true }, { revert: true }],
      })
      expect(await thread.rewind({ to: { turn: 'second' }, force: true })).toMatchObject({ reverted: [] })
      expect((await thread.messages()).map(({ text }) => text)).toEqual(['hello', 'said 1'])
      expect(await thread.files.exists('/notes.txt')).toBe(false)
      expect(await thread.kv.get('noted')).toBeUndefined()
      const rows = await thread.timeline()
      expect(rows.filter(({ undone }) => undone).map(({ kind, step }) => `${kind} ${step ?? ''}`.trim())).toEqual([
        'turn',
        'step 2',
        'step 3',
      ])
      expect(rows.at(-1)).toMatchObject({ kind: 'rewound' })
      await (await thread.send('again')).result()
    }
    await using skein = await open()
    const thread = await skein.threads.get('source')
    expect((await thread.messages()).map(({ text }) => text)).toEqual(['hello', 'said 1', 'again', 'said 3'])
    expect((await thread.messages({ before: Infinity, limit: 2 })).map(({ text }) => text)).toEqual(['again', 'said 3'])
    expect((await thread.view().now()).messages).toHaveLength(4)
    expect((await thread.export()).threads).toHaveLength(1)
    expect(world).toHaveLength(2)
  })

  test('T10, P4: reverts run newest first, each under the key of its call, and then the thread goes back', async () => {
    const { open, world } = scene()
    await using skein = await open()
    const thread = await skein.threads.create({ agent: 'helper', id: 'source' })
    await (await thread.send('hello')).result()
    await (await thread.send('do it', { id: 'second' })).result()
    const keys = world.map((line) => line.split(' ')[2])
    expect(await thread.rewind({ to: { turn: 'second' }, revert: true })).toMatchObject({
      reverted: ['call_2_2', 'call_2_1'],
    })
    expect(world.slice(2)).toEqual([`revert 2 ${keys[1]}`, `revert 1 ${keys[0]}`])
    expect((await thread.messages()).map(({ text }) => text)).toEqual(['hello', 'said 1'])
    expect(await thread.status()).toBe('idle')
    expect((await thread.fork({ at: { step: 1 }, dry: true })).effects).toEqual([])
  })

  test.each([
    ['its turn', { to: { turn: 'second' }, revert: true }],
    ['the turn that it waited for', { to: { step: 1 }, revert: true }],
    ['the record that received it', { to: { seq: 2 }, force: true }],
  ] as const)('P4: nothing goes on by itself where a message waited: before %s', async (_, options) => {
    const { open, world } = scene()
    await using skein = await open()
    const thread = await skein.threads.create({ agent: 'helper', id: 'source' })
    const first = thread.send('do one', { id: 'first' })
    await thread.send('do two', { id: 'second', delivery: 'new_turn' }).result()
    await first.result()
    const records = (await thread.records()).map(({ type }) => type)
    expect(records.indexOf('turn.ended')).toBeGreaterThan(records.lastIndexOf('message.received'))
    const paid = (): number => world.filter((line) => line.startsWith('charge')).length
    expect(paid()).toBe(4)
    await thread.rewind(options)
    await thread.settled()
    expect([await thread.status(), paid()]).toEqual(['paused', 4])
    await thread.resume()
    await thread.settled()
    expect(paid()).toBeGreaterThan(4)
  })

  test('H1, P4: effects and timeline say which call a revert undoes, and what was undone', async () => {
    let closed = true
    const { open } = scene({ fails: () => closed })
    await using skein = await open()
    const thread = await skein.threads.create({ agent: 'helper', id: 'source' })
    await (await thread.send('do it', { id: 'first' })).result()
    const told = async () =>
      (await thread.effects()).map(({ call, state, reverts, undone }) => [call, state, reverts, undone])
    await expect(thread.rewind({ to: { step: 0 }, revert: true })).rejects.toMatchObject({ code: 'REVERT_FAILED' })
    expect(await told()).toEqual([
      ['call_1_1', 'done', undefined, undefined],
      ['call_1_2', 'done', undefined, true],
      ['call_3_0', 'done', 'call_1_2', undefined],
      ['call_3_1', 'failed', 'call_1_1', undefined],
    ])
    closed = false
    await thread.rewind({ to: { step: 0 }, revert: true })
    expect((await told()).filter(([, , , undone]) => undone).map(([call]) => call)).toEqual(['call_1_1', 'call_1_2'])
    const listed = (await thread.timeline()).flatMap((row) => row.calls ?? [])
    expect(listed.map(({ call, effect, reverts, undone }) => [call, effect, reverts, undone])).toEqual([
      ['call_1_0', undefined, undefined, undefined],
      ['call_1_1', 'done', undefined, true],
      ['call_1_2', 'done', undefined, true],
      ['call_3_0', 'done', 'call_1_2', undefined],
      ['call_3_1', 'failed', 'call_1_1', undefined],
      ['call_5_0', 'done', 'call_1_1', undefined],
    ])
    const [, , page] = await thread.timeline({ limit: 2 }).then((rows) => rows[1]?.calls ?? [])
    expect(page).toMatchObject({ call: 'call_1_2', undone: true })
  })

  test('P4: a message that comes while effects are undone has a turn of its own', async () => {
    const [began, gate] = [deferred(), deferred()]
    const { open } = scene({
      gate: () => {
        began.resolve()
        return gate.promise
      },
    })
    await using skein = await open()
    const thread = await skein.threads.create({ agent: 'helper', id: 'source' })
    await thread.send('hello').result()
    await (await thread.send('do it', { id: 'first' })).result()
    const back = thread.rewind({ to: { turn: 'first' }, revert: true })
    await began.promise
    const run = thread.send('hello again')
    await run.accepted()
    gate.resolve()
    await back
    expect(await run.result()).toMatchObject({ text: 'said 3', stopReason: 'completed' })
  })

  test('P4: a revert that fails leaves the thread where it stood, and says what was undone', async () => {
    let closed = true
    const { open, world } = scene({ fails: () => closed })
    await using skein = await open()
    const thread = await skein.threads.create({ agent: 'helper', id: 'source' })
    await (await thread.send('hello')).result()
    await (await thread.send('do it', { id: 'second' })).result()
    await expect(thread.rewind({ to: { turn: 'second' }, revert: true })).rejects.toMatchObject({
      code: 'REVERT_FAILED',
      message: expect.stringMatching(/call_2_1.*bank is closed.*undone before that: charge \(call_2_2\)/s),
    })
    expect(await thread.status()).toBe('failed')
    expect(await thread.files.exists('/notes.txt')).toBe(true)
    closed = false
    expect(await thread.rewind({ to: { turn: 'second' }, revert: true })).toMatchObject({ reverted: ['call_2_1'] })
    expect(world.filter((line) => line.startsWith('revert')).map((line) => line.split(' ')[1])).toEqual(['2', '1'])
    expect((await thread.messages()).map(({ text }) => text)).toEqual(['hello', 'said 1'])
  })

  test('P4: what threads below it have done counts, for a rewind and for a fork of the thread alone', async () => {
    const world: string[] = []
    const charge = looseTool('charge', () => void world.push('charge'), { sideEffect: true, revert: () => 'reverted' })
    const app = createFamilyApp({
      tools: [charge],
      writer: ({ step }) => (step === 0 ? calls({ tool: 'charge', args: {} }) : 'written'),
    })
    await using skein = await createSkein({ app, backend: memory() })
    const thread = await skein.threads.create({ agent: 'lead', id: 'source' })
    await thread.send('go', { id: 'm' }).result()
    await thread.settled()
    expect(world).toHaveLength(3)
    const effects = Array.from({ length: 3 }, () => ({ tool: 'charge', state: 'done' }))
    const crossed = { code: 'EFFECTS_CROSSED', data: { crossing: { effects } } }
    await expect(thread.fork({ at: { step: 0 } })).rejects.toMatchObject(crossed)
    await expect(thread.rewind({ to: { step: 0 } })).rejects.toMatchObject(crossed)
    await expect(thread.rewind({ to: { step: 0 }, revert: true })).rejects.toThrow(/threads below this one/)
    expect(await thread.rewind({ to: { step: 0 }, force: true })).toMatchObject({ reverted: [] })
    expect(world).toHaveLength(3)
  })

  test('P4: in the middle of a turn it is one that failed there, and resume goes on with it; chains of rewinds end', async () => {
    const { open } = scene()
    await using skein = await open()
    const thread = await skein.threads.create({ agent: 'helper', id: 'source' })
    await (await thread.send('do it')).result()
    await thread.rewind({ to: { step: 1 }, force: true })
    expect(await thread.status()).toBe('failed')
    expect((await thread.messages()).map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'tool', 'tool'])
    await thread.resume()
    await thread.settled()
    expect((await thread.messages()).at(-1)?.text).toBe('said 5')
    for (let round = 0; round < times(6, 30); round++) {
      const run = `round_${round}`
      await (await thread.send(`hello ${round}`, { id: run })).result()
      await thread.rewind({ to: { turn: run }, force: true })
    }
    expect((await thread.messages()).at(-1)?.text).toBe('said 5')
    await expect(thread.rewind({ to: { seq: 9_999 } })).rejects.toMatchObject({ code: 'BAD_OPTION' })
  })
})
