/** Skein with children and with many threads, from the build, through its public doors: W3, W6, W7. */
import { load } from './skein.mjs'
import * as work from './work.mjs'

/** W3: a lead and as many researchers as it is asked for. */
export async function adapter(dist, { mode, folder, limits }) {
  let asked = 0
  let reports = 0
  const lead = ({ step, messages }) => {
    const items = work.itemsAt(step, asked)
    if (items)
      return {
        text: work.text,
        calls: items.map((message, index) => ({ id: `p${index}`, tool: 'researcher', args: { message } })),
      }
    reports = messages.filter(({ role, text }) => role === 'tool' && text === work.report).length
    return 'done'
  }
  const researcher = ({ step }) => {
    const calls = work.childCallsAt(step)
    if (calls) return { text: work.text, calls: calls.map((args, index) => ({ id: `c${index}`, tool: 'work', args })) }
    return work.beforeReport()?.then(() => work.report) ?? work.report
  }
  const skein = await open(dist, { mode, folder, limits, scripts: { lead, researcher } })
  return {
    /** Gives how many answers came back to the parent. */
    async w3(children) {
      asked = children
      const thread = await skein.threads.create({ agent: 'lead' })
      await turn(thread, work.prompt)
      return reports
    },
    close: () => skein.close(),
  }
}

/**
 * W6: a lead with one file, which it gives to a child or does not: `without`, `with`. A courier gives back what it got:
 * `nothing back`, `there and back`.
 */
export async function attaching(dist, { mode, folder, bytes }) {
  const path = '/attached.bin'
  const there = `/attachments${path}`
  const lead = ({ messages }) => {
    const { role, text } = messages.at(-1)
    if (role !== 'user') return 'done'
    const attachments = text === 'with' || text === 'there and back' ? [path] : undefined
    return {
      calls: [
        {
          id: 'p',
          tool: text.includes('back') ? 'courier' : 'researcher',
          args: { message: text, ...(attachments && { attachments }) },
        },
      ],
    }
  }
  const courier = ({ messages }) => ({
    calls: [{ id: 'c', tool: 'response', args: { attachments: messages[0].text.startsWith('there') ? [there] : [] } }],
  })
  const skein = await open(dist, {
    mode,
    folder,
    limits: { maxFileBytes: 2 ** 40 },
    scripts: { lead, researcher: () => work.report, courier },
  })
  const thread = await skein.threads.create({ agent: 'lead' })
  const contents = new Uint8Array(bytes).fill(7)
  await thread.files.writeFile(path, contents)
  return {
    kinds: ['without', 'with', 'nothing back', 'there and back'],
    /** One turn of the lead: a child is made, answers at once, and its answer is read. */
    spawn: (kind) => turn(thread, kind),
    /** All that were given the file have it; as many files came back; the last of each can be read. */
    async check(times) {
      const { threads } = await skein.threads.list({ parent: thread.id, limit: 1_000_000 })
      work.assertEqual('children', threads.length, times * 4)
      const having = []
      for (const { thread: id } of threads) {
        const { files } = await skein.threads.get(id)
        if (await files.exists(there)) having.push(files)
      }
      work.assertEqual('children that have the file', having.length, times * 2)
      const back = await thread.files.readdir('/attachments')
      work.assertEqual('files that came back', back.length, times)
      const read = [await having.at(-1).readFile(there), await thread.files.readFile(`/attachments/${back.at(-1)}`)]
      for (const each of read) work.assertEqual('difference of what is read', Buffer.compare(each, contents), 0)
    },
    close: () => skein.close(),
  }
}

/** W7: threads that were spoken to once, and can be again. */
export async function resting(dist, { mode, folder, url, namespace, clock }) {
  let askedAt = 0
  const lead = () => {
    work.counts.model++
    askedAt = clock()
    return 'done'
  }
  const skein = await open(dist, { mode, folder, url, namespace, scripts: { lead } })
  const idOf = (index) => `thread-${index}`
  return {
    resident: () => skein.host.threadsAwake,
    /** A thread and its first turn. */
    async make(index) {
      await turn(await skein.threads.create({ agent: 'lead', id: idOf(index) }), work.prompt)
    },
    /** Milliseconds from `send` to the model, and to the result; the handle was there before. */
    async speak(index) {
      const thread = await skein.threads.get(idOf(index))
      const start = clock()
      await turn(thread, 'and now?')
      return { toModelMs: askedAt - start, toResultMs: clock() - start }
    },
    close: () => skein.close(),
  }
}

async function open(dist, { mode, folder, url, namespace, limits, scripts }) {
  const doors = await load(dist)
  const backend =
    mode === 'memory'
      ? doors.memory()
      : mode === 'nats'
        ? doors.nats({ servers: url, namespace, sync: 'relaxed' })
        : doors.local(folder)
  return doors.createSkein({ app: definitions(doors, scripts), backend, warn: fail, ...(limits && { limits }) })
}

async function turn(thread, message) {
  const { text, stopReason } = await thread.send(message).result()
  work.assertEqual('text', text, 'done')
  work.assertEqual('stop reason', stopReason, 'completed')
}

function definitions(
  { z, defineAgent, defineModel, definePrompt, defineTool, scriptedModel },
  { lead, researcher = () => work.report, courier = () => work.report },
) {
  const one = (name, { script, prompt, agent }) => [
    defineModel({ name: `${name}_model`, model: scriptedModel(script, { record: false }) }),
    definePrompt({ name: `${name}_prompt`, prompt: work.system, model: `${name}_model`, ...prompt }),
    defineAgent({ name, type: 'ai_human', sideA: { prompt: `${name}_prompt` }, ...agent }),
  ]
  const called = { exposeAsTool: true, toolDescription: 'delegate' }
  return [
    defineTool({
      name: 'work',
      description: 'work',
      args: z.object({ x: z.number() }),
      execute: async (_state, { x }) => work.trivial(x),
    }),
    ...one('lead', { script: lead, prompt: { tools: [{ name: 'researcher' }, { name: 'courier' }] } }),
    ...one('researcher', { script: researcher, prompt: { tools: ['work'] }, agent: called }),
    ...one('courier', {
      script: courier,
      prompt: { outputSchema: z.object({ attachments: z.array(z.string()) }) },
      agent: called,
    }),
  ]
}

function fail(what, thrown) {
  throw new Error(`the benchmark met trouble: ${what}`, { cause: thrown })
}
