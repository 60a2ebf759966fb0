/** Hooks at all points, in a parent and its children; each tells the world under its key what it was asked. */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { defineHook } from '../../../src/agent/define-hook.js'
import type { HookThread } from '../../../src/agent/define-hook.js'
import { defineAgent, defineModel, definePrompt, defineTool } from '../../../src/agent/define.js'
import { scriptedModel } from '../../../src/models/scripted.js'
import type { Script } from '../../../src/models/scripted.js'
import type { World } from '../../../src/sim/world.js'
import { simulatedApp } from '../simulated-app.js'
import { lastSaid, resultsOf } from '../team.js'

const model = (name: string, script: Script) => defineModel({ name, model: scriptedModel(script, { record: false }) })

function app(world: World<'audit'>) {
  // The service takes the same key for the same thing; a hook whose answer got lost is asked again.
  const tell = async (what: string, { key }: HookThread): Promise<void> => {
    for (;;) {
      try {
        await world.audit({ what }, { key })
        return
      } catch {
        await world.sleep(10)
      }
    }
  }
  const measure = defineTool({
    name: 'measure',
    description: 'Measures',
    args: z.object({ at: z.string() }),
    sideEffect: false,
    execute: async (_, { at }) => {
      await world.sleep(20)
      return `${at} is 7`
    },
  })
  const limits = { timeoutMs: 3_600_000 }
  return [
    measure,
    defineHook({
      name: 'begin',
      on: 'thread_created',
      ...limits,
      run: async ({ agent }, thread) => {
        await tell('created', thread)
        return { tags: ['hooked'], message: `You are ${agent}.` }
      },
    }),
    defineHook({
      name: 'filter',
      on: 'message',
      ...limits,
      run: async ({ text }, thread) => {
        await tell('message', thread)
        return { text: `${text}!` }
      },
    }),
    defineHook({
      name: 'step',
      on: 'before_step',
      ...limits,
      run: async ({ steps }, thread) => {
        await tell('step', thread)
        return { add: [{ text: `after ${steps}` }, { text: 'hurry', once: true }] }
      },
    }),
    defineHook({
      name: 'reply',
      on: 'after_step',
      ...limits,
      run: async ({ text }, thread) => {
        await tell('reply', thread)
        return text === '' ? undefined : { text: `${text}.` }
      },
    }),
    defineHook({
      name: 'before',
      on: 'before_call',
      tools: [measure],
      ...limits,
      run: async ({ args }, thread) => {
        await tell('before', thread)
        return args.at === 'hell' ? { refuse: 'not there' } : { args: { at: `near ${args.at}` } }
      },
    }),
    defineHook({
      name: 'child',
      on: 'subagent_created',
      ...limits,
      run: async ({ text, reference }, thread) => {
        await tell('child', thread)
        return { text: `${text} for ${reference}` }
      },
    }),
    defineHook({
      name: 'after',
      on: 'after_call',
      ...limits,
      run: async ({ outcome }, thread) => {
        await tell('after', thread)
        return outcome.ok ? { result: `${String(outcome.value)} (seen)` } : undefined
      },
    }),
    defineHook({
      name: 'end',
      on: 'stop',
      ...limits,
      run: async ({ text, mayGoOn }, thread) => {
        await tell('stop', thread)
        return mayGoOn && !text.startsWith('again') ? { goOn: 'say it again' } : undefined
      },
    }),
    model('lead', ({ messages, step }) => {
      if (step === 0) return { calls: ['red', 'blue'].map((message) => ({ tool: 'clerk', args: { message } })) }
      const all = messages.flatMap(({ role, text }) => (role === 'tool' ? [text] : [])).join(' | ')
      return step === 1 ? `all: ${all}` : `again: ${all}`
    }),
    model('clerk', ({ messages, step }) => {
      if (step === 0) return { calls: ['home', 'hell', 'work'].map((at) => ({ tool: 'measure', args: { at } })) }
      return `${step === 1 ? '' : 'again '}${lastSaid(messages)} ${resultsOf(messages).length} ${messages.length}`
    }),
    ...['lead', 'clerk'].flatMap((name) => [
      definePrompt({
        name,
        prompt: `You are ${name}.`,
        model: name,
        tools: name === 'lead' ? [{ name: 'clerk' }] : ['measure'],
        hooks: ['begin', 'filter', 'step', 'reply', 'before', 'child', 'after', 'end'],
      }),
      defineAgent({ name, type: 'ai_human', exposeAsTool: true, sideA: { prompt: name } }),
    ]),
  ]
}

/** Thread created and message; steps and replies; calls before and after; children; ends. */
const questions = 3 * (1 + 1 + 3 + 3 + 2) + (2 * 3 + 2 * 2) + (2 + 2)

export const hooks = simulatedApp('hooks', {
  app,
  services: { audit: { loses: 0.1, refuses: 0.1 } },
  skein: { limits: { maxHostDeaths: 10 } },
  scenario: async ({ skein }) => {
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    return lead.send('go', { id: 'm' }).text()
  },
  check: ({ result, quiet, world }) => {
    assert.equal(result, quiet)
    // A question has one key for ever: one that was asked again has made no second entry, and none was left out.
    const { entries } = world.ledger('audit')
    assert.equal(entries.length, questions)
  },
})
