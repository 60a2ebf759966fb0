/**
 * W11 of Skein: what a service costs. The client is a process of its own; the same work through the API is done in the
 * process of the server, turn about.
 */
import { fork } from 'node:child_process'
import { settledMemory } from './children.mjs'
import { createFlock } from './nats-hosts.mjs'
import { load } from './skein.mjs'
import * as work from './work.mjs'

const clock = () => performance.now()

async function openServer({ dist, mode, folder }) {
  const doors = { ...(await load(new URL(dist))), ...(await import(new URL('src/server.js', dist).href)) }
  const app = [
    doors.defineModel({ name: 'scripted', model: doors.scriptedModel(() => 'done', { record: false }) }),
    doors.definePrompt({ name: 'main', prompt: work.system, model: 'scripted' }),
    doors.defineAgent({ name: 'worker', type: 'ai_human', sideA: { prompt: 'main' } }),
  ]
  const skein = await doors.createSkein({ app, backend: mode === 'memory' ? doors.memory() : doors.local(folder) })
  return { skein, server: await doors.serve(skein, { port: 0, auth: 'none' }) }
}

/** A process that asks: it answers each order with a line of its own. */
export function startClient() {
  const child = fork(new URL('./http-client.mjs', import.meta.url))
  const waiting = []
  let hasEnded = false
  child.on('message', (answer) => waiting.shift()?.(answer))
  child.on('exit', (code, signal) => {
    if (!hasEnded) throw new Error(`the client ended with ${code ?? signal}`)
  })
  return {
    ask: (order) =>
      new Promise((resolve) => {
        waiting.push(resolve)
        child.send(order)
      }),
    end() {
      hasEnded = true
      child.kill()
    },
  }
}

/**
 * Create, send and result: through the API, by bare requests that keep their connection (two, or one for all), and by
 * the client's door; and the processor time of the server for each.
 */
export async function w11(job) {
  const { skein, server } = await openServer(job)
  const client = startClient()
  const { url } = server
  const inProcess = async (count) => {
    const us = []
    for (let turn = 0; turn < count; turn++) {
      const start = clock()
      const thread = await skein.threads.create({ agent: 'worker' })
      const { text } = await thread.send(work.prompt).result()
      us.push((clock() - start) * 1_000)
      work.assertEqual('text', text, 'done')
    }
    return us
  }
  const kinds = {
    api: inProcess,
    bare: (count) => client.ask({ kind: 'bare', url, count, prompt: work.prompt }),
    one: (count) => client.ask({ kind: 'one', url, count, prompt: work.prompt }),
    door: (count) => client.ask({ kind: 'door', dist: job.dist, url, count, prompt: work.prompt }),
  }
  const us = { api: [], bare: [], one: [], door: [] }
  const cpu = { api: [], bare: [], one: [], door: [] }
  for (const kind of Object.values(kinds)) await kind(job.warm)
  for (let turn = 0; turn < job.turns; turn++)
    for (const [name, kind] of Object.entries(kinds)) {
      const before = process.cpuUsage()
      us[name].push(...(await kind(job.count)))
      const { user, system } = process.cpuUsage(before)
      cpu[name].push((user + system) / job.count)
    }
  client.end()
  await server.close()
  await skein.close()
  return { us, cpu }
}

/** Streams of threads at rest, one of each: what one costs the server, with its connection. */
export async function w11idle(job) {
  const { skein, server } = await openServer(job)
  const client = startClient()
  const paths = []
  for (let n = 0; n < job.threads; n++) {
    await skein.threads.create({ agent: 'worker', id: `t${n}` })
    paths.push(`/threads/t${n}/events`)
  }
  // What the first one loads is not the price of one more.
  await client.ask({ kind: 'open', url: server.url, paths: paths.slice(0, 50) })
  await client.ask({ kind: 'leave' })
  const before = await settledMemory()
  await client.ask({ kind: 'open', url: server.url, paths })
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const after = await settledMemory()
  await client.ask({ kind: 'leave' })
  client.end()
  await server.close()
  await skein.close()
  const kb = (what) => (after[what] - before[what]) / 1_024 / job.threads
  return { heapKb: kb('heap'), rssKb: kb('rss') }
}

/** Clients of one tree through a server that is no host, while a host of two is killed. */
export async function w11tree({ dist, url, clients, children }) {
  const flock = await createFlock({ dist, url, kind: 'children' })
  await flock.start('a')
  await flock.start('b')
  await flock.balanced()
  const server = fork(new URL('./http-server.mjs', import.meta.url), [
    JSON.stringify({ dist, url, namespace: flock.namespace }),
  ])
  const heard = () => new Promise((resolve) => server.once('message', resolve))
  const { at } = await heard()
  const client = await flock.client()
  const reader = startClient()
  const thread = await client.threads.create({ agent: 'lead', id: 'lead' })
  const path = '/trees/lead/events'
  await reader.ask({ kind: 'open', url: at, paths: Array.from({ length: clients }, () => path), keep: true })
  const start = clock()
  const run = thread.send(`work ${children}`)
  // A third of the children have been made: many are at work on the host that dies.
  for await (const event of client.events({ root: 'lead' }))
    if (event.type === 'thread.created' && event.seq === 1 && ++made > children / 3) break
  flock.hosts[0].kill()
  flock.hosts.splice(0, 1)
  const { stopReason } = await run.result()
  work.assertEqual('stop reason', stopReason, 'completed')
  const turnMs = clock() - start
  await client.threads.get('lead').then((root) => root.settled({ tree: true }))
  const all = []
  for await (const event of client.events({ root: 'lead', until: 'now' })) if ('cursor' in event) all.push(event.cursor)
  const read = await reader.ask({ kind: 'read', cursors: all })
  const readMs = clock() - start
  server.send('memory')
  const { peakMb } = await heard()
  reader.end()
  server.kill()
  await flock.end()
  return { ...read, events: all.length, turnMs, readMs, peakMb }
}

let made = 0
