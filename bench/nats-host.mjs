/**
 * A host on NATS in a process of its own, for W5, W6 across hosts, and moves: `node nats-host.mjs <job as JSON>`. It
 * says `ready`, answers `counts` with what was done here since the last time, and ends with `close`; it is also
 * killed.
 */
import { load } from './skein.mjs'
import * as work from './work.mjs'

const {
  dist,
  url,
  namespace,
  name,
  kind,
  latencyMs = 0,
  connections = Number.POSITIVE_INFINITY,
  bytes = 0,
  streams = false,
  waitMs = 0,
  limits,
} = JSON.parse(process.argv[2])
const doors = await load(new URL(dist))
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
let reports = 0
let stopping = false

/** A model that takes its time; a host has so many connections to it. */
function slow(script) {
  if (latencyMs === 0) return script
  const line = []
  let busy = 0
  return async (request) => {
    if (busy >= connections) await new Promise((resolve) => line.push(resolve))
    else busy++
    await pause(latencyMs)
    const next = line.shift()
    if (next) next()
    else busy--
    return script(request)
  }
}

const results = (messages) => messages.filter(({ role }) => role === 'tool').map(({ text }) => text)

/** W3's parent and children; how many children is the last word of the order. */
const children = {
  lead({ step, messages }) {
    const items = work.itemsAt(step, Number(messages[0].text.split(' ').at(-1)))
    if (items)
      return {
        text: work.text,
        calls: items.map((message, index) => ({ id: `p${index}`, tool: 'researcher', args: { message } })),
      }
    reports += results(messages).filter((text) => text === work.report).length
    return 'done'
  },
  researcher({ step }) {
    const calls = work.childCallsAt(step)
    return calls
      ? { text: work.text, calls: calls.map((args, index) => ({ id: `c${index}`, tool: 'work', args })) }
      : work.report
  },
}

/**
 * A parent fills a file and gives it to a courier, who reads it, fills another and gives that back; the parent reads
 * it.
 */
const attaching = {
  lead({ messages }) {
    const turn = messages.slice(messages.findLastIndex(({ role }) => role === 'user'))
    const seed = Number(turn[0].text.split(' ').at(-1))
    const [filled, courier, taken] = results(turn)
    if (filled === undefined) return { calls: [{ id: `f${seed}`, tool: 'fill', args: { path: '/there.bin', seed } }] }
    if (courier === undefined)
      return {
        calls: [{ id: `p${seed}`, tool: 'courier', args: { message: String(seed), attachments: ['/there.bin'] } }],
      }
    if (taken === undefined)
      return {
        calls: [{ id: `t${seed}`, tool: 'take', args: { path: JSON.parse(courier).attachments[0], seed: -seed } }],
      }
    // Who did what: where the parent read it, and where the courier did.
    return `${taken} ${JSON.parse(courier).said}`
  },
  courier({ messages }) {
    const seed = Number(messages[0].text.split('\n')[0])
    const [taken, filled] = results(messages)
    if (taken === undefined)
      return { calls: [{ id: 'ct', tool: 'take', args: { path: '/attachments/there.bin', seed } }] }
    if (filled === undefined) return { calls: [{ id: 'cf', tool: 'fill', args: { path: '/back.bin', seed: -seed } }] }
    return { calls: [{ id: 'cr', tool: 'response', args: { said: taken, attachments: ['/back.bin'] } }] }
  },
}

/** Threads that work step by step until they are told to end. */
const steps = {
  lead: ({ step }) => (stopping ? 'done' : { calls: [{ id: `s${step}`, tool: 'tick', args: { step } }] }),
}

const scripts = { children, attaching, steps }[kind]

/** Contents that differ by their seed, made without a clock of their own: one buffer, a few bytes of it changed. */
const contents = new Uint8Array(Buffer.alloc(bytes, 'contents of a file, '))
function contentOf(seed) {
  new DataView(contents.buffer).setInt32(bytes >> 1, seed)
  return contents
}

const partBytes = 2 ** 20

async function* partsOf(seed) {
  const whole = contentOf(seed)
  for (let at = 0; at < bytes; at += partBytes) yield whole.subarray(at, at + partBytes)
}

/** A large file is written and read as a stream, a small one at once. */
async function fill({ files }, { path, seed }) {
  if (streams) await files.writeStream(path, partsOf(seed))
  else await files.writeFile(path, contentOf(seed))
  return 'filled'
}

async function take({ files }, { path, seed }) {
  const wanted = contentOf(seed)
  let at = 0
  for await (const part of streams ? files.readStream(path) : [await files.readFile(path)]) {
    work.assertEqual(
      `difference of what is read at ${at}`,
      Buffer.compare(part, wanted.subarray(at, at + part.length)),
      0,
    )
    at += part.length
  }
  work.assertEqual('bytes that are read', at, bytes)
  return `took:${name}`
}

const { z, defineTool, defineModel, definePrompt, defineAgent, scriptedModel } = doors
const file = z.object({ path: z.string(), seed: z.number() })
const tools = [
  defineTool({
    name: 'work',
    description: 'work',
    args: z.object({ x: z.number() }),
    execute: async (_state, { x }) => work.trivial(x),
  }),
  defineTool({ name: 'fill', description: 'fill', args: file, execute: fill }),
  defineTool({ name: 'take', description: 'take', args: file, execute: take }),
  defineTool({
    name: 'tick',
    description: 'tick',
    args: z.object({ step: z.number() }),
    sideEffect: false,
    execute: async (_state, { step }) => {
      await pause(waitMs)
      return `tick ${step} @${name}@`
    },
  }),
]
const one = (agent, { prompt, called }) => [
  defineModel({
    name: `${agent}_model`,
    model: scriptedModel(slow(scripts[agent] ?? (() => 'done')), { record: false }),
  }),
  definePrompt({ name: `${agent}_prompt`, prompt: work.system, model: `${agent}_model`, ...prompt }),
  defineAgent({
    name: agent,
    type: 'ai_human',
    sideA: { prompt: `${agent}_prompt`, maxSteps: 1_000_000 },
    ...(called && { exposeAsTool: true, toolDescription: 'delegate' }),
  }),
]
const app = [
  ...tools,
  ...one('lead', { prompt: { tools: [{ name: 'researcher' }, { name: 'courier' }, 'fill', 'take', 'tick'] } }),
  ...one('researcher', { prompt: { tools: ['work'] }, called: true }),
  ...one('courier', {
    prompt: { tools: ['fill', 'take'], outputSchema: z.object({ said: z.string(), attachments: z.array(z.string()) }) },
    called: true,
  }),
]

const skein = await doors.createSkein({
  app,
  backend: doors.nats({ servers: url, namespace, sync: 'relaxed' }),
  limits: { maxFileBytes: 2 ** 40, ...limits },
  // A lease that is late on a machine with much else to do is no failure of the measurement: counts say whether all
  // was done.
  warn: (what) => console.error(`host ${name}: ${what}`),
})

let cpuBefore = process.cpuUsage()

const orders = {
  counts() {
    const { user, system } = process.cpuUsage(cpuBefore)
    cpuBefore = process.cpuUsage()
    const counted = { model: work.counts.model, tool: work.counts.tool, reports, cpuUs: user + system }
    work.resetCounts()
    reports = 0
    return counted
  },
  stop: () => void (stopping = true),
  close: () => skein.close(),
}

process.on('message', async (order) => {
  process.send({ order, answer: (await orders[order]()) ?? null }, () => order === 'close' && process.exit(0))
})
process.on('disconnect', () => process.exit(0))
process.send({ order: 'ready', answer: null })
