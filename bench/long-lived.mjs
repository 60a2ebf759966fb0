/**
 * W12: a host that lives long, in a process of its own. Many turns over more threads than stay awake, one round over
 * all threads after the other, so that each thread was let go since it was last spoken to. The last tenth of the turns
 * is compared with the first.
 */
import { settledMemory } from './children.mjs'
import { load } from './skein.mjs'
import * as work from './work.mjs'

const clock = () => performance.now()
/** Of this process: other load does not change it as much. */
const cpu = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
const sections = 10
/** How many turns are under way at once. */
const speakers = 16

/** `past`: what of a thread's past its model reads, `all` of it, `summary` and the newest, or `turn`, this turn alone. */
export async function w12({ dist, mode, folder, past, threads, turns }) {
  const doors = await load(new URL(dist))
  const skein = await doors.createSkein({
    app: definitions(doors, past),
    backend: mode === 'memory' ? doors.memory() : doors.local(folder),
    warn: fail,
  })
  const handles = []
  for (let index = 0; index < threads; index++)
    handles.push(await skein.threads.create({ agent: 'clerk', id: `thread-${index}` }))
  // Every thread has been spoken to, so that the first section has no thread less than the last.
  await speak(handles, { from: 0, to: threads })
  const marks = []
  for (let section = 0; section < sections; section++) {
    const from = threads + (section * turns) / sections
    marks.push(await measured(handles, { from, to: from + turns / sections }))
  }
  work.assertEqual('threads awake', skein.host.threadsAwake <= 256, true)
  await skein.close()
  return {
    us: marks.map(({ us }) => us),
    cpuUs: marks.map(({ cpuUs }) => cpuUs),
    heapMb: marks.map(({ heapMb }) => heapMb),
  }
}

async function measured(handles, { from, to }) {
  work.resetCounts()
  const [start, startCpu] = [clock(), cpu()]
  await speak(handles, { from, to })
  const perTurn = (ms) => (ms * 1000) / (to - from)
  const [us, cpuUs] = [perTurn(clock() - start), perTurn(cpu() - startCpu)]
  work.assertCounts((to - from) * 2, to - from)
  const { heap } = await settledMemory()
  return { us, cpuUs, heapMb: heap / 2 ** 20 }
}

async function speak(handles, { from, to }) {
  let next = from
  const speaker = async () => {
    while (next < to) {
      const turn = next++
      const { text } = await handles[turn % handles.length].send(work.prompt).result()
      work.assertEqual('text', text, 'done')
    }
  }
  await Promise.all(Array.from({ length: speakers }, speaker))
}

function definitions({ z, defineAgent, defineModel, definePrompt, defineTool, scriptedModel }, past) {
  const script = ({ step, summary }) => {
    if (summary) return 'What was done so far, in short. '.repeat(20)
    const args = work.callAt(step, 1)
    return args ? { text: work.text, calls: [{ id: `c${step}`, tool: 'work', args }] } : { text: 'done' }
  }
  return [
    defineTool({
      name: 'work',
      description: 'work',
      args: z.object({ x: z.number() }),
      execute: async (_state, { x }) => work.trivial(x),
    }),
    defineModel({
      name: 'scripted',
      model: scriptedModel(script, { record: false }),
      ...(past === 'summary' && { contextTokens: 4_000 }),
    }),
    definePrompt({
      name: 'main',
      prompt: work.system,
      model: 'scripted',
      tools: ['work'],
    }),
    defineAgent({ name: 'clerk', type: 'ai_human', sideA: { prompt: 'main' } }),
  ]
}

function fail(what, thrown) {
  throw new Error(`the benchmark met trouble: ${what}`, { cause: thrown })
}
