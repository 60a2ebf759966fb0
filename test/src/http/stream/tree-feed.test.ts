/** R2, H1: many streams of one tree share what they are told; who reads slowly is cut off and goes on. */
import { afterEach, expect, it } from 'vitest'
import type { Skein } from '../../../../src/index.js'
import { createHandler } from '../../../../src/server.js'
import type { HandlerOptions, SkeinHandler } from '../../../../src/server.js'
import { tinyApp } from '../../../helpers/app.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { keyAuth, keys } from '../../../helpers/served.js'
import { onEveryStore } from '../../../helpers/world.js'

interface Told {
  readonly event: string
  readonly id: string | undefined
  readonly data: { readonly type?: string; readonly text?: string; readonly step?: number; readonly offset?: number }
}

const openStreams: Stream[] = []
afterEach(() => {
  for (const each of openStreams.splice(0)) each.leave()
})

/** A client that reads as much as it is told to. */
class Stream {
  readonly told: Told[] = []
  isOver = false
  #text = ''
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>

  constructor({ body }: Response) {
    if (!body) throw new Error('no body')
    this.#reader = body.getReader()
    openStreams.push(this)
  }

  get ids(): readonly string[] {
    return this.told.flatMap(({ id }) => (id === undefined ? [] : [id]))
  }

  async read(): Promise<void> {
    const { done, value } = await this.#reader.read()
    this.isOver = done
    this.#text += Buffer.from(value ?? []).toString()
    const whole = this.#text.split('\n\n')
    this.#text = whole.pop() ?? ''
    for (const part of whole) {
      const fields = new Map(part.split('\n').map((line) => [line.slice(0, line.indexOf(':')), line]))
      const field = (name: string) => fields.get(name)?.slice(name.length + 2)
      const event = field('event')
      if (event !== undefined) this.told.push({ event, id: field('id'), data: JSON.parse(field('data') ?? 'null') })
    }
  }

  async readTo(last: string): Promise<void> {
    while (!this.isOver && this.ids.at(-1) !== last) await this.read()
  }

  leave(): void {
    void this.#reader.cancel()
  }
}

async function stream(handler: SkeinHandler, { root = 'tree', from }: { root?: string; from?: string } = {}) {
  const query = from === undefined ? '' : `?from=${from}`
  return new Stream(await handler.fetch(new Request(`http://localhost/trees/${root}/events${query}`)))
}

async function cursors(skein: Skein): Promise<readonly string[]> {
  const all: string[] = []
  for await (const event of skein.events({ root: 'tree', until: 'now' })) if ('cursor' in event) all.push(event.cursor)
  return all
}

onEveryStore('streams of one tree', (world) => {
  const open = async (options: Partial<HandlerOptions> = {}) => {
    const skein = await world.open(tinyApp({ script: () => 'done' }).app)
    const thread = await skein.threads.create({ agent: 'helper', id: 'tree' })
    return { skein, thread, handler: createHandler(skein, { auth: 'none', ...options }) }
  }

  it('R2, TF1: clients that come at any time are given each event once, and the journal is read for one of them', async () => {
    const { skein, thread, handler } = await open()
    const clients = [await stream(handler), await stream(handler)]
    for (const client of clients) await client.readTo((await cursors(skein)).at(-1) ?? '')
    let read = 0
    world.tap.entry = (entry) => {
      read++
      return entry
    }
    for (let turn = 0; turn < 5; turn++) await thread.send(`${turn}`, { id: `m${turn}` }).result()
    await thread.settled()
    await quiet()
    const alone = read
    const all = await cursors(skein)
    // From the beginning, from the middle, and from the end.
    for (const from of [undefined, all[0], all[7], all.at(-1)])
      clients.push(await stream(handler, from === undefined ? {} : { from }))
    for (let more = 0; more < 20; more++) clients.push(await stream(handler, { from: all.at(-2) ?? '' }))
    for (const client of clients.slice(-20)) await client.readTo(all.at(-1) ?? '')
    read = 0
    for (let turn = 5; turn < 10; turn++) await thread.send(`${turn}`, { id: `m${turn}` }).result()
    await thread.settled()
    await quiet()
    expect(read).toBeLessThan(2 * alone)
    delete world.tap.entry
    const now = await cursors(skein)
    for (const client of clients) await client.readTo(now.at(-1) ?? '')
    const places = [0, 0, 0, 1, 8, all.length]
    for (const [index, { ids }] of clients.slice(0, 6).entries()) expect(ids).toEqual(now.slice(places[index]))
    for (const { ids } of clients.slice(6)) expect(ids).toEqual(now.slice(all.length - 1))
  })

  it('R2, TF2: a client that does not read is cut off, its tree holds no more than it may, and it goes on by its id', async () => {
    const { skein, thread, handler } = await open({ maxBuffered: 12 })
    const [slow, fast] = [await stream(handler), await stream(handler)]
    for (const client of [slow, fast]) await client.readTo((await cursors(skein)).at(-1) ?? '')
    for (let turn = 0; turn < 6; turn++) {
      await thread.send(`${turn}`, { id: `m${turn}` }).result()
      await fast.readTo((await cursors(skein)).at(-1) ?? '')
    }
    const all = await cursors(skein)
    expect(fast.ids).toEqual(all)
    while (!slow.isOver) await slow.read()
    expect(slow.told.at(-1)).toMatchObject({ event: 'lagging', data: { code: 'STREAM_LAGGED' } })
    const again = await stream(handler, { from: slow.ids.at(-1) ?? '' })
    await again.readTo(all.at(-1) ?? '')
    expect([...slow.ids, ...again.ids]).toEqual(all)
  })

  it('R2: a cursor of a tree that is no more is told, also while others stream the tree', async () => {
    const { skein, thread, handler } = await open()
    const first = await stream(handler)
    await thread.send('hi', { id: 'm' }).result()
    const all = await cursors(skein)
    await first.readTo(all.at(-1) ?? '')
    for (const from of ['99999999.1', `${all.at(-1)?.split('.')[0]}.99`]) {
      const lost = await stream(handler, { from })
      await lost.readTo(all.at(-1) ?? '')
      expect(lost.told.filter(({ event }) => event !== 'clock')[0]).toMatchObject({ event: 'reset' })
      expect(lost.ids).toEqual(all)
    }
  })

  it('R2: when the last client has gone, nothing stays subscribed; a tree that is deleted ends its streams', async () => {
    const subscribed = { count: 0 }
    const { skein, thread, handler } = await open()
    await quiet()
    world.tap.subscribed = () => {
      subscribed.count++
      return () => void subscribed.count--
    }
    const clients = [await stream(handler), await stream(handler), await stream(handler)]
    for (const client of clients) await client.readTo((await cursors(skein)).at(-1) ?? '')
    for (const client of clients) client.leave()
    await quiet()
    expect(subscribed.count).toBe(0)
    const [one, other] = [await stream(handler), await stream(handler)]
    for (const client of [one, other]) await client.readTo((await cursors(skein)).at(-1) ?? '')
    await skein.threads.delete(thread.id, { terminate: true })
    for (const client of [one, other]) {
      while (!client.isOver) await client.read()
      expect(client.told.at(-1)).toMatchObject({ event: 'error', data: { code: 'UNKNOWN_THREAD' } })
    }
    delete world.tap.subscribed
  })
})

onEveryStore('streams of a tree whose model speaks', (world) => {
  it('R2, TF3: who comes late is given the text so far, once, and then what follows it', async () => {
    const [middle, end] = [deferred(), deferred()]
    const { app } = tinyApp({
      script: async function* () {
        yield 'one '
        yield 'two '
        await middle.promise
        yield 'three '
        await end.promise
        return undefined
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 'tree' })
    const handler = createHandler(skein, { auth: 'none' })
    const textOf = ({ told }: Stream) =>
      told.reduce((text, { event, data }) => {
        if (event === 'stream.reset') return data.text ?? ''
        return event === 'text.delta' && data.offset === text.length ? text + (data.text ?? '') : text
      }, '')
    const first = await stream(handler)
    const run = thread.send('go', { id: 'm' })
    while (textOf(first) !== 'one two ') await first.read()
    const late = [await stream(handler), await stream(handler, { from: first.ids.at(-1) ?? '' })]
    for (const each of late) while (textOf(each) !== 'one two ') await each.read()
    middle.resolve()
    for (const each of [first, ...late]) while (textOf(each) !== 'one two three ') await each.read()
    for (const each of late) expect(each.told.filter(({ event }) => event === 'stream.reset')).toHaveLength(1)
    end.resolve()
    await run.result()
    const all = await cursors(skein)
    for (const each of [first, ...late]) await each.readTo(all.at(-1) ?? '')
    expect(late[0]?.ids).toEqual(all)
  })
})

onEveryStore('streams of one key', (world) => {
  it('H4: a key may have so many streams open and no more; one that is closed makes room', async () => {
    const skein = await world.open(tinyApp({ script: () => 'done' }).app)
    await skein.threads.create({ agent: 'helper', id: 'tree' })
    const handler = createHandler(skein, { auth: keyAuth, maxStreams: 2 })
    const ask = (path: string, key: string = keys.reader) =>
      handler.fetch(new Request(`http://localhost${path}`, { headers: { authorization: `Bearer ${key}` } }))
    const paths = [
      '/trees/tree/events',
      '/threads/tree/events',
      '/trees/tree/inbox/events',
      '/stream?heads=1',
      '/view?roots=1',
    ]
    const opened = [new Stream(await ask(paths[0] ?? '')), new Stream(await ask(paths[1] ?? ''))]
    for (const path of paths) {
      const refused = await ask(path)
      expect({ path, status: refused.status }).toEqual({ path, status: 429 })
      expect(await refused.json()).toMatchObject({ code: 'TOO_MANY_REQUESTS', detail: /"rita" has 2 streams open/ })
    }
    expect((await ask('/threads/tree')).status).toBe(200)
    opened.push(new Stream(await ask(paths[0] ?? '', keys.admin)))
    opened[0]?.leave()
    let isOpen = false
    await until('room for another stream', async () => {
      const next = await ask(paths[2] ?? '')
      isOpen = next.status === 200
      if (isOpen) opened.push(new Stream(next))
      return isOpen
    })
    expect((await ask(paths[3] ?? '')).status).toBe(429)
    expect(() => createHandler(skein, { auth: keyAuth, maxStreams: 0 })).toThrow(/maxStreams/)
  })
})
