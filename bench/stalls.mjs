/**
 * W13: the longest time that the event loop of a host stands still while it is sent the largest of everything, in a
 * process of its own. Measured in CPU time between two turns of the loop, and never more than the clock says, so that
 * other load of the machine does not count.
 */
import { existsSync, openSync, readSync } from 'node:fs'
import { fill } from './lists.mjs'
import { load } from './skein.mjs'
import * as work from './work.mjs'

const oneMb = 2 ** 20
const sizes = { message: oneMb, reply: oneMb, args: oneMb, result: 8 * oneMb, file: 64 * oneMb, depth: 1_000 }

export async function w13({ dist, folder, threads, rounds, only }) {
  const doors = { ...(await load(new URL(dist))), ...(await import(new URL('src/server.js', dist).href)) }
  const backend = doors.local(folder)
  await fill(backend, threads)
  const skein = await doors.createSkein({ app: definitions(doors), backend, warn: () => undefined, resuming: [] })
  const server = await doors.serve(skein, { port: 0, auth: 'none' })
  await skein.directory().ready()
  const kinds = {
    ...followed(doors, folder),
    ...said(skein),
    ...listed(skein),
    ...asked(server.url, await longThread(skein)),
  }
  const stallMs = {}
  const probe = startProbe()
  const wanted = Object.entries(kinds).filter(([kind]) => !only || kind.includes(only))
  for (const [name, act] of wanted) {
    const ms = []
    // The first one compiles what it runs: it counts, too, as a host's first one would.
    for (let round = 0; round < rounds; round++) {
      globalThis.gc?.()
      await probe.begin()
      const done = await act(round)
      ms.push(await probe.end())
      await done?.()
    }
    stallMs[name] = ms
    console.error(`w13: ${name}: ${ms.map((each) => each.toFixed(1)).join(', ')} ms`)
  }
  probe.stop()
  await server.close()
  await skein.close()
  return { stallMs }
}

/** What models, tools and senders say. */
function said(skein) {
  const thread = () => skein.threads.create({ agent: 'worker' })
  const turn = (ask) => async () => void (await (await thread()).send(ask).result())
  // Made before: what an app does itself is not the host's.
  const message = 'x'.repeat(sizes.message)
  const content = new Uint8Array(sizes.file).fill(7)
  return {
    'a message of 1 MB': turn(message),
    'a reply of 1 MB': turn('reply'),
    'args of 1 MB': turn('args'),
    'args 1,000 deep': turn('deep'),
    'a result of 8 MB': turn('result'),
    'a result of 8 MB, structured': turn('structure'),
    '1,000 calls in a reply': turn('calls'),
    '1,000 children in a reply': turn('children'),
    'an attachment of 64 MB': async (round) => {
      const to = await thread()
      content[0] = round
      await to.send('hello', { attachments: [{ name: 'large.bin', content }] }).result()
      return () => skein.threads.delete(to.id)
    },
  }
}

/** By a client in the same process, from the first thread to the last. */
function followed({ connectSkein, local }, folder) {
  return {
    'all threads are followed': async () => {
      const client = await connectSkein({ backend: local(folder), key: 'a'.repeat(64) })
      await client.directory().ready()
      return () => client.close()
    },
  }
}

function listed(skein) {
  const list = (query) => async () => void (await skein.directory().list({ limit: 100, ...query }))
  return {
    'a list of 1,000': list({ limit: 1_000 }),
    'a text that no thread has': list({ q: 'no such text' }),
    'the most expensive threads': list({ sort: 'cost' }),
    'all that are idle of one tag': list({ status: 'idle', tag: 'tenant:7', sort: 'updated', limit: 1_000 }),
    'the inbox': async () => void (await skein.inbox.list()),
  }
}

/** Over HTTP, by a client in the same process: what it costs itself is in the figure, too. */
function asked(url, thread) {
  const get = (path) => async () => void (await (await fetch(new URL(path, url))).arrayBuffer())
  return {
    'HTTP: 1,000 threads': get('/threads?limit=1000'),
    'HTTP: 1,000 threads by text': get('/threads?limit=1000&q=number'),
    'HTTP: 1,000 messages': get(`/threads/${thread}/messages?limit=1000`),
  }
}

async function longThread(skein) {
  const thread = await skein.threads.create({ agent: 'worker' })
  await thread.send('long').result()
  return thread.id
}

function definitions(doors) {
  const { z, defineAgent, defineModel, definePrompt, defineTool, scriptedModel } = doors
  const call = (tool, args) => ({ calls: [{ tool, args }] })
  const many = (count, tool, args) => ({ calls: Array.from({ length: count }, (_, n) => ({ tool, args: args(n) })) })
  const replies = {
    reply: () => 'y'.repeat(sizes.reply),
    args: () => call('give', { kind: 'nothing', text: 'z'.repeat(sizes.args) }),
    deep: () => call('give', { kind: 'nothing', tree: nested(sizes.depth) }),
    result: () => call('give', { kind: 'result' }),
    structure: () => call('give', { kind: 'structure' }),
    calls: () => many(1_000, 'give', () => ({ kind: 'nothing' })),
    children: () => many(1_000, 'helper', (n) => ({ message: `item ${n}` })),
  }
  const script = ({ step, messages }) => {
    const ask = messages.findLast(({ role }) => role === 'user')?.text
    if (ask === 'long') return step < 1_000 ? call('give', { kind: 'nothing' }) : 'done'
    return (step === 0 && replies[ask]?.()) || 'done'
  }
  const gives = {
    nothing: 'ok',
    result: 'r'.repeat(sizes.result),
    structure: Array.from({ length: 80_000 }, (_, n) => ({ id: n, name: `row ${n}`, text: 's'.repeat(70) })),
  }
  return [
    defineTool({
      name: 'give',
      description: 'gives',
      args: z.object({ kind: z.string(), text: z.string().optional(), tree: z.unknown().optional() }),
      sideEffect: false,
      execute: async (_state, { kind }) => gives[kind],
    }),
    defineModel({ name: 'main', model: scriptedModel(script, { record: false }) }),
    definePrompt({ name: 'main', prompt: work.system, model: 'main', tools: ['give', { name: 'helper' }] }),
    defineAgent({ name: 'worker', type: 'ai_human', sideA: { prompt: 'main', maxSteps: 10_000 } }),
    defineModel({ name: 'short', model: scriptedModel(() => work.report, { record: false }) }),
    definePrompt({ name: 'short', prompt: work.system, model: 'short' }),
    defineAgent({
      name: 'helper',
      type: 'ai_human',
      sideA: { prompt: 'short' },
      exposeAsTool: true,
      toolDescription: 'delegate',
    }),
  ]
}

function nested(depth) {
  let tree = 'leaf'
  for (let level = 0; level < depth; level++) tree = { tree }
  return tree
}

function startProbe() {
  let [longest, last, isOn] = [0, spent(), true]
  const look = () => {
    const now = spent()
    longest = Math.max(longest, Math.min(now.cpuMs - last.cpuMs, now.wallMs - last.wallMs))
    last = now
    if (isOn) setImmediate(look)
  }
  look()
  const pause = () => new Promise((resolve) => setTimeout(resolve, 20))
  return {
    async begin() {
      await pause()
      longest = 0
    },
    async end() {
      await pause()
      return longest
    },
    stop: () => (isOn = false),
  }
}

/**
 * CPU time of the main thread: what the kernel shows of it (Linux), else what Node tells (23.9), else that of the whole
 * process, which is never less: threads that compile, collect garbage or write files at the same time count, too.
 */
const cpuOfMain =
  schedstat() ??
  (process.threadCpuUsage ? () => inMs(process.threadCpuUsage()) : undefined) ??
  (() => inMs(process.cpuUsage()))

function inMs({ user, system }) {
  return (user + system) / 1000
}

/**
 * The kernel brings the figure up to date when the thread leaves its core (else by ticks of 4 ms, which is what Node
 * tells, too), so it sleeps for an instant first: some 70 µs by the clock, 25 of CPU.
 */
function schedstat() {
  const file = `/proc/self/task/${process.pid}/schedstat`
  if (!existsSync(file)) return undefined
  const fd = openSync(file)
  const text = Buffer.alloc(128)
  const nobody = new Int32Array(new SharedArrayBuffer(4))
  /** Nanoseconds on a core, nanoseconds of waiting for one, and how often it came to one. */
  const read = () =>
    text
      .toString('latin1', 0, readSync(fd, text, 0, text.length, 0))
      .split(' ')
      .map(Number)
  return () => {
    const [, , before] = read()
    for (;;) {
      Atomics.wait(nobody, 0, 0, 0.01)
      const [ns, , times] = read()
      if (times !== before) return ns / 1e6
    }
  }
}

function spent() {
  return { cpuMs: cpuOfMain(), wallMs: performance.now() }
}
