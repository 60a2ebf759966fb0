/**
 * Skein through its public doors, from the build. `createSkein` is outside of W1's clock (a host opens its store once;
 * W8 has it) and inside of W4's.
 */
import { assertEqual } from './work.mjs'

/** All that an embedder imports, and nothing before: a child times this. */
export async function load(dist) {
  const from = (name) => import(new URL(`src/${name}.js`, dist).href)
  return { ...(await from('index')), ...(await from('testing')), ...(await import('zod')) }
}

export function adapter(work, { skein, mode, folder }) {
  const backend = () =>
    mode === 'memory' ? skein.memory() : skein.local(folder, mode === 'power' ? { durability: 'power' } : {})
  const open = (script) => skein.createSkein({ app: definitions(skein, work, script), backend: backend(), warn: fail })
  let steps = 0
  let opened
  const loop = ({ step }) => {
    const args = work.callAt(step, steps)
    return args ? { text: work.text, calls: [{ id: `c${step}`, tool: 'work', args }] } : { text: 'done' }
  }
  async function turn(on, k) {
    steps = k
    const thread = await on.threads.create({ agent: 'worker' })
    const { text, stopReason, steps: replies } = await thread.send(work.prompt).result()
    assertEqual('text', text, 'done')
    assertEqual('stop reason', stopReason, 'completed')
    assertEqual('replies', replies, k + 1)
    return thread
  }
  return {
    prepare: async () => void (opened = await open(loop)),
    w1: (k) => turn(opened, k),
    close: () => opened?.close(),
    async w4prep(messages) {
      const own = await open(loop)
      const thread = await turn(own, messages / 2 - 1)
      const kept = await thread.messages()
      await own.close()
      return { messages: kept.length, thread: thread.id }
    },
    /** One step; the model says how many messages it was given. */
    async w4step({ thread: id, clock }) {
      let seen = 0
      const own = await open(({ messages }) => {
        work.counts.model++
        seen = messages.length
        return 'resumed'
      })
      const openedAt = clock()
      const thread = await own.threads.get(id)
      await thread.send('continue').result()
      return { seen, openedAt, close: () => own.close() }
    },
    /** No step: the thread is woken by mail, answers, and rests again. */
    async w4inject({ thread: id }) {
      const own = await open(() => fail('the model was asked'))
      const thread = await own.threads.get(id)
      await thread.inject('remember this')
      assertEqual('a cancel with no turn', await thread.cancel(), false)
      return { close: () => own.close() }
    },
    /** From nothing to the first piece of text. */
    async w8(clock) {
      const start = clock()
      const own = await open(() => 'hello')
      const created = clock()
      const thread = await own.threads.create({ agent: 'worker' })
      for await (const piece of thread.send('hi').textStream) {
        assertEqual('first token', piece, 'hello')
        break
      }
      const spoken = clock()
      await own.close()
      return { createMs: created - start, firstTokenMs: spoken - created, sinceStartMs: spoken }
    },
  }
}

function definitions({ z, defineAgent, defineModel, definePrompt, defineTool, scriptedModel }, work, script) {
  return [
    defineTool({
      name: 'work',
      description: 'work',
      args: z.object({ x: z.number() }),
      execute: async (_state, { x }) => work.trivial(x),
    }),
    defineModel({ name: 'scripted', model: scriptedModel(script, { record: false }) }),
    definePrompt({ name: 'main', prompt: work.system, model: 'scripted', tools: ['work'] }),
    defineAgent({ name: 'worker', type: 'ai_human', sideA: { prompt: 'main', maxSteps: 1_000_000 } }),
  ]
}

function fail(what, thrown) {
  throw new Error(`the benchmark met trouble: ${what}`, { cause: thrown })
}
