/** Edges of turns: steering, queued calls, stores that fail, deploys and snapshots in the middle. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { asking, begin, pending, results } from '../../../helpers/asking.js'
import { onEveryStore } from '../../../helpers/world.js'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { ToolDefinition } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Store } from '../../../../src/backend/port.js'
import { wake, wakeWhole } from '../../../../src/runtime/journal/wake.js'

onEveryStore('edges of turns', (world) => {
  it('F4: a message that came while a call beside `response` ran is answered', async () => {
    const gate = deferred()
    const started = deferred()
    const slow = looseTool('slow', async () => {
      started.resolve()
      await gate.promise
      return 'slow'
    })
    const heard: string[] = []
    const model = scriptedModel(({ messages }) => {
      heard.push(messages.map(({ text }) => text).join('|'))
      return {
        calls: [{ tool: 'response', args: { ok: true } }, ...(heard.length === 1 ? [{ tool: 'slow', args: {} }] : [])],
      }
    })
    const app = [
      slow,
      defineModel({ name: 'scripted', model }),
      definePrompt({
        name: 'p',
        prompt: 'x',
        model: 'scripted',
        tools: ['slow'],
        outputSchema: z.object({ ok: z.boolean() }),
      }),
      defineAgent({ name: 'helper', type: 'ai_human' as const, sideA: { prompt: 'p' } }),
    ]
    const skein = await world.open(app)
    const thread = await begin(skein)
    await started.promise
    await thread.send('and this?', { id: 'n' }).accepted()
    gate.resolve()
    await thread.run('m').result()
    await thread.settled()
    expect(heard.some((text) => text.includes('and this?'))).toBe(true)
  })

  it('T10: an effect that happened is not told as failed because its result could not be stored', async () => {
    let fail = true
    const source: Store = {
      open: async (role) => {
        const backend = await world.store.source.open(role)
        return {
          ...backend,
          blobs: {
            ...backend.blobs,
            put: (bytes: Uint8Array) => (fail ? Promise.reject(new Error('disk full')) : backend.blobs.put(bytes)),
          },
        }
      },
    }
    const ran: string[] = []
    const pay = looseTool(
      'pay',
      async ({ files }) => {
        ran.push('pay')
        await files.writeFile('/receipt', 'paid')
        return 'paid'
      },
      { sideEffect: true },
    )
    const skein = await world.open(asking([pay]), { backend: source })
    const thread = await begin(skein)
    await until('the body', () => ran.length > 0)
    await quiet(50)
    fail = false
    await until('the turn is over', async () => {
      world.clock.advance(1_000)
      return (await thread.status()) === 'idle'
    })
    const [told] = results(await thread.messages())
    expect(ran).toEqual(['pay'])
    expect(told).toMatch(/^paid$|EFFECT_UNKNOWN/)
  })

  it('P3: a call approved with other args after a deploy made its tool an effect still runs', async () => {
    const ran: string[] = []
    const pay = (more: Partial<ToolDefinition>) =>
      looseTool(
        'pay',
        () => {
          ran.push('pay')
          return 'paid'
        },
        { needsApproval: true, ...more },
      )
    const skein = await world.open(asking([pay({})]))
    await begin(skein)
    await pending(skein, 1)
    await world.close(skein)
    const again = await world.open(asking([pay({ sideEffect: true })]))
    await again.inbox.approve('t/call_1_0', { args: { n: 1 } })
    await until('the body', () => ran.length === 1)
    expect(ran).toEqual(['pay'])
  })

  it('T3: a tool without side effects that asks a person when it must, does not ask because it looked too early', async () => {
    const gate = deferred()
    const looked = deferred()
    const write = looseTool('write', async ({ files }) => {
      await gate.promise
      await files.writeFile('/x', 'known')
      return 'w'
    })
    const ask = {
      ...looseTool('ask', () => 'x'),
      execute: undefined,
      sideEffect: false,
      outputSchema: z.string(),
      onToolCalled: async (state: { files: { exists(path: string): Promise<boolean> } }) => {
        const there = await state.files.exists('/x')
        looked.resolve()
        return there ? 'it is known' : null
      },
    } as unknown as ToolDefinition
    const skein = await world.open(asking([write, ask]))
    const thread = await begin(skein)
    await Promise.race([looked.promise, quiet(50)])
    await quiet()
    gate.resolve()
    await until('idle', async () => (await thread.status()) !== 'acting')
    await quiet()
    expect(await skein.inbox.list()).toEqual([])
    expect(results(await thread.messages())).toEqual(['w', 'it is known'])
  })

  it('A1: the deadline of a queued call begins when someone is asked', async () => {
    const gate = deferred()
    const started = deferred()
    const slow = looseTool('slow', async () => {
      started.resolve()
      await gate.promise
      return 'slow'
    })
    const pay = looseTool('pay', () => 'paid', {
      needsApproval: true,
      approvalDeadline: { afterMs: 1_000, decision: 'reject' },
    })
    const skein = await world.open(asking([slow, pay], ['slow']))
    const thread = await begin(skein)
    await started.promise
    await thread.callTool('pay')
    world.clock.advance(2_000)
    gate.resolve()
    await until('someone is asked', async () => (await skein.inbox.list()).length === 1)
    world.clock.advance(1)
    await quiet(50)
    expect((await skein.inbox.list()).map(({ tool }) => tool)).toEqual(['pay'])
  })

  it('waking from a snapshot gives the state of the whole journal', async () => {
    const gate = deferred()
    const odd = JSON.parse('{"__proto__": {"a": 1}, "text": "\\ud800"}') as Record<string, unknown>
    const first = looseTool('first', () => 'first', { needsApproval: true, approvalPrompt: 'x' })
    const reader = looseTool(
      'reader',
      async ({ files }) => {
        await files.writeFile('/r', 'r')
        return 'r'
      },
      {
        sideEffect: false,
      },
    )
    const cached = looseTool('cached', () => 'c', { cache: true })
    const skein = await world.open(
      asking([cached, first, reader], [{ tool: 'cached', args: odd }, { tool: 'first', args: odd }, 'reader']),
      { snapshotEvery: 1 },
    )
    const thread = await begin(skein)
    await pending(skein, 1)
    await thread.callTool('cached', odd)
    await quiet()
    gate.resolve()
    await world.close(skein)
    const backend = await world.store.source.open('client' as never)
    const some = await wake(backend, 't')
    const whole = await wakeWhole(backend, 't')
    expect(some.state.transcript.skipped).toBeGreaterThan(0)
    const plain = ({ transcript: _, ...rest }: typeof some.state): unknown => rest
    expect(plain(some.state)).toEqual(plain(whole.state))
    expect(JSON.stringify(some.state.slots)).toBe(JSON.stringify(whole.state.slots))
    await backend.close()
  })

  it('T6: a shouldRetry that throws does not hide why the tool failed', async () => {
    const x = looseTool(
      'x',
      () => {
        throw new Error('the real reason')
      },
      {
        retry: {
          maxRetries: 1,
          shouldRetry: () => {
            throw new Error('bug in the rule')
          },
        },
      },
    )
    const skein = await world.open(asking([x]))
    const thread = await begin(skein)
    await thread.run('m').text()
    expect(results(await thread.messages())[0]).toContain('the real reason')
  })

  it('T13, P1: a call that was accepted is made, also when the turn it joined ends at its last step', async () => {
    const gate = deferred()
    const started = deferred()
    const ran: string[] = []
    const slow = looseTool('slow', async () => {
      started.resolve()
      await gate.promise
      return 'slow'
    })
    const x = looseTool('x', () => {
      ran.push('x')
      return 'x'
    })
    const { app } = tinyApp({
      tools: [slow, x],
      maxSteps: 1,
      script: ({ messages }) => (messages.at(-1)?.role === 'user' ? calls('slow') : 'done'),
    })
    const skein = await world.open(app)
    const thread = await begin(skein)
    await started.promise
    const run = await thread.callTool('x').catch(() => undefined)
    gate.resolve()
    await thread.run('m').result()
    await thread.settled()
    await quiet()
    // Either refused, or made.
    expect(run === undefined || ran.length === 1).toBe(true)
  })

  it('F7: a terminated thread refuses later work', async () => {
    const skein = await world.open(asking([]))
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.terminate()
    await expect(thread.files.writeFile('/x', 'y')).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
  })
})
