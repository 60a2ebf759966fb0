/** Files that go back from a child to its parent, and copies that are merged or put aside. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import type { Definition, SubagentTool } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Script } from '../../../../src/models/scripted.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { family, last, write } from '../../../helpers/family.js'
import { onEveryStore } from '../../../helpers/world.js'

const put = looseTool('put', async ({ files }, { path, text }) => files.writeFile(String(path), String(text)))
const chart = looseTool('chart', async ({ files }, { path }) => {
  await files.writeFile(String(path), `chart of ${String(path)}`)
  return { status: 'success', result: 'drawn', attachments: [path] }
})

/** A writer with an output, and whatever tools it names. */
function outputApp(writer: Script, relation: Omit<SubagentTool, 'name'> = {}): readonly Definition[] {
  return [
    put,
    chart,
    defineModel({
      name: 'lead_model',
      model: scriptedModel(({ messages, step }) =>
        step === 0 ? calls(write('a'), write('b')) : results(messages).join(' | '),
      ),
    }),
    defineModel({ name: 'writer_model', model: scriptedModel(writer) }),
    definePrompt({ name: 'lead_prompt', prompt: 'x', model: 'lead_model', tools: [{ name: 'writer', ...relation }] }),
    definePrompt({
      name: 'writer_prompt',
      prompt: 'x',
      model: 'writer_model',
      tools: ['put', 'chart'],
      outputSchema: z.object({ text: z.string(), attachments: z.array(z.string()).optional() }),
    }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_prompt' } }),
    defineAgent({ name: 'writer', type: 'ai_human', sideA: { prompt: 'writer_prompt' }, exposeAsTool: true }),
  ]
}

onEveryStore('files that go back', (world) => {
  it('S8: a tool of the child gives files with the answer: they are in the parent’s /attachments in call order, whoever was first, and stay when the child is gone', async () => {
    const gates = { a: deferred(), b: deferred() }
    const app = family({
      tools: [chart],
      lead: ({ messages, step }) => (step === 0 ? calls(write('a'), write('b')) : results(messages).join(' | ')),
      writer: async ({ messages, step }) => {
        if (step > 0) return `done ${last(messages)}`
        await gates[last(messages) as 'a' | 'b'].promise
        return calls({ tool: 'chart', args: { path: '/out/chart.png' } })
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({
      agent: 'lead',
      id: 'lead',
      files: { '/attachments/chart.png': 'my own' },
    })
    const run = thread.send('go')
    gates.b.resolve()
    await until(
      'b to be done',
      async () => (await skein.threads.list({ parent: 'lead', status: 'done' })).threads.length === 1,
    )
    gates.a.resolve()
    expect(await run.text()).toBe(
      'done drawn\n\n[attached: /attachments/chart-2.png] | done drawn\n\n[attached: /attachments/chart-3.png]',
    )
    expect(await thread.files.readFile('/attachments/chart.png', 'utf8')).toBe('my own')
    expect(await thread.files.readFile('/attachments/chart-3.png', 'utf8')).toBe('chart of /out/chart.png')
    expect(
      (await thread.messages()).filter(({ role }) => role === 'tool').map(({ attachments }) => attachments),
    ).toEqual([['/attachments/chart-2.png'], ['/attachments/chart-3.png']])
  })

  it('S8: an output names its files: the parent reads paths of its own; one that is not there is told to the child, and nothing is sent', async () => {
    const seen: string[] = []
    const app = outputApp(({ step, messages }) => {
      if (step === 0)
        return calls(
          { tool: 'put', args: { path: '/r/report.md', text: messages[0]?.text ?? '' } },
          { tool: 'put', args: { path: '/r/data/1.csv', text: '1' } },
        )
      if (step === 1) return calls({ tool: 'response', args: { text: 'x', attachments: ['/missing.md'] } })
      seen.push(last(messages))
      return calls({ tool: 'response', args: { text: 'see', attachments: ['/r/report.md', '/r/data'] } })
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await thread.send('go').text()).toBe(
      '{"text":"see","attachments":["/attachments/report.md","/attachments/data"]} | ' +
        '{"text":"see","attachments":["/attachments/report-2.md","/attachments/data-2"]}',
    )
    expect(seen[0]).toMatch(/TOOL_INPUT_INVALID: attachments: there is no file "\/missing.md"/)
    expect(await thread.files.readFile('/attachments/report-2.md', 'utf8')).toBe('b')
    expect(await thread.files.readFile('/attachments/data-2/1.csv', 'utf8')).toBe('1')
  })

  it('S8: attach_files gives files with a plain text; of a root they are in run.result()', async () => {
    const app = [
      put,
      defineModel({
        name: 'm',
        model: scriptedModel(
          ({ step }) =>
            [
              calls({ tool: 'put', args: { path: '/a/b.txt', text: 'x' } }),
              calls({ tool: 'attach_files', args: { paths: ['/a', '/none'] } }),
              calls({ tool: 'attach_files', args: { paths: ['/a'] } }),
            ][step] ?? 'here',
        ),
      }),
      definePrompt({ name: 'p', prompt: 'x', model: 'm', tools: ['put', 'attach_files'] }),
      defineAgent({ name: 'solo', type: 'ai_human', sideA: { prompt: 'p' } }),
    ]
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'solo', id: 'solo' })
    expect(await thread.send('go').result()).toMatchObject({ text: 'here', attachments: ['/a'] })
    expect(results(await thread.messages())[1]).toMatch(/TOOL_INPUT_INVALID: there is no file "\/none"/)
  })

  it('S8: with a report that nobody waits for, and with notifyParent, many files and a directory', async () => {
    const many = looseTool('many', async ({ files, notifyParent }) => {
      for (let n = 0; n < 200; n++) await files.writeFile(`/many/${n}.txt`, `${n}`)
      await notifyParent('all of them', { attachments: ['/many'] })
      await expect(notifyParent('nothing', { attachments: ['/nowhere'] })).rejects.toMatchObject({
        code: 'TOOL_INPUT_INVALID',
      })
      return 'ok'
    })
    const app = family({
      tools: [many, chart],
      relation: { blocking: false },
      lead: ({ messages }) => (last(messages) === 'go' ? calls(write('x')) : 'ok'),
      writer: ({ step }) => (step === 0 ? calls('many', { tool: 'chart', args: { path: '/c.png' } }) : 'finished'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    await until(
      'the report',
      async () => (await thread.messages({ silent: 'show' })).filter(({ silent }) => silent).length === 2,
    )
    const silent = (await thread.messages({ silent: 'show' })).filter((message) => message.silent)
    expect(silent.map(({ text, attachments }) => [text, attachments])).toEqual([
      ['[writer-1] all of them\n\n[attached: /attachments/many]', ['/attachments/many']],
      ['[writer-1] finished\n\n[attached: /attachments/c.png]', ['/attachments/c.png']],
    ])
    expect(await thread.files.readdir('/attachments/many')).toHaveLength(200)
    expect(await thread.files.readFile('/attachments/many/199.txt', 'utf8')).toBe('199')
  })

  it('S8: what does not fit into the parent’s quota is left out, and the answer is heard', async () => {
    const big = looseTool(
      'big',
      async ({ files }) => (
        await files.writeFile('/big', new Uint8Array(600)),
        { status: 'success', result: 'made', attachments: ['/big'] }
      ),
    )
    const app = family({
      tools: [big],
      lead: ({ messages, step }) => (step === 0 ? calls(write('x')) : results(messages).join()),
      writer: ({ step }) => (step === 0 ? calls('big') : 'here it is'),
    })
    const skein = await world.open(app, { limits: { maxFileBytes: 1_000 } })
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead', files: { '/mine': 'x'.repeat(500) } })
    expect(await thread.send('go').text()).toMatch(
      /^here it is\n\n\[its attachments were left out: your files may hold 1000 bytes/,
    )
    expect(await thread.files.exists('/attachments/big')).toBe(false)
  })

  it('S8: 64 MB go back by name: nothing is copied', async () => {
    const give = looseTool('give', () => ({ status: 'success', result: 'ok', attachments: ['/attachments/big'] }))
    const app = family({
      tools: [give],
      lead: ({ step }) =>
        step === 0 ? calls({ tool: 'writer', args: { message: 'x', attachments: ['/big'] } }) : 'done',
      writer: ({ step }) => (step === 0 ? calls('give') : 'take it'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({
      agent: 'lead',
      id: 'lead',
      files: { '/big': new Uint8Array(64 << 20).fill(7) },
    })
    await thread.send('go').text()
    expect((await thread.files.stat('/attachments/big')).size).toBe(64 << 20)
  })
})

onEveryStore('a copy of the files whose child did not finish', (world) => {
  it('B3: nothing is merged; what it had done is put aside, and the model is told where', async () => {
    const edit = looseTool('edit', async ({ files }) => {
      await files.writeFile('/notes', 'half')
      await files.writeFile('/new/x', 'made')
      await files.rm('/old')
    })
    const app = family({
      tools: [edit],
      relation: { files: 'fork' },
      lead: ({ step, messages }) => (step === 0 ? calls(write('x')) : results(messages).join()),
      writer: ({ step }) => (step === 0 ? calls('edit') : { error: 'the provider refused' }),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({
      agent: 'lead',
      id: 'lead',
      files: { '/notes': 'whole', '/old': 'kept', '/same': 's' },
    })
    const text = await thread.send('go').text()
    expect(text).toMatch(/CHILD_FAILED: it did not finish: failed .*the provider refused/)
    expect(text).toContain(
      'nothing that it did to the files was merged into yours. What it had made or changed is below ' +
        '/attachments/writer-1: /new/x, /notes. Copy what is of use. It had deleted: /old; yours are still there.',
    )
    expect(await thread.files.readFile('/notes', 'utf8')).toBe('whole')
    expect(await thread.files.readFile('/old', 'utf8')).toBe('kept')
    expect(await thread.files.exists('/new/x')).toBe(false)
    expect(await thread.files.readFile('/attachments/writer-1/notes', 'utf8')).toBe('half')
    expect(await thread.files.find('/attachments/writer-1/**')).toEqual([
      '/attachments/writer-1/new',
      '/attachments/writer-1/new/x',
      '/attachments/writer-1/notes',
    ])
  })

  it('B3: a child that was cancelled and had changed nothing says nothing of files', async () => {
    const hang = looseTool('hang', () => new Promise(() => undefined))
    const app = family({
      tools: [hang],
      relation: { files: 'fork' },
      lead: ({ step, messages }) => (step === 0 ? calls(write('x')) : results(messages).join()),
      writer: () => calls('hang'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead', files: { '/notes': 'whole' } })
    const run = thread.send('go')
    await until(
      'the child',
      async () => (await skein.threads.list({ parent: 'lead', status: 'acting' })).threads.length === 1,
    )
    await (
      await skein.threads.get((await skein.threads.list({ parent: 'lead' })).threads[0]?.thread ?? '')
    ).cancel({ reason: 'no' })
    expect(await run.text()).toBe('Error CHILD_FAILED: it did not finish: cancelled (no)')
  })
})

onEveryStore('links among what is attached', (world) => {
  const tie = looseTool('tie', async ({ files }) => {
    await files.writeFile('/kept/real.txt', 'real')
    await files.symlink('/kept/real.txt', '/link.txt')
    await files.writeFile('/box/own.txt', 'own')
    await files.symlink('../kept', '/box/dir')
    await files.mkdir('/bad')
    await files.symlink('/nowhere', '/broken')
    await files.symlink('/nowhere', '/bad/broken')
    return 'tied'
  })
  const attach = (...attachments: readonly string[]) => ({ tool: 'writer', args: { message: 'read', attachments } })
  const peek = looseTool('peek', async ({ files }) => (await files.find('/attachments/**')).join(' '))

  it('S8: the child reads what a link shows, also within a folder, in the order in which it was named; what shows nothing is refused before anything is sent', async () => {
    const app = family({
      tools: [tie, peek],
      lead: ({ messages, step }) =>
        [calls('tie'), calls(attach('/link.txt', '/box'), attach('/broken'), attach('/bad'))][step] ??
        results(messages).slice(1).join('\n'),
      writer: ({ messages, step }) => (step === 0 ? calls('peek') : `${messages[0]?.text} | ${last(messages)}`),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const [first, second, third] = (await lead.send('go').text()).split('\nError ')
    expect(first).toBe(
      'read\n\n[attached: /attachments/link.txt, /attachments/box] | /attachments/box /attachments/box/dir ' +
        '/attachments/box/dir/real.txt /attachments/box/own.txt /attachments/link.txt',
    )
    expect(second).toMatch(
      /^TOOL_INPUT_INVALID: "\/broken": it is a link to \/nowhere, and nothing is there; nothing was sent to writer-2/,
    )
    expect(third).toMatch(/^TOOL_INPUT_INVALID: "\/bad\/broken": it is a link/)
    const [child] = await lead.children()
    expect(await (await skein.threads.get(child?.thread ?? '')).files.readFile('/attachments/link.txt', 'utf8')).toBe(
      'real',
    )
    expect((await skein.threads.list({ parent: 'lead' })).threads).toHaveLength(1)
  })

  it('S8: a folder that goes back has files for its links, and says what it could not bring', async () => {
    const give = looseTool('give', async ({ files }) => {
      await files.writeFile('/kept/real.txt', 'real')
      await files.mkdir('/box')
      await files.symlink('/kept/real.txt', '/box/link.txt')
      await files.symlink('/nowhere', '/box/broken')
      return { status: 'success', result: 'given', attachments: ['/box'] }
    })
    const app = family({
      tools: [give],
      lead: ({ messages, step }) => (step === 0 ? calls(write('go')) : results(messages).join()),
      writer: ({ step }) => (step === 0 ? calls('give') : 'here'),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await lead.send('go').text()).toBe(
      'here\n\n[attached: /attachments/box]\n\n[not attached: "/box/broken": it is a link to /nowhere, and ' +
        'nothing is there]',
    )
    expect(await lead.files.readFile('/attachments/box/link.txt', 'utf8')).toBe('real')
  })

  it('S6, S8: what goes with a child that waits for its values is looked at and kept when it is asked for', async () => {
    const needy = looseTool('needy', async ({ files }) => files.readFile('/attachments/note.txt', 'utf8'), {
      variables: [{ name: 'TOKEN', scoped: true }],
    })
    const wipe = looseTool('wipe', async ({ files }) => files.writeFile('/note.txt', 'changed since'))
    const app = family({
      tools: [needy, wipe],
      lead: ({ messages, step }) =>
        last(messages).startsWith('[writer')
          ? last(messages)
          : ([calls(attach('/none')), calls(attach('/note.txt'), 'wipe')][step] ?? results(messages)[0] ?? ''),
      writer: ({ step, messages }) => (step === 0 ? calls('needy') : last(messages)),
    })
    const skein = await world.open(app)
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead', files: { '/note.txt': 'as it was' } })
    expect(await lead.send('go').text()).toMatch(/TOOL_INPUT_INVALID: there is no file "\/none"; nothing was sent/)
    const items = await skein.inbox.list({ root: 'lead' })
    expect(items).toHaveLength(1)
    await skein.variables.provide('lead', items[0]?.request ?? '', { TOKEN: 'a-long-secret' })
    await lead.settled({ tree: true })
    expect((await lead.messages()).at(-1)?.text).toBe('[writer-1] as it was')
  })
})
