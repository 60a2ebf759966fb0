/** Children: threads that answer calls of another thread. */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import { calls, looseTool } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { family, last, write } from '../../../helpers/family.js'
import { collect, deferred, turns, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

onEveryStore('a child that answers a call', (world) => {
  it('KI2: children work beside each other, answer in call order, and end', async () => {
    const gates = new Map(['a', 'b', 'c'].map((name) => [name, deferred()] as const))
    const app = family({
      lead: ({ messages, step }) =>
        step === 0 ? calls(write('a'), write('b'), write('c')) : `got ${results(messages).join(', ')}`,
      writer: async ({ messages }) => {
        await gates.get(last(messages))?.promise
        return `wrote ${last(messages)}`
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = thread.send('go')
    await until(
      'three children',
      async () => (await skein.threads.list({ parent: 'lead', status: 'thinking' })).threads.length === 3,
    )
    expect(await thread.status()).toBe('waiting')
    for (const name of ['c', 'a', 'b']) gates.get(name)?.resolve()
    expect(await run.text()).toBe('got wrote a, wrote b, wrote c')
    expect((await run.toolCalls()).map(({ outcome }) => outcome)).toEqual(
      ['a', 'b', 'c'].map((name) => ({ ok: true, value: `wrote ${name}` })),
    )
    expect(results(await collect(run.messagesStream))).toEqual(['wrote a', 'wrote b', 'wrote c'])
    const { threads } = await skein.threads.list({ parent: 'lead' })
    expect(threads.map(({ status, root, path }) => [status, root, path.length])).toEqual([
      ['done', 'lead', 2],
      ['done', 'lead', 2],
      ['done', 'lead', 2],
    ])
    const child = await skein.threads.get(threads[0]?.thread ?? '')
    await expect(child.send('more').result()).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
  })

  it('F1, TH2: a thread is there for others before its first body runs', async () => {
    const seen: string[] = []
    const look = looseTool('look', async ({ threadId }) => {
      const { agent, status } = await (await skein.threads.get(threadId)).info()
      seen.push(`${agent} ${status}`)
      return 'looked'
    })
    const asks = ({ step }: { readonly step: number }) => (step === 0 ? calls('look') : 'done')
    const skein: Skein = await world.open(
      family({
        tools: [look],
        lead: ({ step }) => (step === 0 ? calls(write('a'), write('b')) : 'done'),
        writer: asks,
      }),
    )
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    expect(results(await thread.messages())).toEqual(['done', 'done'])
    expect(seen).toHaveLength(2)
    for (const each of seen) expect(each).toMatch(/^writer/)
  })

  it('KI2: past the limit children wait in line; none fails', async () => {
    let working = 0
    let most = 0
    const app = family({
      lead: ({ step }) => (step === 0 ? calls(...Array.from({ length: 20 }, (_, n) => write(`${n}`))) : 'done'),
      writer: async ({ messages }) => {
        working++
        most = Math.max(most, working)
        await turns(3)
        working--
        return last(messages)
      },
    })
    const skein = await world.open(app, { limits: { maxParallelChildren: 3 } })
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    expect(results(await thread.messages())).toEqual(Array.from({ length: 20 }, (_, n) => `${n}`))
    expect(most).toBe(3)
  })

  it('a child that fails is an error result with why; one that calls itself for ever is stopped by depth', async () => {
    const app = [
      ...family({
        lead: ({ step }) => (step === 0 ? calls(write('x')) : 'done'),
        writer: () => ({ error: 'the provider refused' }),
      }),
      defineModel({
        name: 'loop_model',
        model: scriptedModel(({ messages, step }) =>
          step === 0 ? calls({ tool: 'loop', args: { message: 'deeper' } }) : `back: ${results(messages).join()}`,
        ),
      }),
      definePrompt({ name: 'loop_prompt', prompt: 'x', model: 'loop_model', tools: [{ name: 'loop' }] }),
      defineAgent({ name: 'loop', type: 'ai_human', sideA: { prompt: 'loop_prompt' }, exposeAsTool: true }),
    ]
    const skein = await world.open(app, { limits: { maxDepth: 3 } })
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    expect(results(await thread.messages())[0]).toMatch(
      /CHILD_FAILED: it did not finish: failed \(.*the provider refused/,
    )
    const loop = await skein.threads.create({ agent: 'loop', id: 'loop' })
    expect(await loop.send('go').text()).toMatch(/back: back: .*3 deep, and this is as deep as it goes/)
    expect((await skein.threads.list({ root: 'loop' })).threads).toHaveLength(3)
  })

  it('P1: after a restart the parent goes on with its children; none is run again', async () => {
    const asked: string[] = []
    const gate = deferred()
    const make = () =>
      family({
        lead: ({ messages, step }) =>
          step === 0 ? calls(write('a'), write('b')) : `got ${results(messages).join(', ')}`,
        writer: async ({ messages }) => {
          asked.push(last(messages))
          if (last(messages) === 'b') await gate.promise
          return `wrote ${last(messages)}`
        },
      })
    const skein = await world.open(make())
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go', { id: 'm' }).accepted()
    await until(
      'one to be done',
      async () => (await skein.threads.list({ parent: 'lead', status: 'done' })).threads.length === 1,
    )
    await world.close(skein)
    gate.resolve()
    const again = await world.open(make())
    expect(await (await again.threads.get('lead')).run('m').text()).toBe('got wrote a, wrote b')
    expect(asked.toSorted()).toEqual(['a', 'b', 'b'])
    expect((await again.threads.list({ parent: 'lead' })).threads).toHaveLength(2)
  })

  it('F7: cancel ends the children that the turn waits for, also those still in line', async () => {
    const ended: string[] = []
    const hang = looseTool(
      'hang',
      ({ signal }) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => (ended.push('tool'), reject(signal.reason)))),
    )
    const app = family({
      tools: [hang],
      lead: ({ messages }) =>
        last(messages) === 'go' ? calls(...Array.from({ length: 50 }, (_, n) => write(`${n}`))) : 'done',
      writer: () => calls('hang'),
    })
    const skein = await world.open(app, { limits: { maxParallelChildren: 10 } })
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = thread.send('go')
    await until(
      'ten at work',
      async () => (await skein.threads.list({ parent: 'lead', status: 'acting' })).threads.length === 10,
    )
    await thread.cancel({ reason: 'enough' })
    expect((await run.result()).stopReason).toBe('cancelled')
    await until(
      'all to be gone',
      async () => (await skein.threads.list({ parent: 'lead', status: 'terminated' })).threads.length === 10,
    )
    expect((await skein.threads.list({ parent: 'lead' })).threads).toHaveLength(10)
    await until('their tools to hear it', () => ended.length === 10)
    expect(await thread.send('and now?').text()).toBe('done')
  })

  it('F7: terminate takes the whole tree with it', async () => {
    const app = family({
      tools: [looseTool('hang', () => new Promise(() => undefined))],
      lead: () => calls(write('x')),
      writer: () => calls('hang'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    void thread.send('go').result()
    await until(
      'the child',
      async () => (await skein.threads.list({ parent: 'lead', status: 'acting' })).threads.length === 1,
    )
    await thread.terminate({ reason: 'over' })
    await until(
      'the child to be gone',
      async () => (await skein.threads.list({ parent: 'lead', status: 'terminated' })).threads.length === 1,
    )
    expect(await thread.status()).toBe('terminated')
  })

  it('R2: an approval of a child is in the inbox of the tree, and one stream tells of all threads', async () => {
    const risky = looseTool('risky', () => 'did it', { needsApproval: true })
    const app = family({
      tools: [risky],
      lead: ({ step, messages }) => (step === 0 ? calls(write('x')) : `got ${results(messages).join()}`),
      writer: ({ step, messages }) => (step === 0 ? calls('risky') : `child: ${results(messages).join()}`),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = thread.send('go')
    await until('the approval', async () => (await skein.inbox.list({ root: 'lead' })).length === 1)
    const [item] = await skein.inbox.list({ root: 'lead' })
    expect(item?.path).toEqual(['lead', item?.thread])
    await skein.inbox.approve(item?.id ?? '')
    expect(await run.text()).toBe('got child: did it')
    const events = await collect(skein.events({ root: 'lead', until: 'now' }))
    expect(new Set(events.map(({ thread: of }) => of)).size).toBe(2)
  })
})

onEveryStore('children that stay', (world) => {
  const resumable = { receives_messages: 'side_a' as const }

  it('created by name, spoken to by reference, listed; a cap names the live ones', async () => {
    const replies = [
      calls(
        { tool: 'subagent_create', args: { agent: 'writer', name: 'Ann', message: 'hello' } },
        { tool: 'subagent_create', args: { agent: 'writer', name: '', message: 'x' } },
      ),
      calls(
        { tool: 'subagent_message', args: { reference: 'writer-1', message: 'more' } },
        { tool: 'subagent_create', args: { agent: 'writer', name: 'Bob', message: 'hi' } },
        { tool: 'subagent_create', args: { agent: 'writer', name: 'Cid', message: 'too many' } },
        { tool: 'subagent_message', args: { reference: 'writer-9', message: 'x' } },
      ),
      calls({ tool: 'subagent_list', args: {} }),
    ]
    const app = family({
      relation: { resumable: { ...resumable, maxInstances: 2 } },
      lead: ({ step }) => replies[step] ?? 'done',
      writer: ({ messages }) =>
        `heard ${messages
          .filter(({ role }) => role === 'user')
          .map(({ text }) => text)
          .join('+')}`,
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    await thread.send('go').text()
    const texts = results(await thread.messages())
    expect(texts[0]).toBe('heard hello\n\n[reference: writer-1]')
    expect(texts[1]).toMatch(/TOOL_INPUT_INVALID.*name/)
    expect(texts[2]).toBe('heard hello+more')
    expect(texts[3]).toBe('heard hi\n\n[reference: writer-2]')
    expect(texts[4]).toMatch(/there may be 2 of writer at once, and there are: writer-1, writer-2/)
    expect(texts[5]).toMatch(/no agent "writer-9".*there are: writer-1/)
    expect(JSON.parse(texts[6] ?? '')).toEqual(
      ['Ann', 'Bob'].map((name, index) => ({
        reference: `writer-${index + 1}`,
        agent: 'writer',
        name,
        status: 'waiting for a message',
      })),
    )
    const { threads } = await skein.threads.list({ parent: 'lead' })
    expect(threads.map(({ tags, status }) => [tags, status])).toEqual([
      [['name:Ann'], 'idle'],
      [['name:Bob'], 'idle'],
    ])
  })

  it('a child that nobody waits for reports as a silent message, which wakes the parent', async () => {
    const gate = deferred()
    const app = family({
      relation: { blocking: false },
      lead: ({ messages }) =>
        last(messages) === 'go'
          ? calls(write('a'))
          : last(messages).startsWith('[writer-1]')
            ? `so: ${last(messages)}`
            : 'meanwhile',
      writer: async () => (await gate.promise, 'the section'),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    expect(await thread.send('go').text()).toBe('meanwhile')
    expect(results(await thread.messages())).toEqual(['{"reference":"writer-1","status":"started"}'])
    gate.resolve()
    await until('the report', async () => last(await thread.messages()).startsWith('so:'))
    expect(last(await thread.messages())).toBe('so: [writer-1] the section')
    expect((await thread.messages()).some(({ text }) => text === '[writer-1] the section')).toBe(false)
  })
})

onEveryStore('children that work on a copy of the files', (world) => {
  it('B3: each sees the parent’s files, none sees another’s; what they did is merged in call order, with a report of conflicts', async () => {
    const edit = looseTool('edit', async ({ files }, { path, text }) => {
      const before = (await files.exists(String(path))) ? await files.readFile(String(path), 'utf8') : 'none'
      await files.writeFile(String(path), String(text))
      return before
    })
    const plans: Record<string, { path: string; text: string }[]> = {
      a: [
        { path: '/notes', text: 'ONE\ntwo\nthree\n' },
        { path: '/a', text: 'by a' },
      ],
      b: [
        { path: '/notes', text: 'one\ntwo\nTHREE\n' },
        { path: '/both', text: 'by b' },
      ],
      c: [{ path: '/both', text: 'by c' }],
    }
    const app = family({
      tools: [edit],
      relation: { files: 'fork' },
      lead: ({ step }) => (step === 0 ? calls(write('a'), write('b'), write('c')) : 'done'),
      writer: ({ step, messages }) =>
        step === 0
          ? calls(...(plans[last(messages)] ?? []).map((args) => ({ tool: 'edit', args })))
          : `saw ${results(messages)
              .map((text) => text.trim())
              .join(' and ')}`,
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead', files: { '/notes': 'one\ntwo\nthree\n' } })
    await thread.send('go').text()
    const texts = results(await thread.messages())
    expect(texts[0]).toBe('saw one\ntwo\nthree and none')
    expect(texts[1]).toBe('saw one\ntwo\nthree and none')
    expect(texts[2]).toMatch(/^saw none\n\n.*\/both/s)
    expect(await thread.files.readFile('/notes', 'utf8')).toBe('ONE\ntwo\nTHREE\n')
    expect(await thread.files.readFile('/a', 'utf8')).toBe('by a')
    expect(await thread.files.readFile('/both', 'utf8')).toBe('by b')
    expect(await thread.files.readFile('/both.theirs', 'utf8')).toBe('by c')
  })

  it('F1: without it a child has none of its parent’s files, and leaves none behind', async () => {
    const look = looseTool('look', async ({ files }) => (await files.writeFile('/mine', 'x'), files.readdir('/')))
    const app = family({
      tools: [look],
      lead: ({ step }) => (step === 0 ? calls(write('x')) : 'done'),
      writer: ({ step, messages }) => (step === 0 ? calls('look') : results(messages).join()),
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead', files: { '/secret': 's' } })
    await thread.send('go').text()
    expect(results(await thread.messages())).toEqual(['["mine"]'])
    expect(await thread.files.readdir('/')).toEqual(['secret'])
  })
})

onEveryStore('attachments', (world) => {
  it('AH1, AH2: files and directories go to the child’s /attachments; a name that is taken gets a number, a missing one is told before anything is sent', async () => {
    const list = looseTool('list', async ({ files }) => {
      const found = await files.find('/attachments/**')
      const texts = await Promise.all(
        found.map(async (path) =>
          (await files.stat(path)).kind === 'file'
            ? `${path}=${(await files.readFile(path, 'utf8')).slice(0, 9)}`
            : path,
        ),
      )
      return texts.join(' ')
    })
    const put = looseTool('put', async ({ files }) => files.writeFile('/late.txt', 'just now'))
    const send = (message: string, attachments: string[]) => ({
      tool: 'subagent_message',
      args: { reference: 'writer-1', message, attachments },
    })
    const replies = [
      calls({
        tool: 'subagent_create',
        args: { agent: 'writer', name: 'Ann', message: 'look', attachments: ['/a.txt', '/sub/a.txt', '/dir'] },
      }),
      calls('put', send('again', ['/a.txt', '/late.txt']), send('nothing', ['/missing.txt'])),
    ]
    const app = family({
      tools: [list, put],
      relation: { resumable: { receives_messages: 'side_a' } },
      lead: ({ step }) => replies[step] ?? 'done',
      writer: ({ step, messages }) =>
        step === 0
          ? calls('list')
          : `${messages
              .findLast(({ role }) => role === 'user')
              ?.text.split('\n')
              .at(-1)} ${results(messages).at(-1)}`,
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({
      agent: 'lead',
      id: 'lead',
      files: { '/a.txt': 'first', '/sub/a.txt': 'second', '/dir/x/y.txt': 'deep' },
    })
    await thread.send('go').text()
    const texts = results(await thread.messages())
    expect(texts[0]?.split('\n')[0]).toBe(
      '[attached: /attachments/a.txt, /attachments/a-2.txt, /attachments/dir] /attachments/a-2.txt=second ' +
        '/attachments/a.txt=first /attachments/dir /attachments/dir/x /attachments/dir/x/y.txt=deep',
    )
    expect(texts[2]).toMatch(/^\[attached: \/attachments\/a-3.txt, \/attachments\/late.txt\].*late.txt=just now/)
    expect(texts[3]).toMatch(/TOOL_INPUT_INVALID: there is no file "\/missing.txt"; nothing was sent/)
  })

  it('64 MB go by name: nothing is copied', async () => {
    const app = family({
      lead: ({ step }) =>
        step === 0 ? calls({ tool: 'writer', args: { message: 'look', attachments: ['/big'] } }) : 'done',
      writer: () => 'seen',
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({
      agent: 'lead',
      id: 'lead',
      files: { '/big': new Uint8Array(64 << 20).fill(7) },
    })
    await thread.send('go').text()
    const [child] = (await skein.threads.list({ parent: 'lead' })).threads
    const { files } = await skein.threads.get(child?.thread ?? '')
    expect((await files.stat('/attachments/big')).size).toBe(64 << 20)
  })
})
