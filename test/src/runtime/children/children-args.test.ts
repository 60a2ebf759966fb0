/** What children are told first: args of their own, mappings, and the one that goes on. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { createApp } from '../../../../src/agent/app.js'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, SubagentTool } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script } from '../../../../src/models/scripted.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred } from '../../../helpers/deferred.js'
import { family, last } from '../../../helpers/family.js'
import { onEveryStore } from '../../../helpers/world.js'

const required = z.object({
  topic: z.string(),
  depth: z.number(),
  sources: z.array(z.string()).optional(),
  title: z.string().optional(),
})

function schooled(
  lead: Script,
  relation: Omit<SubagentTool, 'name'>,
): { readonly app: readonly Definition[]; readonly model: ReturnType<typeof scriptedModel> } {
  const model = scriptedModel(lead)
  return {
    model,
    app: [
      defineModel({ name: 'lead_model', model }),
      defineModel({ name: 'writer_model', model: scriptedModel(({ messages }) => `heard ${last(messages)}`) }),
      definePrompt({ name: 'lead_prompt', prompt: 'x', model: 'lead_model', tools: [{ name: 'writer', ...relation }] }),
      definePrompt({ name: 'writer_prompt', prompt: 'x', model: 'writer_model', requiredSchema: required }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_prompt' } }),
      defineAgent({
        name: 'writer',
        type: 'ai_human',
        sideA: { prompt: 'writer_prompt' },
        exposeAsTool: true,
        toolDescription: 'Writes',
      }),
    ],
  }
}

onEveryStore('what a child is told', (world) => {
  it('S1: the requiredSchema of the agent’s prompt is what its tool takes; the mapped args are message, files and name', async () => {
    const good = { topic: 'birds', depth: 2, sources: ['/a.txt'], title: 'On birds' }
    const { app, model } = schooled(
      ({ messages, step }) =>
        step === 0
          ? calls({ tool: 'writer', args: good }, { tool: 'writer', args: { topic: 'no depth' } })
          : results(messages).join(' | '),
      {
        initUserMessageProperty: 'topic',
        initAttachmentsProperty: 'sources',
        initAgentNameProperty: 'title',
      },
    )
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead', files: { '/a.txt': 'a' } })
    const text = await thread.send('go').text()
    expect(text).toMatch(
      /^heard birds\n\n\{"depth":2,"title":"On birds"\}\n\n\[attached: \/attachments\/a.txt\] \| Error TOOL_INPUT_INVALID.*depth/,
    )
    expect(model.requests[0]?.tools.find(({ name }) => name === 'writer')?.parameters).toMatchObject({
      required: ['topic', 'depth'],
    })
    expect((await skein.threads.list({ parent: 'lead' })).threads[0]).toMatchObject({
      name: 'On birds',
      tags: ['name:On birds'],
    })
  })

  it('S1: a property that the agent does not take is told when the app is loaded', () => {
    const { app } = schooled(() => 'x', { initUserMessageProperty: 'subject' })
    expect(() => createApp(app, 'app')).toThrow(
      /has the initUserMessageProperty "subject" of "writer", which takes: topic, depth, sources, title/,
    )
  })

  it('S2: subagent_create takes what the agent asks for as arguments; the message is one of them, or stands before them', async () => {
    const create = (args: object) => ({ tool: 'subagent_create', args: { agent: 'writer', name: 'Ann', ...args } })
    const { app } = schooled(
      ({ messages, step }) =>
        step === 0
          ? calls(
              create({ message: 'birds', arguments: { depth: 1 } }),
              create({ message: 'and', arguments: { topic: 'bees', depth: 2 } }),
              create({ message: 'x' }),
              create({ arguments: { topic: 'ants', depth: 3 } }),
            )
          : results(messages).join(' | '),
      {
        resumable: { receives_messages: 'side_a' },
        initUserMessageProperty: 'topic',
      },
    )
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const texts = (await thread.send('go').text()).split(' | ')
    expect(texts[0]).toBe('heard birds\n\n{"depth":1}\n\n[reference: writer-1]')
    expect(texts[1]).toBe('heard and\n\nbees\n\n{"depth":2}\n\n[reference: writer-2]')
    expect(texts[2]).toMatch(/TOOL_INPUT_INVALID: arguments: .*depth/)
    expect(texts[3]).toBe('heard ants\n\n{"depth":3}\n\n[reference: writer-3]')
  })

  it('S3: blocking with one instance goes on with the one that lives, also one of the same reply; a further cap lists those that do', async () => {
    const create = (message: string) => ({ tool: 'subagent_create', args: { agent: 'writer', name: 'Ann', message } })
    const said = (app: { maxInstances: number; blocking?: boolean }) =>
      family({
        relation: {
          ...(app.blocking === false && { blocking: false }),
          resumable: { receives_messages: 'side_a', maxInstances: app.maxInstances },
        },
        lead: ({ messages, step }) => {
          if (step === 0) return calls(create('one'), create('two'))
          return step === 1 ? calls(create('three')) : results(messages).join(' | ')
        },
        writer: ({ messages }) => `${messages.filter(({ role }) => role === 'user').length}`,
      })
    const skein = await world.open(said({ maxInstances: 1 }))
    const thread = await skein.threads.create({ agent: 'lead', id: 'one' })
    const text = await thread.send('go').text()
    expect(text.split(' | ').every((each) => each.endsWith('[reference: writer-1]'))).toBe(true)
    expect(text.split(' | ').at(-1)).toBe('3\n\n[reference: writer-1]')
    expect((await skein.threads.list({ parent: 'one' })).threads).toHaveLength(1)
    await world.close(skein)
    const other = await world.open(said({ maxInstances: 1, blocking: false }))
    const second = await other.threads.create({ agent: 'lead', id: 'two' })
    expect(await second.send('go').text()).toMatch(/there may be 1 of writer at once, and there are: writer-1; speak/)
  })

  it('S2: subagent_list is answered at its turn: after the calls before it', async () => {
    const gate = deferred()
    const app = family({
      tools: [looseTool('wait', () => gate.promise)],
      relation: { resumable: { receives_messages: 'side_a' } },
      lead: ({ messages, step }) =>
        step === 0
          ? calls(
              'subagent_list',
              { tool: 'subagent_create', args: { agent: 'writer', name: 'Ann', message: 'x' } },
              'subagent_list',
            )
          : results(messages).join(' | '),
      writer: () => 'ok',
    })
    const skein = await world.open(app)
    const run = (await skein.threads.create({ agent: 'lead', id: 'lead' })).send('go')
    expect(await run.text()).toBe(
      '[] | ok\n\n[reference: writer-1] | ' +
        '[{"reference":"writer-1","agent":"writer","name":"Ann","status":"waiting for a message"}]',
    )
    expect((await run.toolCalls()).map(({ outcome }) => outcome?.ok)).toEqual([true, true, true])
    gate.resolve()
  })
})
