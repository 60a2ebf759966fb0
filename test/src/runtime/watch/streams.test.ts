/** Runs as streams: any number of consumers, early and late, see the same whole run, and tools run once. */
import { expect, it } from 'vitest'
import { appOn, calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { collect, deferred, quiet, until } from '../../../helpers/deferred.js'
import { family, write } from '../../../helpers/family.js'
import { onEveryStore } from '../../../helpers/world.js'
import type { SkeinEvent } from '../../../../src/core/records/event.js'
import { failure } from '../../../../src/core/failure.js'
import type { Model, ModelCallOptions, ModelReply } from '../../../../src/models/port.js'
import type { Script, ScriptedPiece, ScriptedReply } from '../../../../src/models/scripted.js'

const reply = (text: string): ModelReply => ({
  text,
  calls: [],
  usage: { inputTokens: 0, outputTokens: 0, costUsd: 0 },
  finish: 'stop',
})

const durable = (events: readonly SkeinEvent[]): readonly string[] =>
  events.flatMap((event) => ('seq' in event ? [`${event.seq} ${event.type}`] : []))

onEveryStore('consumers of a run', (world) => {
  const lookingApp = () => {
    let ran = 0
    const made = tinyApp({
      script: ({ step }) =>
        step === 0
          ? {
              text: 'I look.',
              reasoning: 'hm',
              calls: [
                { tool: 'look', args: { at: 1 } },
                { tool: 'look', args: { at: 2 } },
              ],
            }
          : 'done',
      tools: [
        looseTool('look', (_, { at }) => {
          ran++
          return at
        }),
      ],
    })
    return { ...made, ran: () => ran }
  }

  it('R1: all of them see the whole run, at once and after the end, and tools run once', async () => {
    const { app, model, ran } = lookingApp()
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    const early = await Promise.all(Array.from({ length: 5 }, () => collect(run.fullStream)))
    const late = await collect(run.fullStream)
    const wanted = [
      '2 message.received',
      '3 turn.started',
      '4 model.replied',
      '5 tool.result',
      '6 tool.result',
      '7 model.replied',
      '8 turn.ended',
    ]
    for (const events of [...early, late]) expect(durable(events)).toEqual(wanted)
    expect(await collect(run.textStream)).toEqual(['I look.', 'done'])
    expect(await collect(run.reasoningStream)).toEqual(['hm'])
    expect((await collect(run.toolCallsStream)).map(({ id }) => id).sort()).toEqual(['call_1_0', 'call_1_1'])
    expect((await collect(run.toolStream)).map(({ type }) => type)).toEqual(['tool.result', 'tool.result'])
    expect((await collect(run.messagesStream)).map(({ role, text }) => [role, text])).toEqual([
      ['user', 'go'],
      ['assistant', 'I look.'],
      ['tool', '1'],
      ['tool', '2'],
      ['assistant', 'done'],
    ])
    expect([ran(), model.requests.length]).toEqual([2, 2])
  })

  it('R1, R2: fullStream is of the whole tree below the turn, for early and late consumers, and of nothing else', async () => {
    const lead: Script = ({ messages }) =>
      messages.at(-1)?.role === 'tool' ? 'all told' : calls(write('one'), write('two'))
    const skein = await world.open(family({ lead, writer: ({ messages }) => `wrote ${messages[0]?.text}` }))
    const thread = await skein.threads.create({ agent: 'lead', id: 'root' })
    await thread.send('before').result()
    const run = thread.send('go')
    const early = collect(run.fullStream)
    await run.result()
    await thread.send('after').result()
    for (const events of [await early, await collect(run.fullStream)]) {
      const own = events.filter((event) => event.thread === 'root' && 'seq' in event).map(({ type }) => type)
      expect([own[0], own.at(-1), own.filter((type) => type === 'turn.started').length]).toEqual([
        'message.received',
        'turn.ended',
        1,
      ])
      const spoken = events.flatMap((event) =>
        event.type === 'model.replied' && event.thread !== 'root' ? [event.text] : [],
      )
      expect(spoken.sort()).toEqual(['wrote one', 'wrote two'])
      for (const event of events) expect(event.path[0]).toBe('root')
    }
  })

  it('R1: the messages of a run are those that the thread keeps', async () => {
    const { app } = lookingApp()
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    expect(await collect(thread.send('go').messagesStream)).toEqual(await thread.messages())
  })

  it('R1, S8, B5: messages and calls of a run are what the thread keeps: a child that is tried again, files of an answer, what tools queue', async () => {
    let tries = 0
    const chart = looseTool('chart', async ({ files }) => {
      await files.writeFile('/chart.png', 'a chart')
      return { status: 'success', result: 'drawn', attachments: ['/chart.png'] }
    })
    const remark = looseTool('remark', (state) => {
      state.queueMessage('by the way')
      return 'remarked'
    })
    const app = family({
      tools: [chart, remark],
      relation: { supervision: { strategy: 'one_for_one', maxRestarts: 2 } },
      lead: ({ step }) => (step === 0 ? calls(write('draw'), 'remark') : 'done'),
      writer: ({ step }) => {
        if (step > 0) return 'here is the chart'
        return tries++ === 0 ? { error: 'boom' } : calls('chart')
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = thread.send('go')
    const [early, answered] = await Promise.all([collect(run.messagesStream), collect(run.toolCallsStream)])
    const kept = await thread.messages({ silent: 'show' })
    expect(kept.map(({ text }) => text)).toEqual([
      'go',
      '',
      'here is the chart\n\n[attached: /attachments/chart.png]',
      'remarked',
      'by the way',
      'done',
    ])
    expect(early).toEqual(kept)
    expect(await collect(run.messagesStream)).toEqual(kept)
    expect(await run.toolCalls()).toMatchObject([
      { tool: 'writer', outcome: { ok: true, value: 'here is the chart' } },
      { tool: 'remark', outcome: { ok: true } },
    ])
    expect(answered.toSorted((a, b) => (a.id < b.id ? -1 : 1))).toEqual(await run.toolCalls())
    await thread.send('again').result()
    expect(await collect(thread.run(run.id).messagesStream)).toEqual(kept)
  })

  it('R1: run(id) reopens a run, in the same process and after a restart, also by a message that steered it', async () => {
    const { app } = lookingApp()
    const first = await world.open(app)
    const thread = await first.threads.create({ agent: 'helper' })
    await thread.send('before').result()
    const run = thread.send('go', { id: 'mine' })
    await run.result()
    await thread.send('after').result()
    const whole = durable(await collect(run.fullStream))
    expect(durable(await collect(thread.run('mine').fullStream))).toEqual(whole)
    await world.close(first)
    const second = await world.open(app)
    const again = await second.threads.get(thread.id)
    expect(durable(await collect(again.run('mine').fullStream))).toEqual(whole)
    expect(await again.run('mine').result()).toMatchObject({ stopReason: 'completed', steps: 2 })
  })

  it('a run that nobody looks at runs all the same', async () => {
    const { app, model } = lookingApp()
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    thread.send('go')
    await until('both steps', () => model.requests.length === 2)
    expect((await thread.settled()).status).toBe('idle')
    expect(await thread.messages()).toHaveLength(5)
  })

  it('R1: every consumer of a refused message is told', async () => {
    const { app } = lookingApp()
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.terminate()
    const run = thread.send('go')
    for (const consumed of [
      run.accepted(),
      run.result(),
      run.text(),
      run.toolCalls(),
      run.pendingToolCalls(),
      collect(run.textStream),
    ]) {
      await expect(consumed).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
    }
  })

  it('R1: leaving a stream early harms neither the run nor the others', async () => {
    const { app } = lookingApp()
    const skein = await world.open(app)
    const run = (await skein.threads.create({ agent: 'helper' })).send('go')
    for await (const _ of run.fullStream) break
    expect(await run.text()).toBe('done')
  })

  it('R1, FW6: a stream that is opened with the message misses nothing that a fast tool says', async () => {
    const { app } = tinyApp({
      script: [calls('look'), 'done'],
      tools: [
        looseTool('look', ({ progress }) => {
          for (let done = 1; done <= 3; done++) progress({ done })
          return 'seen'
        }),
      ],
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const said = (await collect(thread.send('go').toolStream)).map(({ type }) => type)
    expect(said).toEqual(['tool.progress', 'tool.progress', 'tool.progress', 'tool.result'])
  })
})

onEveryStore('text as it is spoken', (world) => {
  /** A model that speaks piece by piece when it is told to. */
  const speaker = () => {
    const pieces = ['One ', 'two ', 'three.']
    const gates = pieces.map(() => deferred())
    const began = deferred()
    return {
      gates,
      began: began.promise,
      ...tinyApp({
        script: async function* (): AsyncGenerator<ScriptedPiece, ScriptedReply | undefined> {
          began.resolve()
          for (const [index, piece] of pieces.entries()) {
            await gates[index]?.promise
            yield piece
          }
          return undefined
        },
      }),
    }
  }

  it('R1: pieces come before the reply is finished', async () => {
    const { app, gates, began } = speaker()
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    const heard: string[] = []
    const listening = (async () => {
      for await (const piece of run.textStream) heard.push(piece)
    })()
    await run.accepted()
    await began
    await quiet()
    gates[0]?.resolve()
    await until('the first piece', () => heard.length === 1)
    gates[1]?.resolve()
    await until('the second piece', () => heard.length === 2)
    expect(heard).toEqual(['One ', 'two '])
    gates[2]?.resolve()
    await listening
    expect(heard.join('')).toBe('One two three.')
  })

  it('FW2, R2: a consumer that comes in the middle gets what was said so far, then the rest, without a gap', async () => {
    const { app, gates, began } = speaker()
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    const early: string[] = []
    const first = (async () => {
      for await (const piece of run.textStream) early.push(piece)
    })()
    await run.accepted()
    await began
    gates[0]?.resolve()
    await until('the first piece', () => early.length === 1)
    const late: string[] = []
    const second = (async () => {
      for await (const piece of run.textStream) late.push(piece)
    })()
    await until('what was said so far', () => late.length === 1)
    expect(late).toEqual(['One '])
    gates[1]?.resolve()
    gates[2]?.resolve()
    await Promise.all([first, second])
    expect([early.join(''), late.join('')]).toEqual(['One two three.', 'One two three.'])
  })

  it('EV2: after a broken attempt the stream is reset, and the text of the new attempt is whole', async () => {
    let attempts = 0
    const heard = deferred()
    const { app } = tinyApp({
      script: async function* (): AsyncGenerator<ScriptedPiece, ScriptedReply | undefined> {
        attempts++
        yield 'The answer '
        await heard.promise
        if (attempts === 1) return { error: failure('MODEL_UNAVAILABLE', 'lost the line', { retry: true }) }
        yield 'is 42.'
        return undefined
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    const watched = async (): Promise<SkeinEvent[]> => {
      const all: SkeinEvent[] = []
      for await (const event of run.fullStream) {
        all.push(event)
        if (event.type === 'text.delta' || event.type === 'stream.reset') heard.resolve()
      }
      return all
    }
    const [events, texts] = await Promise.all([watched(), collect(run.textStream)])
    expect(attempts).toBe(2)
    expect(texts.join('')).toBe('The answer is 42.')
    const deltas = events.filter(({ type }) => type === 'text.delta' || type === 'stream.reset')
    // The first may tell a late consumer what was said before it came.
    const resetAt = deltas.findIndex((event) => event.type === 'stream.reset' && event.attempt === 2)
    expect(deltas[resetAt]).toMatchObject({ text: '' })
    const spoken = deltas.slice(resetAt + 1).map((event) => ('text' in event ? event.text : ''))
    expect(spoken.join('')).toBe('The answer is 42.')
  })

  it('text that was given and is taken back ends the stream of strings; opened again it has what counts alone', async () => {
    let attempts = 0
    const shown = deferred()
    const { app } = tinyApp({
      script: async function* (): AsyncGenerator<ScriptedPiece, ScriptedReply | undefined> {
        if (++attempts > 1) return { text: 'Paris is its capital.' }
        yield 'The capital of Fr'
        await shown.promise
        return { error: failure('MODEL_UNAVAILABLE', 'lost the line', { retry: true }) }
      },
    })
    const skein = await world.open(app)
    const run = (await skein.threads.create({ agent: 'helper' })).send('What is the capital of France?')
    const heard: string[] = []
    const hearing = (async () => {
      for await (const piece of run.textStream) {
        heard.push(piece)
        shown.resolve()
      }
    })()
    await expect(hearing).rejects.toMatchObject({ code: 'TEXT_TAKEN_BACK' })
    expect(heard).toEqual(['The capital of Fr'])
    expect(await collect(run.textStream)).toEqual(['Paris is its capital.'])
    expect(await run.result()).toMatchObject({ text: 'Paris is its capital.', stopReason: 'completed' })
  })

  it('FW2: what a cancelled model still says is not heard in the next turn', async () => {
    let old: ModelCallOptions | undefined
    const next = deferred()
    const model: Model = {
      name: 'deaf',
      async call(_, options) {
        if (!old) {
          old = options
          options.emit({ type: 'text', text: 'Old ' })
          return deferred<never>().promise
        }
        await next.promise
        options.emit({ type: 'text', text: 'New.' })
        return reply('New.')
      },
    }
    const skein = await world.open(appOn(model))
    const thread = await skein.threads.create({ agent: 'helper' })
    const all: SkeinEvent[] = []
    const watching = new AbortController()
    const watch = (async () => {
      for await (const event of thread.events({ signal: watching.signal })) all.push(event)
    })()
    await thread.send('one').accepted()
    await until('the model', () => old !== undefined)
    await until('its words', () => all.some((event) => 'text' in event && event.text === 'Old '))
    await thread.cancel()
    const run = thread.send('two')
    await run.accepted()
    await quiet()
    const before = all.length
    old?.emit({ type: 'text', text: 'news' })
    old?.emit({ type: 'reasoning', text: 'about it' })
    old?.restarted?.()
    await quiet()
    expect(all.slice(before)).toEqual([])
    next.resolve()
    expect(await collect(run.textStream)).toEqual(['New.'])
    watching.abort()
    await watch
  })

  it('FW2: a watcher that comes after a cancel hears nothing of what was cancelled', async () => {
    const began = deferred()
    const { app } = tinyApp({
      script: async function* () {
        yield 'half'
        began.resolve()
        await deferred().promise
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    await thread.send('go').accepted()
    await began.promise
    await thread.cancel()
    const heard: string[] = []
    const watching = new AbortController()
    const watch = (async () => {
      for await (const event of thread.events({ signal: watching.signal })) heard.push(event.type)
    })()
    await until('the end of the turn', () => heard.includes('turn.ended'))
    await quiet()
    expect(heard).not.toContain('stream.reset')
    watching.abort()
    await watch
  })
})

onEveryStore('results as they land', (world) => {
  it('R1: toolCallsStream gives a result when it lands; messagesStream keeps the order of the calls', async () => {
    const gates = [deferred<string>(), deferred<string>()]
    const { app } = tinyApp({
      script: [calls({ tool: 'slow', args: { at: 0 } }, { tool: 'slow', args: { at: 1 } }), 'done'],
      tools: [looseTool('slow', (_, { at }) => gates[Number(at)]?.promise)],
    })
    const skein = await world.open(app)
    const run = (await skein.threads.create({ agent: 'helper' })).send('go')
    const landed: string[] = []
    const landing = (async () => {
      for await (const { id } of run.toolCallsStream) landed.push(id)
    })()
    const messages = collect(run.messagesStream)
    await run.accepted()
    gates[1]?.resolve('b')
    await until('the second call', () => landed.length === 1)
    expect(landed).toEqual(['call_1_1'])
    gates[0]?.resolve('a')
    await landing
    expect((await messages).map(({ text }) => text)).toEqual(['go', '', 'a', 'b', 'done'])
  })
})
