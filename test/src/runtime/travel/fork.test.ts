/** Forks of one thread: what they begin with, what they leave with the source, and what is crossed. */
import { describe, expect, test } from 'vitest'
import { memory } from '../../../../src/backend/memory/memory.js'
import type { Store } from '../../../../src/backend/port.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'

function scene(backend: Store = memory()) {
  const acted: string[] = []
  const { app, model } = tinyApp({
    script: (request) => {
      const last = request.messages.at(-1)
      const results = request.messages.filter(({ role }) => role === 'tool').length
      if (last?.role === 'user' && last.text.startsWith('do')) return calls({ tool: 'note', args: { n: results } })
      if (last?.role === 'tool' && results % 2 === 1) return calls({ tool: 'charge', args: { n: results } })
      return { text: `said ${last?.text ?? ''}` }
    },
    tools: [
      looseTool('note', async ({ files }, { n }) => {
        await files.writeFile('/notes.txt', `note ${String(n)}`)
        return 'noted'
      }),
      looseTool(
        'charge',
        ({ idempotencyKey }) => {
          acted.push(idempotencyKey)
          return 'charged'
        },
        { sideEffect: true },
      ),
    ],
  })
  return { acted, model, open: () => createSkein({ app, backend, key: 'x'.repeat(40) }) }
}

describe('reading the past', () => {
  test('P4: the timeline has turns and steps with their points; files and messages are read as they were', async () => {
    const { open } = scene()
    await using skein = await open()
    const thread = await skein.threads.create({ agent: 'helper', id: 'source' })
    await (await thread.send('do it')).result()
    await (await thread.send('do more')).result()
    const rows = await thread.timeline()
    expect(rows.map(({ kind, step }) => `${kind} ${step ?? ''}`.trim())).toEqual([
      'turn',
      'step 1',
      'step 2',
      'step 3',
      'turn',
      'step 4',
      'step 5',
      'step 6',
    ])
    expect(rows[0]).toMatchObject({ text: 'do it', ended: 'completed' })
    expect(rows[1]).toMatchObject({ point: true, files: ['/notes.txt'], calls: [{ tool: 'note', ok: true }] })
    expect(rows[2]).toMatchObject({ calls: [{ tool: 'charge', ok: true, effect: 'done' }] })
    expect(await thread.timeline({ after: rows[3]?.seq ?? 0, limit: 2 })).toEqual(rows.slice(4, 6))
    const then = await thread.files.at({ step: 1 })
    expect(await then.readFile('/notes.txt', 'utf8')).toBe('note 0')
    expect(await (await thread.files.at({ step: 0 })).exists('/notes.txt')).toBe(false)
    await expect(then.writeFile('/x', 'y')).rejects.toThrow(/EROFS/)
    await expect(thread.files.at({ step: 9 })).rejects.toMatchObject({ code: 'BAD_OPTION' })
    const diff = await skein.diff({ thread: 'source', at: { step: 3 } }, 'source', { patches: true })
    expect(diff.messages?.a).toEqual([])
    expect(diff.messages?.b.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'tool',
      'assistant',
      'tool',
      'assistant',
    ])
    expect(diff.files).toMatchObject([{ path: '/notes.txt', change: 'changed' }])
    expect(diff.files?.[0]?.patch).toContain('+note 2')
  })
})

describe('forking', () => {
  test('P4: a fork goes on from its point by itself, and the source is as it was', async () => {
    const { open, acted } = scene()
    await using skein = await open()
    const thread = await skein.threads.create({ agent: 'helper', id: 'source' })
    await (await thread.send('do it')).result()
    const before = JSON.stringify(await thread.records({ limit: 1_000 }))
    await expect(thread.fork({ at: { step: 1 } })).rejects.toMatchObject({
      code: 'EFFECTS_CROSSED',
      data: { crossing: { effects: [{ tool: 'charge', state: 'done', revert: false }] } },
    })
    const crossing = await thread.fork({ at: { step: 1 }, dry: true })
    expect(crossing).toMatchObject({ seq: expect.any(Number), effects: [{ call: 'call_2_0', key: acted[0] }] })
    const fork = await thread.fork({ at: { step: 1 }, effects: 'run', id: 'other', tags: ['what-if'] })
    expect(await fork.info()).toMatchObject({
      status: 'paused',
      reason: 'forked from source',
      forkedFrom: { thread: 'source' },
      tags: ['what-if'],
    })
    await fork.resume()
    await fork.settled()
    expect(await fork.messages()).toMatchObject((await thread.messages()).map(({ text, role }) => ({ text, role })))
    expect(acted).toHaveLength(2)
    expect(acted[1]).not.toBe(acted[0])
    expect(JSON.stringify(await thread.records({ limit: 1_000 }))).toBe(before)
    await (await fork.send('do more')).result()
    expect(await fork.files.readFile('/notes.txt', 'utf8')).toBe('note 2')
    expect((await thread.fork({ at: { step: 1 }, force: true, id: 'other' })).id).toBe('other')
    await expect(thread.fork({ at: { step: 3 }, id: 'other' })).rejects.toMatchObject({ code: 'COMMAND_REFUSED' })
  })

  test('P4: a fork is the same after it was let go and read again; a fork of a fork is, too', async () => {
    const backend = memory()
    const { open } = scene(backend)
    {
      await using skein = await open()
      const thread = await skein.threads.create({ agent: 'helper', id: 'source' })
      await (await thread.send('do it')).result()
      const fork = await thread.fork({ at: { step: 3 }, id: 'one' })
      await (await fork.send('hello')).result()
      await fork.fork({ id: 'two' })
    }
    await using skein = await open()
    const [one, two] = [await skein.threads.get('one'), await skein.threads.get('two')]
    await (await two.send('again')).result()
    await (await one.send('again')).result()
    expect((await one.messages()).map(({ text }) => text)).toEqual((await two.messages()).map(({ text }) => text))
    await skein.threads.delete('source')
    await (await two.send('still')).result()
    expect(await two.files.readFile('/notes.txt', 'utf8')).toBe('note 0')
  })

  test('P4: effects of a fork wait for an approval, or are refused, as it was said', async () => {
    const { open, acted } = scene()
    await using skein = await open()
    const thread = await skein.threads.create({ agent: 'helper', id: 'source' })
    await (await thread.send('do it')).result()
    const asking = await thread.fork({ at: { step: 1 }, effects: 'ask', go: true })
    await asking.settled()
    expect(await asking.status()).toBe('awaiting_approval')
    const [item] = (await skein.inbox.list({ root: asking.id })).filter(({ tool }) => tool === 'charge')
    await skein.inbox.approve(item?.id ?? '')
    await asking.settled()
    expect(acted).toHaveLength(2)
    // The approval was for that call: in a fork from between it and the call, someone is asked again.
    const approved = (await asking.records({ limit: 1_000 })).find(({ type }) => type === 'call.began')?.seq ?? 0
    const twice = await asking.fork({ at: { seq: approved - 1 }, effects: 'run', go: true })
    await twice.settled()
    expect(await twice.status()).toBe('awaiting_approval')
    expect(acted).toHaveLength(2)
    const refusing = await thread.fork({ at: { step: 1 }, effects: 'refuse', go: true })
    await refusing.settled()
    expect((await refusing.messages()).at(-2)?.failed).toMatchObject({ code: 'TOOL_DENIED' })
    const fork = await refusing.fork()
    await (await fork.send('do more')).result()
    expect((await fork.messages()).at(-2)?.failed).toMatchObject({ code: 'TOOL_DENIED' })
    expect(acted).toHaveLength(2)
  })
})
