/**
 * Everything that steers the loop of a turn at once: a short context, hooks that hide and add messages, repetition, a
 * last answer, stop conditions, hooks that make it go on, approvals, a message that steers, and a child with hooks.
 */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { defineHook } from '../../../src/agent/define-hook.js'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../src/agent/define.js'
import type { Definition } from '../../../src/agent/define.js'
import { hasToolCall } from '../../../src/agent/stop.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import type { Script } from '../../../src/models/scripted.js'
import type { World } from '../../../src/sim/world.js'
import { simulatedApp } from '../simulated-app.js'

const pages = 6
const usage = { inputTokens: 0, outputTokens: 5, costUsd: 0 }

/** Long enough to be archived where the number is odd. */
const page = (number: number): string => `page ${number} `.padEnd(number % 2 === 1 ? 900 : 480, `${number}`)

const lead: Script = ({ messages, step, summary, toolChoice }) => {
  if (summary) return { text: `read up to ${step}`, usage }
  const last = messages.at(-1)?.text ?? ''
  if (toolChoice === 'none') return { text: `short: ${messages.length} ${last}`, usage }
  if (step < pages) {
    const numbers = [step * 2, step * 2 + 1]
    return { calls: numbers.map((number) => ({ tool: 'fetch', args: { number } })), usage }
  }
  if (step === pages) return { calls: [{ tool: 'clerk', args: { message: 'look' } }], usage }
  // The same again and again, until the turn is stopped and told to go on.
  const isTold = messages.some(({ text }) => text === 'go on and close')
  return { calls: [isTold ? { tool: 'close', args: {} } : { tool: 'look', args: { at: 'sky' } }], usage }
}

const clerk: Script = ({ messages, step }) =>
  step === 0
    ? { calls: [{ tool: 'look', args: { at: 'sea' } }], usage }
    : { text: `clerk saw ${messages.findLast(({ role }) => role === 'tool')?.text ?? ''}`, usage }

function tools(world: World<'library'>): readonly Definition[] {
  const look = { args: z.object({ at: z.string() }), sideEffect: false } as const
  return [
    defineTool({
      name: 'fetch',
      description: 'Fetches a page',
      args: z.object({ number: z.number() }),
      sideEffect: true,
      commutes: true,
      idempotent: true,
      needsApproval: ({ number }) => number === 5,
      retry: { maxRetries: 8, backoffMs: 20 },
      execute: async (state, { number }) => {
        await world.library({ number }, { key: state.idempotencyKey })
        return page(number)
      },
    }),
    defineTool({ name: 'look', description: 'Looks', ...look, execute: async (_, { at }) => `${at} is blue` }),
    defineTool({
      name: 'close',
      description: 'Closes',
      args: z.object({}),
      sideEffect: false,
      execute: () => 'closed',
    }),
  ]
}

function hooks(world: World<'library'>): readonly Definition[] {
  const limits = { timeoutMs: 3_600_000 }
  return [
    defineHook({
      name: 'tidy',
      on: 'before_step',
      ...limits,
      run: async ({ messages }, { step }) => {
        const read = await messages()
        await world.sleep(15)
        // One that was summarised long ago, one that is read now, and one that is not there.
        const second = read.findLast(({ role }) => role === 'tool')?.id
        return {
          hide: ['result_1_0', 'nowhere', ...(second !== undefined && step % 3 === 2 ? [second] : [])],
          add: [{ text: `note ${step}: ${read.length}` }, { text: 'hurry', once: true }],
        }
      },
    }),
    defineHook({
      name: 'shout',
      on: 'after_call',
      ...limits,
      run: async ({ outcome }) => {
        await world.sleep(5)
        return outcome.ok && String(outcome.value).length < 100 ? { result: `${String(outcome.value)}!` } : undefined
      },
    }),
    defineHook({
      name: 'more',
      on: 'stop',
      ...limits,
      run: async ({ reason, mayGoOn }) => {
        await world.sleep(5)
        return mayGoOn && reason === 'repetition' ? { goOn: 'go on and close' } : undefined
      },
    }),
  ]
}

function app(world: World<'library'>): readonly Definition[] {
  return [
    ...tools(world),
    ...hooks(world),
    defineModel({ name: 'lead', model: scriptedModel(lead, { record: false }), contextTokens: 2_000 }),
    defineModel({ name: 'clerk', model: scriptedModel(clerk, { record: false }) }),
    definePrompt({
      name: 'lead',
      prompt: 'You read.',
      model: 'lead',
      tools: ['fetch', 'look', 'close', { name: 'clerk' }],
      hooks: ['tidy', 'shout', 'more'],
      lastAnswer: true,
      stopWhen: hasToolCall('close'),
    }),
    definePrompt({ name: 'clerk', prompt: 'You look.', model: 'clerk', tools: ['look'], hooks: ['tidy', 'shout'] }),
    defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead' } }),
    defineAgent({ name: 'clerk', type: 'ai_human', exposeAsTool: true, sideA: { prompt: 'clerk' } }),
  ]
}

export const loop = simulatedApp('loop', {
  app,
  services: { library: { loses: 0.1, refuses: 0.05 } },
  skein: { limits: { maxHostDeaths: 10, repetition: { same: 3 } }, snapshotEvery: 12 },
  scenario: async ({ skein, world }) => {
    const thread = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const run = thread.send('read it all', { id: 'm' })
    let ended: Awaited<ReturnType<typeof run.result>> | undefined
    run.result().then((result) => (ended = result))
    while (!ended) {
      for (const { id } of await skein.inbox.list({ root: 'lead' })) {
        // The turn waits for this person: what is said now is read before the next step.
        await thread.send('and be quick', { id: 'n', delivery: 'steer' }).accepted()
        await skein.inbox.approve(id).catch(() => undefined)
      }
      await world.sleep(300)
    }
    const { text, stopReason, detail, steps, usage: spent } = ended
    const { messages, leftOut } = await thread.context()
    // The number of a message that a hook added is that of its record.
    const read = messages.map(({ role, text: said, calls = [] }) => ({ role, said, calls }))
    const all = (await thread.messages()).map(({ id, text: said }) => `${id} ${said}`)
    return { text, stopReason, detail, steps, spent, read, leftOut: leftOut.map(({ why }) => why), all }
  },
  check: ({ result, quiet, world }) => {
    assert.deepEqual(result, quiet)
    assert.equal(result.stopReason, 'stop_when')
    assert.ok(result.read.some(({ said }) => said === 'go on and close'))
    assert.ok(result.all.some((line) => line === 'n and be quick'))
    assert.ok(result.leftOut.includes('summarised'))
    assert.equal(world.ledger('library').entries.length, pages * 2)
  },
})
