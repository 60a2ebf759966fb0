/** A thread's files: its own, durable, the same from inside a call and from outside. */
import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { quiet, until } from '../../../helpers/deferred.js'
import { results } from '../../../helpers/asking.js'
import { onEveryStore } from '../../../helpers/world.js'
import type { ToolDefinition } from '../../../../src/agent/define.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'

const once = (tools: readonly ToolDefinition[]) =>
  tinyApp({
    tools,
    script: ({ messages }) => (messages.at(-1)?.role === 'user' ? calls(...tools.map(({ name }) => name)) : 'done'),
  }).app

onEveryStore('files', (world) => {
  it('F5: links, modes and bytes of any kind are intact over a restart, and in a snapshot', async () => {
    const bytes = randomBytes(300_000)
    const app = once([
      looseTool('make', async ({ files }) => {
        await files.writeFile('/bin/blob', bytes)
        await files.writeFile('/bin/run.sh', '#!/bin/sh\n', { mode: 0o755 })
        await files.mkdir('/links')
        await files.symlink('../bin/blob', '/links/there')
        await files.mkdir('/empty')
        await files.writeFile('/__proto__', 'odd')
        return 'made'
      }),
    ])
    const skein = await world.open(app, { snapshotEvery: 1 })
    const thread = await skein.threads.create({
      agent: 'helper',
      id: 't',
      files: { '/brief.md': 'read me', '/data/raw': new Uint8Array([0, 255, 10]) },
    })
    await thread.send('go').text()
    await world.close(skein)
    const { files } = await (await world.open(app)).threads.get('t')
    expect(Buffer.from(await files.readFile('/links/there')).equals(bytes)).toBe(true)
    expect((await files.lstat('/links/there')).kind).toBe('link')
    expect((await files.stat('/bin/run.sh')).mode & 0o777).toBe(0o755)
    expect(await files.readdir('/')).toEqual(['__proto__', 'bin', 'brief.md', 'data', 'empty', 'links'])
    expect(await files.readdir('/empty')).toEqual([])
    expect([...(await files.readFile('/data/raw'))]).toEqual([0, 255, 10])
    expect(await files.readFile('/brief.md', 'utf8')).toBe('read me')
    expect(await files.usage()).toMatchObject({ files: 5 })
  })

  it('F5, F1: nothing is shared with another thread, and a client in another process reads and writes the same', async () => {
    const app = once([
      looseTool('look', async ({ files }) =>
        (await files.exists('/note')) ? files.readFile('/note', 'utf8') : 'nothing',
      ),
    ])
    const skein = await world.open(app)
    const one = await skein.threads.create({ agent: 'helper', id: 'one' })
    const two = await skein.threads.create({ agent: 'helper', id: 'two' })
    const client = await connectSkein({ backend: world.store.source, clock: world.clock })
    await (await client.threads.get('one')).files.writeFile('/note', 'from outside')
    expect(await (await client.threads.get('one')).files.readFile('/note', 'utf8')).toBe('from outside')
    await client.close()
    await one.send('go').text()
    await two.send('go').text()
    expect(results(await one.messages())).toEqual(['from outside'])
    expect(results(await two.messages())).toEqual(['nothing'])
    await one.files.rm('/note')
    await expect(one.files.readFile('/note')).rejects.toMatchObject({ code: 'ENOENT' })
  })

  it('F5, T3: a write from outside while a step runs makes a call that may run again do so', async () => {
    let ran = 0
    const wait = looseTool('wait', () => 'approved', { needsApproval: true })
    const look = looseTool(
      'look',
      async ({ files }) => {
        ran++
        return (await files.exists('/note')) ? 'seen' : 'not seen'
      },
      {
        sideEffect: false,
      },
    )
    const skein = await world.open(once([wait, look]))
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    await until('the approval', async () => (await skein.inbox.list()).length === 1 && ran === 1)
    await quiet()
    await thread.files.writeFile('/note', 'x')
    await skein.inbox.approve('t/call_1_0')
    await run.text()
    expect(results(await thread.messages())).toEqual(['approved', 'seen'])
    expect(ran).toBe(2)
  })

  it('F5: a call that throws leaves nothing, one that reports an error keeps its files', async () => {
    const app = once([
      looseTool('throws', async ({ files }) => {
        await files.writeFile('/lost', 'x')
        throw new Error('no')
      }),
      looseTool('reports', async ({ files }) => {
        await files.writeFile('/kept', 'x')
        return { status: 'error', error: 'exit 1' }
      }),
    ])
    const thread = await (await world.open(app)).threads.create({ agent: 'helper', id: 't' })
    await thread.send('go').text()
    expect(await thread.files.readdir('/')).toEqual(['kept'])
    expect(results(await thread.messages())).toEqual(['Error TOOL_THREW: no', 'Error TOOL_FAILED: exit 1'])
  })

  it('F5: the quota is told at once, and decided in call order when calls run beside each other', async () => {
    const write = (name: string, size: number) =>
      looseTool(
        name,
        async ({ files }) => {
          await files.writeFile(`/${name}`, 'x'.repeat(size))
          return `wrote ${size}`
        },
        {
          sideEffect: false,
        },
      )
    const app = once([write('a', 60), write('b', 60), write('c', 30), write('huge', 1000)])
    const thread = await (
      await world.open(app, { limits: { maxFileBytes: 100 } })
    ).threads.create({ agent: 'helper', id: 't' })
    await thread.send('go').text()
    const [a, b, c, huge] = results(await thread.messages())
    expect(a).toBe('wrote 60')
    expect(b).toMatch(/EDQUOT: .*'\/b'/)
    expect(c).toBe('wrote 30')
    expect(huge).toMatch(/EDQUOT/)
    expect(await thread.files.readdir('/')).toEqual(['a', 'c'])
  })

  it('F5: a file larger than one should hold is streamed in and out', async () => {
    const chunk = new Uint8Array(1 << 20).fill(7)
    const app = once([
      looseTool('big', async ({ files }) => {
        await files.writeStream(
          '/big',
          (async function* () {
            for (let part = 0; part < 24; part++) yield chunk
          })(),
        )
        let bytes = 0
        for await (const part of files.readStream('/big')) bytes += part.length
        return bytes
      }),
    ])
    const thread = await (await world.open(app)).threads.create({ agent: 'helper', id: 't' })
    await thread.send('go').text()
    expect(results(await thread.messages())).toEqual([String(24 << 20)])
    expect((await thread.files.stat('/big')).size).toBe(24 << 20)
  })
})
