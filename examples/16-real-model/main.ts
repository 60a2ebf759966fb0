/**
 * A real model: OpenAI, Anthropic, Google, or any server that speaks as OpenAI does (Ollama, vLLM, OpenRouter, …).
 * Which one is said by the environment; without a key it says what to set.
 *
 *   OPENAI_API_KEY=… npx tsx examples/16-real-model/main.ts
 *   OPENAI_BASE_URL=http://127.0.0.1:11434/v1 MODEL=qwen3 npx tsx examples/16-real-model/main.ts
 */
import { createSkein, defineAgent, defineModel, definePrompt, defineTool, memory } from 'skein'
import type { ModelDefinition } from 'skein'
import { z } from 'zod'

const { env } = process

/** Each loads its package when it is first asked: only the one that is used has to be installed. */
const providers: readonly { name: string; set: string; model: ModelDefinition['model'] }[] = [
  {
    name: 'an OpenAI-compatible server',
    set: 'OPENAI_BASE_URL',
    model: async () => {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const { OPENAI_BASE_URL: baseURL = '', OPENAI_API_KEY: apiKey } = env
      return createOpenAICompatible({ name: 'server', baseURL, ...(apiKey && { apiKey }) })(env['MODEL'] ?? 'default')
    },
  },
  {
    name: 'OpenAI',
    set: 'OPENAI_API_KEY',
    model: async () => (await import('@ai-sdk/openai')).openai(env['MODEL'] ?? 'gpt-5-mini'),
  },
  {
    name: 'Anthropic',
    set: 'ANTHROPIC_API_KEY',
    model: async () => (await import('@ai-sdk/anthropic')).anthropic(env['MODEL'] ?? 'claude-haiku-4-5'),
  },
  {
    name: 'Google',
    set: 'GOOGLE_GENERATIVE_AI_API_KEY',
    model: async () => (await import('@ai-sdk/google')).google(env['MODEL'] ?? 'gemini-2.5-flash'),
  },
]

const provider = providers.find(({ set }) => env[set])
if (!provider) {
  console.log('No model is configured. Set one of these, and MODEL if you want another than the first of its kind:\n')
  for (const { name, set } of providers) console.log(`  ${set.padEnd(30)} ${name}`)
  process.exit()
}

const app = [
  defineModel({ name: 'real', model: provider.model }),
  defineTool({
    name: 'price',
    description: 'The price of one kilogram of a fruit, in euros',
    args: z.object({ fruit: z.string() }),
    execute: (_state, { fruit }) => ({ apples: 2.4, pears: 3.1 })[fruit] ?? `no ${fruit} today`,
  }),
  definePrompt({
    name: 'shop',
    model: 'real',
    prompt: 'You answer customers of a fruit shop in one sentence. Look prices up; never guess one.',
    tools: ['price'],
  }),
  defineAgent({ name: 'clerk', type: 'ai_human', sideA: { prompt: 'shop' } }),
]

const skein = await createSkein({ app, backend: memory() })
const thread = await skein.threads.create({ agent: 'clerk' })
const run = thread.send('What are 3 kg of apples?')
for await (const piece of run.textStream) process.stdout.write(piece)
const { stopReason, detail, failure, usage } = await run.result()
console.log(
  `\n\n${provider.name}: ${failure?.message ?? detail ?? stopReason}, ${usage.inputTokens} in / ${usage.outputTokens} out tokens`,
)
await skein.close()
process.exitCode = stopReason === 'completed' ? 0 : 1
