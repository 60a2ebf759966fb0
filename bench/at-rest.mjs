/** W6 and W7 of Skein, each in a process of its own. */
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { settledMemory } from './children.mjs'
import { attaching, resting } from './skein-children.mjs'
import * as work from './work.mjs'

const clock = () => performance.now()

/** A child with the attachment and one without take turns, and so do those that give it back. */
export async function w6({ dist, mode, folder, bytes, warm, turns }) {
  const contender = await attaching(new URL(dist), { mode, folder, bytes })
  const ms = Object.fromEntries(contender.kinds.map((kind) => [kind, []]))
  for (let count = -warm; count < turns; count++) {
    for (const kind of contender.kinds) {
      const start = clock()
      await contender.spawn(kind)
      if (count >= 0) ms[kind].push(clock() - start)
    }
  }
  await contender.check(warm + turns)
  await contender.close()
  return { ms }
}

/** How many threads are made at once. */
const makers = 256

/**
 * Threads with one turn behind them, none resident but the few that a host keeps; then some are spoken to, one by one.
 */
export async function w7({ dist, mode, folder, url, namespace, threads, warm, wakes }) {
  const contender = await resting(new URL(dist), { mode, folder, url, namespace, clock })
  await make(contender, 0, warm)
  const empty = await memoryAtRest()
  const start = clock()
  await make(contender, warm, warm + threads)
  const makeUs = ((clock() - start) * 1000) / threads
  work.assertEqual('model calls', work.counts.model, warm + threads)
  const busy = await memoryNow()
  const full = await memoryAtRest()
  const resident = contender.resident()
  const latencies = await speakTo(contender, { threads, warm, wakes })
  await contender.close()
  const perThread = (what) => ((full[what] - empty[what]) * 1024) / threads
  return {
    makeUs,
    resident,
    rssBytes: perThread('VmRSS'),
    busyRssBytes: ((busy.VmRSS - empty.VmRSS) * 1024) / threads,
    anonBytes: perThread('RssAnon'),
    fileBytes: perThread('RssFile'),
    heapBytes: (full.heap - empty.heap) / threads,
    ...latencies,
  }
}

/** The same threads in a process that found them on disk. */
export async function w7open({ dist, mode, folder, url, namespace, threads, warm, wakes }) {
  const contender = await resting(new URL(dist), { mode, folder, url, namespace, clock })
  const { VmRSS } = await memoryAtRest()
  const latencies = threads === 0 ? {} : await speakTo(contender, { threads, warm, wakes })
  await contender.close()
  return { rssKb: VmRSS, ...latencies }
}

async function make(contender, from, to) {
  let next = from
  const maker = async () => {
    while (next < to) await contender.make(next++)
  }
  await Promise.all(Array.from({ length: makers }, maker))
}

/** Other threads first: what is compiled by then is what a host at work has. */
async function speakTo(contender, { threads, warm, wakes }) {
  const random = sequence()
  const told = new Set()
  const toModelMs = []
  const toResultMs = []
  work.resetCounts()
  while (told.size < warm + wakes) {
    const index = Math.floor(random() * threads)
    if (told.has(index)) continue
    told.add(index)
    const latency = await contender.speak(index)
    if (told.size <= warm) continue
    toModelMs.push(latency.toModelMs)
    toResultMs.push(latency.toResultMs)
  }
  work.assertEqual('model calls', work.counts.model, warm + wakes)
  return { toModelMs, toResultMs }
}

/** The same threads in every run (mulberry32). */
function sequence() {
  let seed = 1
  return () => {
    seed = (seed + 0x6d2b79f5) | 0
    let value = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32
  }
}

/**
 * As it is when nothing was done for a while: V8 gives back what work has left behind some 20 to 30 seconds after it,
 * which is asked for here, and a store what it has mapped.
 */
async function memoryAtRest() {
  const session = new Session()
  session.connect()
  for (let count = 0; count < 2; count++) {
    await session.post('HeapProfiler.collectGarbage')
    await new Promise((resolve) => setTimeout(resolve, 1000))
  }
  session.disconnect()
  return memoryNow()
}

/**
 * What the kernel says, in KB: memory of the process' own, and pages of files that it has mapped; and the heap, in
 * bytes.
 */
async function memoryNow() {
  const { heap } = await settledMemory()
  return { heap, ...kernelMemory() }
}

function kernelMemory() {
  const status = readFileSync('/proc/self/status', 'utf8')
  const kb = (name) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1])
  return { VmRSS: kb('VmRSS'), RssAnon: kb('RssAnon'), RssFile: kb('RssFile') }
}
