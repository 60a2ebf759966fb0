/** Which line of a child stands where, while it works for a turn. */
import { expect, it } from 'vitest'
import { createChildRows } from '../../../src/cli/turn/child-rows.js'
import { swarmLine } from '../../../src/cli/turn/swarm-line.js'
import { createSkein, defineAgent, defineModel, definePrompt, defineTool, memory } from '../../../src/index.js'
import { scriptedModel } from '../../../src/testing.js'
import { z } from 'zod'
import { deferred } from '../../helpers/deferred.js'

const never = new Promise<never>(() => undefined)
const ask = (tool: string, ...messages: readonly string[]) => messages.map((message) => ({ tool, args: { message } }))

const models = {
  top: scriptedModel(() => ({ calls: [...ask('slow', 'a', 'b'), ...ask('boss', 'c')] })),
  boss: scriptedModel(() => ({ calls: [...ask('slow', 'd'), ...ask('asker', 'e')] })),
  asker: scriptedModel(() => ({ calls: [{ tool: 'publish', args: {} }] })),
  slow: scriptedModel(() => never),
}
const may = {
  top: [{ name: 'slow' }, { name: 'boss' }],
  boss: [{ name: 'slow' }, { name: 'asker' }],
  asker: ['publish'],
  slow: [],
}
const app = [
  defineTool({
    name: 'publish',
    description: 'Publishes',
    args: z.object({}),
    sideEffect: true,
    idempotent: true,
    needsApproval: true,
    execute: () => 'published',
  }),
  ...Object.entries(models).map(([name, model]) => defineModel({ name, model })),
  ...Object.entries(may).map(([name, tools]) => definePrompt({ name, model: name, prompt: `You are ${name}.`, tools })),
  ...Object.keys(may).map((name) =>
    defineAgent({ name, type: 'ai_human', sideA: { prompt: name }, exposeAsTool: true }),
  ),
]

it('whoever waits for a person stands before those that work, with all above, so that it is not cut off', async () => {
  const skein = await createSkein({ app, backend: memory(), closeGraceMs: 0 })
  const thread = await skein.threads.create({ agent: 'top', id: 't1' })
  await thread.send('go').accepted()
  const rows = createChildRows((_, text) => text, 't1')
  let begun = 0
  let held = false
  for await (const change of thread.view({ tree: true, from: 'start' })) {
    rows.take(change)
    if (change.event?.type === 'turn.started') begun++
    held ||= change.calls.some(({ waitsFor }) => waitsFor === 'approval')
    if (begun === 6 && held) break
  }
  const timeless = rows.lines('◐').map((line) => line.replace(/\d+ ms|[\d.]+ s/, '…'))
  expect(timeless).toEqual([
    '▱▱▱▱▱▱▱▱▱▱▱▱ 0 of 5 done · 1 waits for someone · 4 at work · …',
    '◐ boss-1 “c” … waits for 2 children',
    '  ‖ asker-1 “e” publish waits for approval',
    '  ◐ slow-1 “d” … thinking',
    '◐ slow-1 “a” … thinking',
    '◐ slow-2 “b” … thinking',
  ])
  await skein.close()
})

it('of a big swarm those that matter are shown: equal waits as one line, then the slowest, and how many more', async () => {
  const crowd = 40
  const big = scriptedModel(() => ({
    calls: [
      ...ask('slow', ...Array.from({ length: crowd }, (_, index) => `topic ${index}`)),
      ...ask('asker', 'x', 'y', 'z'),
    ],
  }))
  const definitions = [
    ...app.filter(({ name }) => name !== 'top'),
    defineModel({ name: 'top', model: big }),
    definePrompt({ name: 'top', model: 'top', prompt: 'You are top.', tools: [{ name: 'slow' }, { name: 'asker' }] }),
    defineAgent({ name: 'top', type: 'ai_human', sideA: { prompt: 'top' } }),
  ]
  const skein = await createSkein({
    app: definitions,
    backend: memory(),
    closeGraceMs: 0,
    limits: { maxParallelChildren: 20 },
  })
  const thread = await skein.threads.create({ agent: 'top', id: 't1' })
  await thread.send('go').accepted()
  const rows = createChildRows((_, text) => text, 't1')
  let begun = 0
  for await (const change of thread.view({ tree: true, from: 'start' })) {
    rows.take(change)
    if (change.event?.type === 'turn.started' && ++begun === 21) break
  }
  const lines = rows.lines('◐').map((line) => line.replace(/\d+ ms|[\d.]+ s/, '…'))
  expect(lines[0]).toBe('▱▱▱▱▱▱▱▱▱▱▱▱ 0 of 43 done · 20 at work · 23 in line (20 at once) · …')
  expect(lines.slice(1)).toEqual([
    ...Array.from({ length: 8 }, (_, index) => `◐ slow-${index + 1} “topic ${index}” … thinking`),
    '  … and 12 more at work',
  ])
  await skein.close()
})

it('equal waits are one line', async () => {
  const skein = await createSkein({
    app: [
      ...app.filter(({ name }) => name !== 'top'),
      defineModel({ name: 'top', model: scriptedModel(() => ({ calls: ask('asker', ...'abcdefghijkl') })) }),
      definePrompt({ name: 'top', model: 'top', prompt: 'x', tools: [{ name: 'asker' }] }),
      defineAgent({ name: 'top', type: 'ai_human', sideA: { prompt: 'top' } }),
    ],
    backend: memory(),
    closeGraceMs: 0,
  })
  const thread = await skein.threads.create({ agent: 'top', id: 't1' })
  await thread.send('go').accepted()
  const rows = createChildRows((_, text) => text, 't1')
  let held = 0
  for await (const change of thread.view({ tree: true, from: 'start' })) {
    rows.take(change)
    if (change.calls.some(({ waitsFor }) => waitsFor === 'approval') && ++held === 12) break
  }
  expect(rows.lines('◐').slice(1)).toEqual(['‖ 12 × publish waits for approval'])
  await skein.close()
})

it('what a tool of a child has got to stands in its row', async () => {
  const listens = deferred()
  const scan = defineTool({
    name: 'scan',
    description: 'reads pages',
    args: z.object({}),
    eventSchema: z.object({ page: z.number() }),
    async *execute({ signal }) {
      await listens.promise
      yield { page: 7 }
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    },
  })
  const definitions = [
    ...app.filter(({ name }) => name !== 'top' && name !== 'slow'),
    scan,
    defineModel({ name: 'top', model: scriptedModel(() => ({ calls: ask('slow', 'rivers') })) }),
    defineModel({ name: 'slow', model: scriptedModel(() => ({ calls: [{ tool: 'scan', args: {} }] })) }),
    definePrompt({ name: 'top', model: 'top', prompt: 'x', tools: [{ name: 'slow' }] }),
    definePrompt({ name: 'slow', model: 'slow', prompt: 'x', tools: ['scan'] }),
    ...['top', 'slow'].map((name) =>
      defineAgent({ name, type: 'ai_human', sideA: { prompt: name }, exposeAsTool: true }),
    ),
  ]
  const skein = await createSkein({ app: definitions, backend: memory(), closeGraceMs: 0 })
  const thread = await skein.threads.create({ agent: 'top', id: 't1' })
  const rows = createChildRows((_, text) => text, 't1')
  await thread.send('go').accepted()
  for await (const change of thread.view({ tree: true, from: 'start' })) {
    rows.take(change)
    if (change.event?.type === 'model.replied' && change.event.thread !== 't1') listens.resolve()
    if (change.event?.type === 'tool.preliminary') break
  }
  expect(rows.lines('◐').at(-1)).toMatch(/^◐ slow-1 “rivers” .* scan page 7$/)
  await skein.close()
})

it('one line has the whole swarm: how many are done, have failed, wait and work, the time and the cost so far', () => {
  const swarm = {
    done: 9,
    failed: 2,
    working: 12,
    inLine: 7,
    atOnce: 12,
    waiting: 3,
    elapsedMs: 61_000,
    costUsd: 0.2552,
  }
  expect(swarmLine(swarm)).toBe(
    '▰▰▰▰▱▱▱▱▱▱▱▱ 9 of 30 done · 2 failed · 3 wait for someone · 9 at work · 7 in line (12 at once) · 1 min 1 s · $0.2552',
  )
})
