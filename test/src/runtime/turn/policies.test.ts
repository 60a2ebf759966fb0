/** Cache, retry with breaker, and caps: exact when calls run beside each other, and after a restart. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { results } from '../../../helpers/asking.js'
import { onEveryStore } from '../../../helpers/world.js'
import { defineTool } from '../../../../src/agent/define.js'
import type { ToolDefinition } from '../../../../src/agent/define.js'
import type { RequestedCall } from '../../../../src/models/port.js'
import type { Skein } from '../../../../src/runtime/skein.js'

const call = (tool: string, args: object = {}): RequestedCall => ({ tool, args })

/** An agent that makes these calls, step by step, and then says so. */
function stepping(steps: readonly (readonly RequestedCall[])[], tools: readonly ToolDefinition[]) {
  return tinyApp({ tools, script: ({ step }) => (steps[step] ? calls(...(steps[step] ?? [])) : 'done') }).app
}

async function ask(skein: Skein, text = 'go') {
  const thread = await skein.threads.create({ agent: 'helper', id: 't' })
  await thread.send(text).text()
  return thread
}

onEveryStore('retry', (world) => {
  it('T6: how often may be left out: twice where it says how, never where it only breaks', async () => {
    const ran: string[] = []
    const failing = (name: string, retry: NonNullable<ToolDefinition['retry']>) =>
      looseTool(
        name,
        () => {
          throw new Error(String(ran.push(name)))
        },
        { retry },
      )
    const tools = [
      failing('waits', { backoffMs: 0 }),
      failing('picks', { shouldRetry: () => true }),
      failing('breaks', { circuitBreakerThreshold: 1 }),
      failing('says', { maxRetries: 1, backoffMs: 0 }),
    ]
    await ask(
      await world.open(
        stepping([[call('waits')], [call('picks')], [call('breaks'), call('breaks')], [call('says')]], tools),
      ),
    )
    expect(ran).toEqual(['waits', 'waits', 'waits', 'picks', 'picks', 'picks', 'breaks', 'says', 'says'])
  })
})

onEveryStore('cache', (world) => {
  it('T5: equal calls of a run are run once, in one step too, and a hit says so', async () => {
    const ran: unknown[] = []
    const look = looseTool(
      'look',
      (_, args) => {
        ran.push(args)
        return { found: ran.length }
      },
      { cache: true },
    )
    const app = stepping(
      [
        [call('look', { a: 1, b: 2 }), call('look', { b: 2, a: 1 }), call('look', { a: 2 })],
        [call('look', { a: 1, b: 2 })],
      ],
      [look],
    )
    const thread = await ask(await world.open(app))
    expect(ran).toEqual([{ a: 1, b: 2 }, { a: 2 }])
    const messages = (await thread.messages()).filter(({ role }) => role === 'tool')
    expect(messages.map(({ text, fromCache }) => [text, fromCache ?? false])).toEqual([
      ['{"found":1}', false],
      ['{"found":1}', true],
      ['{"found":2}', false],
      ['{"found":1}', true],
    ])
    expect(
      (await thread.run((await thread.messages())[0]?.id ?? '').toolCalls()).map(({ fromCache }) => fromCache ?? false),
    ).toEqual([false, true, false, true])
  })

  it('T5: a hit shows the model the same pictures', async () => {
    const data = Buffer.from('a pixel').toString('base64')
    const content = [{ type: 'image', mimeType: 'image/png', data }]
    const look = looseTool('look', () => ({ status: 'success', result: 'seen', content }), { cache: true })
    const thread = await ask(await world.open(stepping([[call('look'), call('look')], [call('look')]], [look])))
    const messages = (await thread.messages()).filter(({ role }) => role === 'tool')
    expect(messages.map(({ fromCache }) => fromCache ?? false)).toEqual([false, true, true])
    const [first, ...hits] = messages.map(({ media }) => media)
    expect(first).toMatchObject([{ mediaType: 'image/png' }])
    expect(hits).toEqual([first, first])
  })

  it('T5: equal are calls whose bodies would be given equal args: after defaults, transforms and stripping', async () => {
    const ran: unknown[] = []
    const execute = (_: unknown, args: unknown) => {
      ran.push(args)
      return ran.length
    }
    const args = z.object({
      city: z.string().transform((name) => name.trim().toLowerCase()),
      units: z.string().default('metric'),
      on: z
        .string()
        .transform((text) => new Date(text))
        .optional(),
    })
    const look = defineTool({ name: 'look', description: 'Looks.', args, cache: true, execute })
    const alike = [
      call('look', { city: 'Rome' }),
      call('look', { city: ' rome ', units: 'metric' }),
      call('look', { city: 'Rome', extra: 1 }),
    ]
    const dated = [
      call('look', { city: 'Rome', on: '2026-01-01' }),
      call('look', { city: 'Rome', on: '2026-01-01T00:00:00.000Z' }),
    ]
    await ask(await world.open(stepping([alike, dated], [look])))
    expect(ran).toEqual([
      { city: 'rome', units: 'metric' },
      { city: 'rome', units: 'metric', on: new Date('2026-01-01') },
    ])
  })

  it('T5: args that look alike as JSON and are not are not equal', async () => {
    const ran: string[] = []
    const bytes = z.object({ text: z.string().transform((text) => Buffer.from(text)) })
    const send = defineTool({
      name: 'send',
      description: 'Sends.',
      args: bytes,
      cache: true,
      execute: (_, { text }) => {
        ran.push(text.toString())
        return text.toString()
      },
    })
    const thread = await ask(
      await world.open(
        stepping(
          [[call('send', { text: 'one' }), call('send', { text: 'two' }), call('send', { text: 'one' })]],
          [send],
        ),
      ),
    )
    expect(ran).toEqual(['one', 'two'])
    expect(results(await thread.messages())).toEqual(['one', 'two', 'one'])
  })

  it('T5: a key of its own, only successes, and gone with the run', async () => {
    let ran = 0
    const look = looseTool(
      'look',
      (_, { fail }) => {
        ran++
        if (fail) throw new Error('no')
        return ran
      },
      { cache: { keyFn: (args) => String((args as { url: string }).url) } },
    )
    const one = [call('look', { url: 'x', nonce: 1 }), call('look', { url: 'x', nonce: 2 })]
    const failing = [call('look', { url: 'y', fail: true }), call('look', { url: 'y' })]
    const thread = await ask(await world.open(stepping([one, failing], [look])))
    expect(results(await thread.messages())).toEqual(['1', '1', 'Error TOOL_THREW: no', '3'])
    await thread.send('again').text()
    expect(ran).toBe(6)
  })

  it('T5: an entry that is too old is not used', async () => {
    let ran = 0
    const steps = [deferred(), deferred()]
    const look = looseTool('look', () => ++ran, { cache: { ttlMs: 1_000 } })
    const { app } = tinyApp({
      tools: [look],
      script: async ({ step }) => {
        await steps[step - 1]?.promise
        return step < 3 ? calls('look') : 'done'
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    await until('the first result', async () => ran === 1)
    world.clock.advance(999)
    steps[0]?.resolve()
    await until('the second result', async () => results(await thread.messages()).length === 2)
    expect(ran).toBe(1)
    world.clock.advance(1)
    steps[1]?.resolve()
    await run.result()
    expect(results(await thread.messages())).toEqual(['1', '1', '2'])
  })

  it('T5, P1: it survives a restart', async () => {
    let ran = 0
    const gate = deferred()
    const look = looseTool('look', () => ++ran, { cache: true })
    const script = async ({ step }: { step: number }) => {
      if (step === 1) await gate.promise
      return step < 2 ? calls('look') : 'done'
    }
    const skein = await world.open(tinyApp({ tools: [look], script }).app)
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    void thread.send('go', { id: 'm' }).accepted()
    await until('the first result', async () => results(await thread.messages()).length === 1)
    await world.close(skein)
    gate.resolve()
    const again = await (await world.open(tinyApp({ tools: [look], script }).app)).threads.get('t')
    await again.run('m').text()
    expect(results(await again.messages())).toEqual(['1', '1'])
    expect(ran).toBe(1)
  })
})

onEveryStore('caps', (world) => {
  it('T7: a cap counts successes and is exact under parallel calls; null is no cap, 0 is never', async () => {
    const ran: string[] = []
    const tool = (name: string, maxExecutionsPerRun: number | null): ToolDefinition =>
      looseTool(
        name,
        async (_, { n }) => {
          ran.push(`${name}${n}`)
          if (n === 0) throw new Error('not this one')
          return n
        },
        { maxExecutionsPerRun },
      )
    const many = (name: string) => Array.from({ length: 4 }, (_, n) => call(name, { n }))
    const thread = await ask(
      await world.open(
        stepping(
          [many('two'), [...many('never'), ...many('any')]],
          [tool('two', 2), tool('never', 0), tool('any', null)],
        ),
      ),
    )
    expect(ran).toEqual(['two0', 'two1', 'two2', 'any0', 'any1', 'any2', 'any3'])
    const texts = results(await thread.messages())
    expect(texts.slice(0, 3)).toEqual(['Error TOOL_THREW: not this one', '1', '2'])
    expect(texts[3]).toMatch(/TOOL_SKIPPED: two was not run: it may succeed 2 times in one run/)
    expect(texts.slice(4, 8).every((text) => text.includes('TOOL_SKIPPED'))).toBe(true)
    expect(texts.slice(8)).toEqual(['Error TOOL_THREW: not this one', '1', '2', '3'])
  })

  it('T5, T7: a hit is no execution', async () => {
    let ran = 0
    const look = looseTool('look', () => ++ran, { cache: true, maxExecutionsPerRun: 2 })
    const thread = await ask(
      await world.open(
        stepping(
          [[call('look', { a: 1 }), call('look', { a: 1 }), call('look', { a: 2 }), call('look', { a: 3 })]],
          [look],
        ),
      ),
    )
    expect(results(await thread.messages()).slice(0, 3)).toEqual(['1', '1', '2'])
    expect(results(await thread.messages())[3]).toMatch(/TOOL_SKIPPED/)
  })
})

onEveryStore('retry', (world) => {
  it('T6: a failed body is tried again, with a wait that doubles; only the last outcome is told', async () => {
    let ran = 0
    const flaky = looseTool(
      'flaky',
      () => {
        ran++
        if (ran < 4) throw new Error(`no ${ran}`)
        return 'at last'
      },
      { retry: { maxRetries: 3, backoffMs: 100 } },
    )
    const skein = await world.open(stepping([[call('flaky')]], [flaky]))
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    for (const [after, waitMs] of [
      [1, 100],
      [2, 200],
      [3, 400],
    ] as const) {
      await until(`try ${after}`, () => ran === after)
      await quiet()
      world.clock.advance(waitMs - 1)
      await quiet()
      expect(ran).toBe(after)
      world.clock.advance(1)
    }
    await run.text()
    expect(results(await thread.messages())).toEqual(['at last'])
  })

  it('T6: backoffMs 0 is no wait, shouldRetry decides, and a cancel ends the wait', async () => {
    const ran: Record<string, number> = { fast: 0, never: 0, slow: 0 }
    const failing = (name: string, retry: ToolDefinition['retry']) =>
      looseTool(
        name,
        () => {
          ran[name] = (ran[name] ?? 0) + 1
          throw new Error('UNAUTHORIZED')
        },
        retry ? { retry } : {},
      )
    const tools = [
      failing('fast', { maxRetries: 2, backoffMs: 0 }),
      failing('never', { maxRetries: 5, shouldRetry: (error) => !error.message.includes('UNAUTHORIZED') }),
      failing('slow', { maxRetries: 5, backoffMs: 60_000 }),
    ]
    const skein = await world.open(stepping([[call('fast'), call('never')], [call('slow')]], tools))
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    await until('the slow one to fail', () => ran['slow'] === 1)
    expect(ran).toEqual({ fast: 3, never: 1, slow: 1 })
    await quiet()
    await thread.cancel({ reason: 'enough' })
    expect((await run.result()).stopReason).toBe('cancelled')
    expect(ran['slow']).toBe(1)
  })

  it('T6: shouldRetry is given what the body threw: its name, code, status, cause and own fields', async () => {
    class Refused extends Error {
      override readonly name = 'Refused'
      readonly code = 'ECONNRESET'
      readonly status = 503
      readonly body = { retryAfter: 7 }
    }
    const seen: unknown[] = []
    let ran = 0
    const asks = looseTool(
      'asks',
      () => {
        if (++ran === 1) throw new Refused('no luck', { cause: new RangeError('the reason') })
        return 'at last'
      },
      {
        retry: {
          backoffMs: 0,
          shouldRetry: (error) => {
            seen.push(error)
            return error.status === 503
          },
        },
      },
    )
    const thread = await ask(await world.open(stepping([[call('asks')]], [asks])))
    expect(results(await thread.messages())).toEqual(['at last'])
    expect(seen).toMatchObject([
      { name: 'Refused', message: 'no luck', code: 'ECONNRESET', status: 503, body: { retryAfter: 7 } },
    ])
    expect(seen).toMatchObject([{ cause: { name: 'RangeError', message: 'the reason' } }])
    expect(seen[0]).toBeInstanceOf(Error)
  })

  it('T6: a try that took too long is tried again', async () => {
    let ran = 0
    const slow = looseTool('slow', () => (++ran === 1 ? new Promise(() => undefined) : 'in time'), {
      timeoutMs: 50,
      retry: { maxRetries: 1 },
    })
    const skein = await world.open(stepping([[call('slow')]], [slow]))
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    await until('the first try', () => ran === 1)
    await quiet()
    world.clock.advance(50)
    await run.text()
    expect(results(await thread.messages())).toEqual(['in time'])
  })

  it('T6: the breaker opens after that many calls in a row failed for good, and only then', async () => {
    let ran = 0
    const shaky = looseTool(
      'shaky',
      (_, { ok }) => {
        ran++
        if (!ok) throw new Error('no')
        return 'yes'
      },
      { retry: { maxRetries: 1, circuitBreakerThreshold: 2 } },
    )
    const steps = [
      [call('shaky'), call('shaky', { ok: true }), call('shaky')],
      [call('shaky'), call('shaky', { ok: true }), call('shaky', { ok: true })],
    ]
    const thread = await ask(await world.open(stepping(steps, [shaky])))
    const texts = results(await thread.messages())
    expect(texts.slice(0, 4)).toEqual(['Error TOOL_THREW: no', 'yes', 'Error TOOL_THREW: no', 'Error TOOL_THREW: no'])
    expect(texts[4]).toMatch(/TOOL_BREAKER_OPEN: shaky was not run: it failed 2 times in a row/)
    expect(texts[5]).toMatch(/TOOL_BREAKER_OPEN/)
    expect(ran).toBe(7)
    await thread.send('a new run').result()
    expect(ran).toBeGreaterThan(7)
  })
})
