/** Someone who was asked may decline: that is an answer, and the model reads it. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../../src/agent/define.js'
import type { ToolDefinition } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script } from '../../../../src/models/scripted.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { asking, begin, pending, results } from '../../../helpers/asking.js'
import { until } from '../../../helpers/deferred.js'
import { family, last } from '../../../helpers/family.js'
import { onEveryStore } from '../../../helpers/world.js'

const stays = { receives_messages: 'side_a' } as const
const needy = looseTool('needy', () => 'done', { variables: [{ name: 'TOKEN', scoped: true }] })
const make = { tool: 'subagent_create', args: { agent: 'writer', name: 'W', message: 'hello' } }

onEveryStore('declining', (world) => {
  it('S6, A4: values that a child waits for can be declined: it never begins, the model reads who and why, and its place is free', async () => {
    const lead: Script = ({ messages }) => (last(messages) === 'create' ? calls(make) : `read ${last(messages)}`)
    const app = family({
      lead,
      writer: () => 'wrote',
      tools: [needy],
      relation: { resumable: { ...stays, maxInstances: 1 } },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await thread.send('create').text()).toContain('subagent_env_required')
    expect(await thread.send('create').text()).toMatch(
      /there are: writer-1; people were asked for the values of writer-1, which begins by itself when they have answered: do not ask for it again/,
    )
    await skein.variables.decline('lead', 'env_1_0', { by: 'ann', comment: 'We have none.' })
    await thread.settled({ tree: true })
    expect((await thread.messages()).at(-1)?.text).toBe(
      'read [writer-1] Error TOOL_DENIED: it was not started: the values that it needs (TOKEN) were declined by ' +
        'ann: We have none; go on without it',
    )
    expect(await skein.inbox.list({ root: 'lead' })).toEqual([])
    await expect(skein.variables.decline('lead', 'env_1_0')).rejects.toMatchObject({ code: 'UNKNOWN_REQUEST' })
    await expect(skein.variables.provide('lead', 'env_1_0', { TOKEN: 'a-long-secret' })).rejects.toMatchObject({
      code: 'UNKNOWN_REQUEST',
    })
    expect(await thread.send('create').text()).toContain('writer-2 was not started')
    const [item] = await skein.inbox.list({ root: 'lead' })
    await skein.inbox.reject(item?.id ?? '')
    expect(await skein.inbox.list({ root: 'lead' })).toEqual([])
  })

  it('A3, T12: a question to a person can be declined, by whatever tool it was asked', async () => {
    const hitl = defineTool({
      name: 'hitl',
      description: 'asks',
      args: z.object({}),
      outputSchema: z.object({ ok: z.boolean() }),
      onToolCalled: () => null,
    })
    const manual = defineTool({ name: 'manual', description: 'someone does it', args: z.object({}), execute: false })
    const question = { tool: 'ask_user_question', args: { questions: [{ header: 'Colour', question: 'Which?' }] } }
    const { app } = tinyApp({
      tools: [hitl, manual] as readonly ToolDefinition[],
      script: ({ messages }) => (messages.at(-1)?.role === 'user' ? calls('hitl', 'manual', question) : 'done'),
    })
    const named = app.map((each) =>
      each.kind === 'prompt' ? { ...each, tools: [...(each.tools ?? []), 'ask_user_question'] } : each,
    )
    const skein = await world.open(named)
    const thread = await begin(skein)
    await pending(skein, 3)
    for (const index of [2, 0, 1]) await skein.inbox.reject(`t/call_1_${index}`, { by: 'ann', comment: 'not now' })
    expect(await thread.run('m').text()).toBe('done')
    const declined = (tool: string) =>
      `Error TOOL_DENIED: ${tool} has no answer: it was declined by ann: not now; go on without it`
    expect(results(await thread.messages())).toEqual([
      declined('hitl'),
      declined('manual'),
      declined('ask_user_question'),
    ])
    await expect(skein.inbox.reject('t/call_1_0')).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
  })

  it('A4, F2: a call that waits for variables can be declined; a turn that waits for them is cancelled instead', async () => {
    const key = looseTool('key', () => 'used', { variables: [{ name: 'KEY' }] })
    const skein = await world.open(asking([key]))
    const thread = await begin(skein)
    await pending(skein, 1)
    await expect(skein.inbox.approve('t/call_1_0')).rejects.toMatchObject({
      code: 'COMMAND_REFUSED',
      message: expect.stringContaining('waits for variables: set KEY'),
    })
    await skein.inbox.reject('t/call_1_0')
    expect(await thread.run('m').text()).toBe('done')
    expect(results(await thread.messages())).toEqual([
      'Error TOOL_DENIED: key was not run: the values that it needs (KEY) were declined',
    ])
    await world.close(skein)
    const needing = asking([]).map((each) =>
      each.kind === 'prompt' ? { ...each, variables: [{ name: 'TONE' }] } : each,
    )
    const other = await world.open(needing)
    const held = await other.threads.create({ agent: 'helper', id: 'held' })
    const run = held.send('go')
    await pending(other, 1)
    await expect(other.inbox.reject('held/turn')).rejects.toMatchObject({
      code: 'COMMAND_REFUSED',
      message: expect.stringContaining('set TONE, or cancel the turn'),
    })
    await held.cancel()
    expect((await run.result()).stopReason).toBe('cancelled')
  })
})

onEveryStore('a child that stays and fails at first', (world) => {
  it('S2: the model is told its reference, because it lives and can be spoken to', async () => {
    const app = family({
      relation: { resumable: stays },
      lead: ({ messages }) => {
        if (last(messages) === 'go') return calls(make)
        return last(messages).includes('broken')
          ? calls({ tool: 'subagent_message', args: { reference: 'writer-1', message: 'again' } })
          : last(messages)
      },
      writer: ({ messages }) => (last(messages) === 'hello' ? { error: 'broken' } : 'now it works'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await thread.send('go').text()).toBe('now it works')
    expect(results(await thread.messages())[0]).toMatch(/^Error CHILD_FAILED: .*broken.*\n\n\[reference: writer-1\]$/s)
  })

  it('A4, B6: questions and manual calls of a descendant are in the inbox of the tree, and are answered there', async () => {
    const hitl = defineTool({
      name: 'hitl',
      description: 'asks',
      args: z.object({}),
      outputSchema: z.object({ ok: z.boolean() }),
      onToolCalled: () => null,
    })
    const manual = defineTool({ name: 'manual', description: 'someone does it', args: z.object({}), execute: false })
    const agent = (name: string, below: string | undefined) => [
      defineModel({
        name: `${name}_m`,
        model: scriptedModel(({ messages, step }) => {
          if (step > 0) return `${name}: ${results(messages).join(' + ')}`
          return below === undefined ? calls('hitl', 'manual') : calls({ tool: below, args: { message: 'go' } })
        }),
      }),
      definePrompt({
        name: `${name}_p`,
        prompt: 'x',
        model: `${name}_m`,
        tools: below === undefined ? ['hitl', 'manual'] : [{ name: below }],
      }),
      defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_p` }, exposeAsTool: true }),
    ]
    const skein = await world.open([
      ...([hitl, manual] as readonly ToolDefinition[]),
      ...agent('a', 'b'),
      ...agent('b', 'c'),
      ...agent('c', undefined),
    ])
    const thread = await skein.threads.create({ agent: 'a', id: 'top' })
    const run = thread.send('go')
    await until('both are asked for', async () => (await skein.inbox.list({ root: 'top' })).length === 2)
    const items = await skein.inbox.list({ root: 'top' })
    expect(items.map(({ why, tool, path }) => [why, tool, path.length])).toEqual([
      ['person', 'hitl', 3],
      ['person', 'manual', 3],
    ])
    await skein.inbox.answer(items[0]?.id ?? '', { ok: true }, { by: 'ann' })
    await skein.inbox.answer(items[1]?.id ?? '', 'by hand')
    expect(await run.text()).toBe('a: b: c: {"ok":true} + by hand')
    expect(await skein.inbox.list({ root: 'top' })).toEqual([])
  })
})
