/**
 * An app as a module, so that its tools run on worker threads, which import this file too. The build that it is made
 * for is named by SKEIN_BENCH_DIST. Its model says what `stage.script` says, on the host.
 */
import { z } from 'zod'
import { hash as computed, system } from './work.mjs'

// A worker thread does not see the host's environment.
const dist = process.env.SKEIN_BENCH_DIST ?? new URL('../dist/', import.meta.url)
const { defineAgent, defineModel, definePrompt, defineTool } = await import(new URL('src/index.js', dist).href)
const { scriptedModel } = await import(new URL('src/testing.js', dist).href)

export const stage = { script: () => 'done' }

const seeded = z.object({ seed: z.number(), iterations: z.number() })
const text = z.object({ text: z.string() })
const file = z.object({ path: z.string(), content: z.string() })
const write = async ({ files }, { path, content }) => {
  await files.writeFile(path, content)
  return 'written'
}

const tools = [
  defineTool({
    name: 'hash',
    description: 'hash',
    args: seeded,
    cpu: true,
    execute: (_state, { seed, iterations }) => computed(seed, iterations),
  }),
  defineTool({ name: 'echo', description: 'echo', args: text, repeats: true, execute: (_state, given) => given }),
  defineTool({
    name: 'wait',
    description: 'wait',
    args: z.object({ ms: z.number() }),
    repeats: true,
    execute: (_state, { ms }) => new Promise((resolve) => setTimeout(resolve, ms, 'waited')),
  }),
  defineTool({ name: 'write_there', description: 'write', args: file, execute: write }),
  defineTool({ name: 'write_here', description: 'write', args: file, where: 'host', execute: write }),
  defineTool({
    name: 'count',
    description: 'count',
    args: z.object({}),
    execute: async ({ files }) => String((await files.readdir('/work')).length),
  }),
  defineTool({
    name: 'echo_here',
    description: 'echo',
    args: text,
    where: 'host',
    repeats: true,
    execute: (_state, given) => given,
  }),
]

export const definitions = [
  ...tools,
  defineModel({ name: 'scripted', model: scriptedModel((request) => stage.script(request), { record: false }) }),
  definePrompt({ name: 'main', prompt: system, model: 'scripted', tools: tools.map(({ name }) => name) }),
  defineAgent({ name: 'worker', type: 'ai_human', sideA: { prompt: 'main', maxSteps: 1_000_000 } }),
]
