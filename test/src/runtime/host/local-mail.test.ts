/** Mail within one host: it is handed over at once, in order, once, and falls back on the mailbox. */
import { expect, it, vi } from 'vitest'
import type { Definition } from '../../../../src/agent/define.js'
import { memory } from '../../../../src/backend/memory/memory.js'
import type { Commit } from '../../../../src/backend/port.js'
import { SkeinError } from '../../../../src/core/failure.js'
import { createSkein } from '../../../../src/runtime/skein.js'
import type { Skein } from '../../../../src/runtime/skein.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { results } from '../../../helpers/asking.js'
import { deferred, turns } from '../../../helpers/deferred.js'
import { family, last, write } from '../../../helpers/family.js'
import { tapped } from '../../../helpers/tap.js'
import type { Tap } from '../../../helpers/tap.js'

const app = (): readonly Definition[] =>
  family({
    lead: ({ step, messages }) => [calls(write('a'), write('b'))][step] ?? results(messages).join(' | '),
    writer: ({ messages }) => `wrote ${last(messages)}`,
  })

async function open(given: readonly Definition[], tap: Tap): Promise<Skein> {
  return createSkein({ app: given, backend: tapped(memory(), tap), warn: () => undefined })
}

const sent = ({ sends, also = [] }: Commit): number =>
  sends.length + also.reduce((sum, { sends: more }) => sum + more.length, 0)

it('LM2: a parent, its children and their answers pass no mailbox, and each child is written with what calls it', async () => {
  const commits: Commit[] = []
  const posted: string[] = []
  const skein = await open(app(), {
    commit: (commit, go) => {
      commits.push(commit)
      return go()
    },
    mail: ({ to }) => void posted.push(to),
  })
  const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
  expect(await lead.send('go').text()).toMatch(/wrote a.*wrote b/)
  await lead.settled({ tree: true })
  expect(posted).toEqual([])
  expect(commits.reduce((sum, commit) => sum + sent(commit), 0)).toBe(0)
  const withCalls = commits.find(({ thread, also }) => thread === 'lead' && also?.length === 2)
  expect(withCalls?.also?.map(({ expected }) => expected)).toEqual([0, 0])
  await skein.close()
})

it('LM2: where a commit of several fails, all start over, and nothing is lost or there twice', async () => {
  let failures = 0
  const skein = await open(app(), {
    commit: async (commit, go) => {
      if (!commit.also || failures >= 2) return go()
      failures++
      // Nobody knows whether it was applied: once it was, once it was not.
      if (failures === 2) await go()
      throw new SkeinError('STORE_FAILED', 'the answer was lost', { retry: true })
    },
  })
  const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
  expect(await lead.send('go').text()).toMatch(/wrote a.*wrote b/)
  await lead.settled({ tree: true })
  const { threads } = await skein.threads.list({ root: 'lead' })
  expect(threads).toHaveLength(3)
  expect((await lead.messages()).filter(({ role }) => role === 'tool')).toHaveLength(2)
  expect(failures).toBeGreaterThan(0)
  await skein.close()
})

it('LM2: a command whose commit failed is carried out once, and answered', async () => {
  for (const applied of [false, true]) {
    let failed = false
    const posted: string[] = []
    const skein = await open(tinyApp({ script: () => 'done' }).app, {
      commit: async (commit, go) => {
        if (failed || commit.expected === 0) return go()
        failed = true
        if (applied) await go()
        throw new SkeinError('STORE_FAILED', 'the answer was lost', { retry: true })
      },
      mail: ({ id }) => void posted.push(id),
    })
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    expect(await thread.send('go', { id: 'm' }).text()).toBe('done')
    expect((await thread.messages()).map(({ text }) => text)).toEqual(['go', 'done'])
    expect(posted).toEqual(['m'])
    await skein.close()
  }
})

it('LM1: commands of one caller are taken in order, also behind one that had to be stored', async () => {
  const put = deferred<undefined>()
  const skein = await createSkein({
    app: tinyApp({ script: () => 'done', tools: [looseTool('look', () => 'seen')] }).app,
    backend: {
      async open(...given) {
        const backend = await memory().open(...given)
        const { mailbox } = backend
        // What goes through the mailbox takes its time.
        return { ...backend, mailbox: { ...mailbox, put: (send) => put.promise.then(() => mailbox.put(send)) } }
      },
    },
    warn: () => undefined,
  })
  const thread = await skein.threads.create({ agent: 'helper', id: 't' })
  // Definitions are asked about a call of a caller: it waits in the mailbox.
  const call = thread.callTool('look')
  const message = thread.inject('second', { id: 'second' })
  await turns(5)
  put.resolve(undefined)
  await Promise.all([(await call).result(), message])
  const order = (await thread.records()).flatMap(({ type }) =>
    type === 'call.queued' || type === 'message.received' ? [type] : [],
  )
  expect(order).toEqual(['call.queued', 'message.received'])
  await skein.close()
})

it('LM3: what a caller changes after it was sent changes nothing', async () => {
  const skein = await open(tinyApp({ script: () => 'done' }).app, {})
  const thread = await skein.threads.create({ agent: 'helper', id: 't' })
  const value = { deep: ['as it was'] }
  const kept = thread.kv.set('k', value)
  value.deep[0] = 'changed'
  await kept
  value.deep.push('changed')
  expect(await thread.kv.get('k')).toEqual({ deep: ['as it was'] })
  await skein.close()
})

it('a message is made into text once, for its record, however long it is', async () => {
  const { app: definitions } = tinyApp({ script: () => 'done' })
  const skein = await open(definitions, {})
  const thread = await skein.threads.create({ agent: 'helper' })
  const long = 'x'.repeat(2 ** 20)
  const written = vi.spyOn(JSON, 'stringify')
  try {
    await thread.send(long).result()
    const texts = written.mock.results.filter(({ value }) => typeof value === 'string' && value.length >= long.length)
    expect(texts).toHaveLength(1)
  } finally {
    written.mockRestore()
  }
  const [first] = await thread.messages()
  expect(first?.text).toBe(long)
  await skein.close()
})
