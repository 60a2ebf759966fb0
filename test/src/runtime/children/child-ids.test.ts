/**
 * Ids of children can be known before there are any: nobody else gets them, and where someone has one, the parent is
 * told.
 */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition } from '../../../../src/agent/define.js'
import { systemClock } from '../../../../src/core/clock.js'
import { callKey } from '../../../../src/core/effect.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import { keyOf } from '../../../../src/runtime/resolve/tool-calls.js'
import { sendCommand } from '../../../../src/runtime/handles/send-command.js'
import { onEveryStore } from '../../../helpers/world.js'

function family(): readonly Definition[] {
  const lead = scriptedModel(({ step, messages }) =>
    step === 0 ? { calls: [{ tool: 'child', args: { message: 'work' } }] } : (messages.at(-1)?.text ?? ''),
  )
  return [
    defineModel({ name: 'lead_m', model: lead }),
    defineModel({ name: 'child_m', model: scriptedModel(() => 'the real answer') }),
    definePrompt({ name: 'lead_p', prompt: 'x', model: 'lead_m', tools: [{ name: 'child' }] }),
    definePrompt({ name: 'child_p', prompt: 'x', model: 'child_m' }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_p' } }),
    defineAgent({ name: 'child', type: 'ai_human', sideA: { prompt: 'child_p' }, exposeAsTool: true }),
  ]
}

const firstChild = `c_${keyOf(['lead', callKey(1, 0)])}`

onEveryStore('ids of children', (world) => {
  it('S1: nobody creates a thread under one', async () => {
    const skein = await world.open(family())
    await expect(skein.threads.create({ agent: 'child', id: firstChild })).rejects.toMatchObject({
      code: 'RESERVED_NAME',
    })
    await expect(skein.threads.create({ agent: 'child', id: firstChild })).rejects.toThrow(
      /ids that begin with "c_" belong to children.*Choose another/,
    )
    const run = (await skein.threads.create({ agent: 'lead', id: 'lead' })).send('go')
    expect((await run.result()).text).toContain('the real answer')
    // What is there stays, under whatever id.
    expect((await skein.threads.create({ agent: 'child', id: firstChild })).id).toBe(firstChild)
    await world.close(skein)
  })

  it('S1, F7: where someone has it already, the call of the parent fails instead of waiting for ever', async () => {
    const skein = await world.open(family())
    const backend = await world.store.source.open('client')
    await sendCommand(backend, systemClock, {
      thread: firstChild,
      id: 'before',
      command: { kind: 'create', agent: 'child', tags: [], path: [firstChild] },
    })
    const { text } = await (await skein.threads.create({ agent: 'lead', id: 'lead' })).send('go').result()
    expect(text).toMatch(/^Error CHILD_FAILED: it did not take this: thread c_\S+ exists already/)
    expect((await (await skein.threads.get('lead')).info()).status).toBe('idle')
    await backend.close()
    await world.close(skein)
  })
})
