/** Hosts on NATS as processes, and what their server says of them: who holds what, and how much was written. */
import { fork } from 'node:child_process'
import { connect } from '@nats-io/transport-node'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import { load } from './skein.mjs'

const hostFile = new URL('./nats-host.mjs', import.meta.url)
const partitions = 64
const streams = ['log', 'mail', 'snapshots', 'blobs']
let namespaces = 0

/** A connection, a namespace of its own, and the hosts that are started in it. */
export async function createFlock({ dist, url, ...job }) {
  const namespace = `b${process.pid}_${namespaces++}`
  const nc = await connect({ servers: url, noAsyncTraces: true })
  const jsm = await jetstreamManager(nc)
  const doors = await load(new URL(dist))
  const hosts = []
  let client
  return {
    nc,
    jsm,
    js: jetstream(nc),
    namespace,
    hosts,
    async start(name) {
      hosts.push(await startHost({ dist, url, namespace, name, ...job }))
      return hosts.at(-1)
    },
    /** Until every host has its share, and nothing is on its way. */
    async balanced() {
      for (;;) {
        const held = await holders(jsm, namespace)
        const counts = [...held.values()].toSorted((one, other) => one - other)
        if (counts.length === hosts.length && counts.at(-1) - counts[0] <= 1 && sum(counts) === partitions) return
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    },
    client: async () =>
      (client ??= await doors.connectSkein({ backend: doors.nats({ servers: url, namespace, sync: 'relaxed' }) })),
    /** What all hosts did since the last time. */
    async counts() {
      const all = await Promise.all(hosts.map((host) => host.ask('counts')))
      return Object.fromEntries(
        ['model', 'tool', 'reports', 'cpuUs'].map((what) => [what, sum(all.map((counts) => counts[what]))]),
      )
    },
    /** Messages that the streams of the namespace ever took. */
    async appended() {
      const infos = await Promise.all(streams.map((stream) => jsm.streams.info(`${namespace}_${stream}`)))
      return sum(infos.map(({ state }) => state.last_seq))
    },
    async end() {
      await client?.close()
      for (const host of hosts) host.kill()
      await Promise.all(hosts.map((host) => host.ended))
      for await (const { config } of jsm.streams.list())
        if (config.name.startsWith(`${namespace}_`)) await jsm.streams.delete(config.name)
      await nc.close()
    },
  }
}

/** Partitions of each host, by the name that the server knows it by. */
async function holders(jsm, namespace) {
  const held = new Map()
  for (let partition = 0; partition < partitions; partition++) {
    const message = await jsm.direct.getMessage(`${namespace}_meta`, {
      last_by_subj: `${namespace}.meta.owner.${partition}`,
    })
    const host = message?.json().host
    if (host) held.set(host, (held.get(host) ?? 0) + 1)
  }
  return held
}

async function startHost(job) {
  const child = fork(hostFile, [JSON.stringify(job)], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  let wanted = false
  const ended = new Promise((resolve) => child.once('exit', resolve))
  // Whoever waits for its threads would wait for ever.
  void ended.then((code) => wanted || fail(`host ${job.name} ended with ${code}`))
  const waiting = new Map()
  const answer = (order) =>
    new Promise((resolve, reject) => {
      waiting.set(order, resolve)
      void ended.then(() => reject(new Error(`host ${job.name} ended before it answered to ${order}`)))
    })
  child.on('message', ({ order, answer: given }) => waiting.get(order)?.(given))
  await answer('ready')
  return {
    name: job.name,
    ended,
    ask(order) {
      wanted ||= order === 'close'
      const answered = answer(order)
      child.send(order)
      return answered
    },
    kill() {
      wanted = true
      child.kill('SIGKILL')
    },
  }
}

function fail(why) {
  console.error(why)
  process.exit(1)
}

export function sum(values) {
  return values.reduce((total, value) => total + value, 0)
}
