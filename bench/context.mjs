/** W9: a turn of many steps whose conversation is kept within a model's context; then the thread is woken again. */
import { load } from './skein.mjs'
import { assertEqual } from './work.mjs'

const clock = () => performance.now()
/** Of this process: other load does not change it as much. */
const cpu = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
/** Characters of a result; every step adds about this and its call. */
const resultChars = 400
const sections = 10

export async function w9({ dist, mode, folder, steps, contextTokens, wakes }) {
  const skein = await load(new URL(dist))
  const seen = { chars: 0, summaries: 0, marks: [] }
  const open = () =>
    skein.createSkein({
      app: definitions(skein, { steps, contextTokens, seen }),
      backend: mode === 'memory' ? skein.memory() : skein.local(folder),
      snapshotEvery: 500,
    })
  const own = await open()
  const thread = await own.threads.create({ agent: 'reader', id: 'reader' })
  const { text, steps: replies } = await thread.send('read it all').result()
  assertEqual('text', text, 'done')
  assertEqual('replies', replies, steps + 1)
  const bytes = await journalBytes(thread)
  if (mode === 'memory') await own.close()
  const woken = mode === 'memory' ? [] : await wake(own, { open, wakes, seen })
  const perStep = (of) =>
    seen.marks.slice(1).map((at, index) => ((at[of] - seen.marks[index][of]) * 1000) / (steps / sections))
  return {
    sectionUs: perStep('wall'),
    sectionCpuUs: perStep('cpu'),
    requestTokens: seen.chars / 4,
    summaries: seen.summaries,
    bytes,
    wakeMs: woken.map(({ ms }) => ms),
    wakeCpuMs: woken.map(({ cpuMs }) => cpuMs),
  }
}

/** The store is opened outside of the clock, as a host opens it once. */
async function wake(first, { open, wakes, seen }) {
  const woken = []
  let skein = first
  for (let count = 0; count < wakes; count++) {
    await skein.close()
    skein = await open()
    const thread = await skein.threads.get('reader')
    seen.short = true
    const start = clock()
    const startCpu = cpu()
    await thread.send('go on').result()
    woken.push({ ms: clock() - start, cpuMs: cpu() - startCpu })
  }
  await skein.close()
  return woken
}

async function journalBytes(thread) {
  let bytes = 0
  for await (const event of thread.events({ until: 'now' })) bytes += JSON.stringify(event).length
  return bytes
}

function definitions(skein, { steps, contextTokens, seen }) {
  const { defineAgent, defineModel, definePrompt, defineTool, scriptedModel, z } = skein
  const script = ({ step, summary, messages }) => {
    if (summary) {
      seen.summaries++
      return 'What was read so far, in short. '.repeat(20)
    }
    if (contextTokens && step % 10 === 0) seen.chars = Math.max(seen.chars, charsIn(messages))
    if (seen.short) return 'done'
    if (step % (steps / sections) === 0) seen.marks.push({ wall: clock(), cpu: cpu() })
    return step < steps ? { calls: [{ tool: 'read', args: { page: step } }] } : 'done'
  }
  return [
    defineTool({
      name: 'read',
      description: 'Reads a page',
      args: z.object({ page: z.number() }),
      sideEffect: false,
      execute: (_, { page }) => `page ${page} `.padEnd(resultChars, '.'),
    }),
    defineModel({
      name: 'm',
      model: scriptedModel(script, { record: false }),
      ...(contextTokens && { contextTokens }),
    }),
    definePrompt({ name: 'p', prompt: 'You read.', model: 'm', tools: ['read'] }),
    defineAgent({ name: 'reader', type: 'ai_human', sideA: { prompt: 'p', maxSteps: steps + 10 } }),
  ]
}

function charsIn(messages) {
  let chars = 0
  for (const { text, calls = [] } of messages) {
    chars += text.length
    for (const { tool, args } of calls) chars += tool.length + JSON.stringify(args).length
  }
  return chars
}
