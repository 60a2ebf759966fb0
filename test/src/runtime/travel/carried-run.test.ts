/** P4, R1: the turn that a fork is in the middle of is a run of the fork, as any other. */
import { expect, test } from 'vitest'
import { createSkein, memory } from '../../../../src/index.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'

async function collect<Item>(from: AsyncIterable<Item>): Promise<readonly Item[]> {
  const all: Item[] = []
  for await (const item of from) all.push(item)
  return all
}

test('P4, R1: a run that began in the source is read in the fork: its result, text, calls and events', async () => {
  const { app } = tinyApp({
    tools: [looseTool('look', () => 'seen')],
    script: ({ messages }) => (messages.at(-1)?.role === 'user' ? calls('look') : 'looked around'),
  })
  await using skein = await createSkein({ app, backend: memory() })
  const source = await skein.threads.create({ agent: 'helper', id: 'source' })
  await source.send('look', { id: 'm1' }).result()
  const fork = await source.fork({ at: { step: 1 }, id: 'fork' })
  const open = await fork.current()
  expect(open?.id).toBe('m1')
  await fork.resume()
  expect(await open?.result()).toMatchObject({ text: 'looked around', stopReason: 'completed' })
  const run = fork.run('m1')
  expect(await run.text()).toBe('looked around')
  expect((await collect(run.textStream)).join('')).toBe('looked around')
  const types = (await collect(run.fullStream)).map(({ type }) => type)
  expect([types[0], types.at(-1)]).toEqual(['thread.based', 'turn.ended'])
  expect((await collect(run.view({ tree: true }))).at(-1)?.result?.text).toBe('looked around')
  await fork.send('look again', { id: 'm2' }).result()
  expect((await collect(fork.run('m2').fullStream)).map(({ type }) => type)).not.toContain('thread.based')
  await expect(fork.run('m0').result()).rejects.toMatchObject({ code: 'UNKNOWN_RUN' })
})
