/** Trees that are deleted, by hand and by retention rules. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { collect, deferred, quiet, until } from '../../../helpers/deferred.js'
import { tapped } from '../../../helpers/tap.js'
import type { Tap } from '../../../helpers/tap.js'
import { createFamilyApp } from '../../../helpers/tree.js'
import { onEveryStore } from '../../../helpers/world.js'

const all = async (skein: Skein): Promise<string[]> => (await skein.threads.list()).threads.map(({ thread }) => thread)

onEveryStore('delete', (world) => {
  it('F8: a finished tree is gone with its messages and files; others stay; its id can be used again', async () => {
    const skein = await world.open(createFamilyApp())
    for (const id of ['lead', 'other']) {
      const thread = await skein.threads.create({ agent: 'lead', id, files: { '/own.txt': id } })
      await thread.send('go').result()
      await thread.settled({ tree: true })
    }
    const before = (await all(skein)).length
    expect(before).toBeGreaterThan(8)
    const lead = await skein.threads.get('lead')
    await skein.threads.delete('lead')
    expect((await skein.threads.list({ root: 'lead' })).threads).toEqual([])
    expect((await all(skein)).length).toBe(before / 2)
    await expect(skein.threads.get('lead')).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
    await expect(lead.messages()).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
    // Late mail is refused, and makes nothing.
    await expect(lead.send('still there?').text()).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
    await expect(lead.kv.set('x', 1)).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
    await quiet()
    expect(await all(skein)).not.toContain('lead')
    await expect(skein.threads.delete('lead')).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
    const again = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect([await again.messages(), await again.files.readdir('/')]).toEqual([[], []])
    await again.send('go').result()
    await again.settled({ tree: true })
    expect((await all(skein)).length).toBe(before)
    const other = await skein.threads.get('other')
    expect(await other.files.readFile('/own.txt', 'utf8')).toBe('other')
    expect(world.warnings).toEqual([])
  })

  it('F8: a deletion that arrives again does not delete the thread that has the id by now', async () => {
    const sent: (() => Promise<void>)[] = []
    const mail: Tap['mail'] = ({ body }, put) => void (JSON.stringify(body).includes('"delete"') && sent.push(put))
    const { app } = tinyApp({ script: () => 'ok' })
    const skein = await world.open(app)
    await skein.threads.create({ agent: 'helper', id: 'order' })
    // What a caller in the host's process sends passes no mailbox, and cannot arrive twice.
    const client = await connectSkein({ backend: tapped(world.store.source, { mail }), clock: world.clock })
    await client.threads.delete('order')
    world.clock.advance(10)
    const again = await skein.threads.create({ agent: 'helper', id: 'order' })
    expect(sent).toHaveLength(1)
    for (const put of sent) await put()
    expect(await again.send('there?').text()).toBe('ok')
    await quiet()
    expect(await again.status()).toBe('idle')
    await client.close()
  })

  it('F8: what is at work is refused, unless it is terminated first; a child is refused with the name of its root', async () => {
    const began = deferred()
    const slow = looseTool('slow', ({ signal }) => {
      began.resolve()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    })
    const skein = await world.open(createFamilyApp({ writer: () => calls('slow'), tools: [slow] }))
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = lead.send('go')
    await began.promise
    await until('a writer', async () => (await skein.threads.list({ agent: 'writer' })).threads.length > 0)
    await expect(skein.threads.delete('lead')).rejects.toMatchObject({
      code: 'COMMAND_REFUSED',
      message: expect.stringContaining('terminate: true'),
    })
    const [writer] = (await skein.threads.list({ agent: 'writer' })).threads
    await expect(skein.threads.delete(writer?.thread ?? '')).rejects.toMatchObject({
      code: 'COMMAND_REFUSED',
      message: expect.stringContaining('by its root lead'),
    })
    expect((await lead.info()).status).toBe('waiting')
    const early = run.result()
    const watching = collect(skein.events({ root: 'lead' }))
    watching.catch(() => undefined)
    await skein.threads.delete('lead', { terminate: true })
    expect(await all(skein)).toEqual([])
    // Who looks too late sees that there is nothing any more.
    expect(await early).toMatchObject({ stopReason: 'terminated' })
    await expect(run.result()).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
    await expect(watching).rejects.toMatchObject({
      code: 'UNKNOWN_THREAD',
      message: expect.stringContaining('deleted'),
    })
    expect(skein.host.threadsAwake).toBe(0)
  })

  it('F8: a client deletes, two at once delete once, and nothing of it is left to wake', async () => {
    const { app } = tinyApp({ script: () => 'hello', tools: [looseTool('note', () => 'x')] })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('go').result()
    await thread.schedule('note', {}, { delayMs: 1_000 })
    const client = await connectSkein({ backend: world.store.source, clock: world.clock })
    const both = await Promise.allSettled([client.threads.delete('t'), client.threads.delete('t')])
    const outcomes = both.map((each) => (each.status === 'fulfilled' ? 'gone' : String(each.reason.code)))
    expect(outcomes).toContain('gone')
    expect(['gone', 'UNKNOWN_THREAD']).toEqual(expect.arrayContaining(outcomes))
    await client.close()
    world.clock.advance(5_000)
    await quiet()
    expect([await all(skein), skein.host.threadsAwake, world.clock.pending]).toEqual([[], 0, 0])
  })

  it('F8, P1: a host that ends after the word and before the deed leaves a whole tree, and the next one removes it', async () => {
    let skein = await world.open(createFamilyApp())
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go').result()
    await lead.settled({ tree: true })
    const whole = (await all(skein)).length
    world.tap.remove = () => Promise.reject(new Error('the power is gone'))
    const deleting = skein.threads.delete('lead')
    deleting.catch(() => undefined)
    await until('the word', async () => (await lead.info()).status === 'terminated')
    await quiet(50)
    expect((await all(skein)).length).toBe(whole)
    const closing = world.close(skein)
    world.clock.advance(60_000)
    await closing
    await expect(deleting).rejects.toMatchObject({ code: 'STORE_CLOSED' })
    delete world.tap.remove
    skein = await world.open(createFamilyApp())
    await until('the end', async () => {
      world.clock.advance(0)
      return (await all(skein)).length === 0
    })
    expect(await all(skein)).toEqual([])
  })
})

onEveryStore('what is left of it on a disk', (world) => {
  it('F8: no message and no key of a deleted tree is in any byte of the folder', async () => {
    const { dir, source } = world.store
    if (dir === undefined) return // memory has no file
    const { app } = tinyApp({
      script: ({ messages }) => `so: ${messages.at(-1)?.text}`,
      tools: [looseTool('pay', () => 'x', { variables: [{ name: 'PIN' }] })],
    })
    const skein = await world.open(app)
    for (const id of ['gone', 'kept']) {
      const thread = await skein.threads.create({ agent: 'helper', id, env: { PIN: `sesame-of-${id}` } })
      await thread.send(`a word of ${id}`).result()
    }
    const reader = await source.open('client')
    const wrapped = (await reader.journal.read('gone')).flatMap(
      ({ body }) => /"keys":\["([^"]+)"/.exec(body)?.[1] ?? [],
    )
    await reader.close()
    expect(wrapped.length).toBeGreaterThan(0)
    const holders = async (text: string): Promise<string> =>
      promisify(execFile)('grep', ['-rlaF', '--', text, dir]).then(
        ({ stdout }) => stdout,
        () => '',
      )
    for (const text of [...wrapped, 'a word of gone']) expect(await holders(text)).not.toBe('')
    await skein.threads.delete('gone')
    for (const text of [...wrapped, 'a word of gone'])
      await until('the end of it', async () => (await holders(text)) === '')
    expect(await holders('a word of kept')).not.toBe('')
  })
})

onEveryStore('retention', (world) => {
  it('F8, JT2: finished trees go after their time, idle ones by their own rule, and what is awaited or scheduled stays', async () => {
    const asks = looseTool('sign', () => 'signed', { needsApproval: true })
    const { app } = tinyApp({
      script: ({ messages }) => (messages.at(-1)?.text === 'ask' ? calls('sign') : 'hello'),
      tools: [asks, looseTool('note', () => 'x')],
    })
    const skein = await world.open(app, { retention: { finishedTreesMs: 60_000, idleTreesMs: 600_000 } })
    for (const id of ['ended', 'idle', 'asking', 'planned']) {
      const thread = await skein.threads.create({ agent: 'helper', id })
      await thread.send(id === 'asking' ? 'ask' : 'hi').accepted()
      await thread.settled()
    }
    await (await skein.threads.get('ended')).terminate()
    await (await skein.threads.get('planned')).schedule('note', {}, { delayMs: 10_000_000 })
    const pass = async (ms: number): Promise<string[]> => {
      for (let passed = 0; passed < ms; passed += 6_000) {
        world.clock.advance(6_000)
        await quiet(30)
      }
      return all(skein)
    }
    expect(await pass(54_000)).toEqual(['ended', 'idle', 'asking', 'planned'])
    expect(await pass(18_000)).toEqual(['idle', 'asking', 'planned'])
    // Whoever is spoken to is young again.
    await (await skein.threads.get('idle')).send('more').result()
    expect(await pass(560_000)).toEqual(['idle', 'asking', 'planned'])
    expect(await pass(70_000)).toEqual(['asking', 'planned'])
    expect(world.warnings).toEqual([])
  })

  it('F8: without rules nothing is ever deleted, and no clock runs', async () => {
    const skein = await world.open(tinyApp({ script: () => 'x' }).app)
    await (await skein.threads.create({ agent: 'helper', id: 't' })).terminate()
    expect(world.clock.pending).toBe(0)
    world.clock.advance(1e12)
    await quiet()
    expect(await all(skein)).toEqual(['t'])
  })
})
