/** Readers that leave while they wait, and readers that are slow: of every stream, view and list that can be iterated. */
import { expect, it } from 'vitest'
import { appOn, looseTool, tinyApp } from '../../../helpers/app.js'
import { collect, deferred, quiet } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'
import type { Run } from '../../../../src/runtime/watch/run.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import type { Thread } from '../../../../src/runtime/handles/thread.js'

interface Reading {
  readonly skein: Skein
  readonly thread: Thread
  readonly run: Run
  readonly signal: AbortSignal
}

const iterations: Readonly<Record<string, (reading: Reading) => AsyncIterable<unknown>>> = {
  'thread.events': ({ thread }) => thread.events(),
  'skein.events': ({ skein, thread }) => skein.events({ root: thread.id }),
  'thread.view': ({ thread }) => thread.view(),
  'thread.view of the tree': ({ thread }) => thread.view({ tree: true, from: 'start' }),
  'inbox.watch': ({ skein, thread }) => skein.inbox.watch({ root: thread.id }),
  'run.view': ({ run }) => run.view(),
  fullStream: ({ run }) => run.fullStream,
  textStream: ({ run }) => run.textStream,
  reasoningStream: ({ run }) => run.reasoningStream,
  toolStream: ({ run }) => run.toolStream,
  toolCallsStream: ({ run }) => run.toolCallsStream,
  messagesStream: ({ run }) => run.messagesStream,
  contextStream: ({ run }) => run.contextStream,
}

const withSignal: Readonly<Record<string, (reading: Reading) => AsyncIterable<unknown>>> = {
  'thread.events': ({ thread, signal }) => thread.events({ signal }),
  'thread.view': ({ thread, signal }) => thread.view({ signal }),
  'run.view': ({ run, signal }) => run.view({ signal }),
  fullStream: ({ run, signal }) => run.streams({ signal }).fullStream,
  textStream: ({ run, signal }) => run.streams({ signal }).textStream,
  messagesStream: ({ run, signal }) => run.streams({ signal }).messagesStream,
}

onEveryStore('a reader that waits', (world) => {
  /** A turn that waits for its tool, and how many subscriptions there are. */
  const waiting = async () => {
    const gate = deferred<string>()
    const began = deferred()
    const slow = looseTool('slow', () => {
      began.resolve()
      return gate.promise
    })
    const script = ({ step }: { readonly step: number }) =>
      step === 0 ? { text: 'I look', reasoning: 'hm', calls: [{ tool: 'slow', args: {} }] } : 'done'
    const open = { count: 0 }
    world.tap.subscribed = () => {
      open.count++
      return () => void open.count--
    }
    const skein = await world.open(tinyApp({ script, tools: [slow] }).app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await began.promise
    await run.accepted()
    await quiet()
    const stop = new AbortController()
    return { skein, thread, run, gate, stop, signal: stop.signal, open, before: open.count }
  }

  const readAll = async (iterator: AsyncIterator<unknown>): Promise<'ended'> => {
    for (let next = await iterator.next(); !next.done;) next = await iterator.next()
    return 'ended'
  }

  it.each(Object.keys(iterations))('IT1: %s: who leaves while it waits is unsubscribed at once', async (name) => {
    const reading = await waiting()
    const iterator = iterations[name]?.(reading)[Symbol.asyncIterator]()
    if (!iterator) throw new Error(name)
    const ended = readAll(iterator)
    await quiet()
    expect(reading.open.count).toBeGreaterThan(reading.before)
    expect(await iterator.return?.()).toMatchObject({ done: true })
    expect(reading.open.count).toBe(reading.before)
    expect(await ended).toBe('ended')
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
    reading.gate.resolve('late')
    expect(await reading.run.text()).toBe('done')
  })

  it.each(Object.keys(withSignal))('IT1: %s ends quietly at the signal of its reader', async (name) => {
    const reading = await waiting()
    const read = collect(withSignal[name]?.(reading) ?? reading.run.fullStream)
    await quiet()
    reading.stop.abort(new Error('enough'))
    await read
    expect(reading.open.count).toBe(reading.before)
    reading.gate.resolve('late')
  })
})

onEveryStore('a reader that is slow', (world) => {
  const lagged = { code: 'STREAM_LAGGED', retry: true }
  const words = 50

  it('R1, R2: with maxBuffered a stream and a view of a run end with STREAM_LAGGED; without it nothing is lost', async () => {
    const speak = deferred()
    const gate = deferred()
    const model = {
      name: 'wordy',
      call: async (_: unknown, { emit }: { emit(piece: { type: 'text'; text: string }): void }) => {
        await speak.promise
        for (let n = 0; n < words; n++) emit({ type: 'text', text: `${n} ` })
        await gate.promise
        const text = Array.from({ length: words }, (_each, n) => `${n} `).join('')
        return { text, calls: [], usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 }, finish: 'stop' as const }
      },
    }
    const skein = await world.open(appOn(model))
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    const { fullStream, textStream } = run.streams({ maxBuffered: 5 })
    const iterators = [
      fullStream,
      textStream,
      run.view({ maxBuffered: 5 }),
      thread.view({ from: 'start', maxBuffered: 5 }),
    ].map((all) => all[Symbol.asyncIterator]())
    const whole = run.textStream[Symbol.asyncIterator]()
    const firsts = Promise.all([...iterators, whole].map((each) => each.next()))
    await quiet()
    speak.resolve()
    const first = await firsts
    expect(first.map(({ done }) => done)).toEqual(first.map(() => false))
    await quiet()
    gate.resolve()
    await run.result()
    for (const iterator of iterators) {
      const rest = async (): Promise<void> => {
        for (let next = await iterator.next(); !next.done;) next = await iterator.next()
      }
      await expect(rest()).rejects.toMatchObject(lagged)
    }
    const read: unknown[] = [first.at(-1)?.value]
    for (let next = await whole.next(); !next.done; next = await whole.next()) read.push(next.value)
    expect(read.join('')).toBe(await run.text())
    expect((await collect(run.streams({ maxBuffered: 5 }).textStream)).join('')).toBe(await run.text())
  })
})
