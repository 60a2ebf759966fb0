/**
 * What a call on a worker thread costs (W2b), calls that wait, and calls that write files: Skein in one process with
 * the bare Piscina that it is compared to, taking turns with it. Each gives samples by contender and name.
 */
import { Piscina } from 'piscina'
import { adapter } from './skein-tools.mjs'
import { assertEqual } from './work.mjs'

const modes = ['memory', 'local']
/** As many as Skein has: one for each of two cores. */
const threads = 2
const payload = { text: 'x'.repeat(200) }
const atOnce = 16

function createSamples() {
  const samples = {}
  return {
    samples,
    add: (contender, what, value) => void ((samples[contender] ??= {})[what] ??= []).push(value),
  }
}

async function usOf(count, work) {
  const start = performance.now()
  const finish = await work()
  const us = ((performance.now() - start) * 1000) / count
  await finish?.()
  return us
}

/** Sequentially: each waits for the one before. */
async function inTurn(count, call) {
  for (let each = 0; each < count; each++) check(await call())
}

async function together(count, call) {
  for (let each = 0; each < count; each += atOnce)
    (await Promise.all(Array.from({ length: atOnce }, call))).forEach(check)
}

/** What a call gave: the payload itself, or an outcome of it. */
function check(given) {
  assertEqual('text', (given.outcome?.value ?? given).text, payload.text)
}

export async function calls({ dist, folder, turns, warm, count }) {
  const { samples, add } = createSamples()
  const skein = await adapter(new URL(dist), folder)
  const bare = (atomics) =>
    new Piscina({
      filename: new URL('./worker.mjs', import.meta.url).href,
      name: 'echo',
      minThreads: threads,
      maxThreads: threads,
      atomics,
    })
  const pools = { 'piscina (floor)': bare('sync'), 'piscina, atomics off': bare('disabled') }
  const run = await skein.pool(threads)
  const contenders = [
    ...Object.entries(pools).map(([name, pool]) => [name, () => pool.run(payload)]),
    ['skein pool', () => run('echo', payload)],
  ]
  const hosts = []
  for (const mode of modes)
    hosts.push([
      `skein ${mode}`,
      await skein.open(mode, { workers: { threads }, limits: { maxParallelTools: atOnce } }),
    ])
  const result = JSON.stringify(payload)
  const steps = (host, tool, width) =>
    skein.steps(host, { steps: count / width, calls: width, call: () => ({ tool, args: payload }), result })
  for (let turn = -warm; turn < turns; turn++) {
    const noted = turn < 0 ? () => undefined : add
    for (const [name, call] of contenders) {
      noted(name, 'one by one', await usOf(count, () => inTurn(count, call)))
      noted(name, `${atOnce} at once`, await usOf(count, () => together(count, call)))
    }
    for (const [name, host] of hosts) {
      noted(name, 'step', await usOf(count, () => steps(host, 'echo', 1)))
      noted(name, 'step on the host', await usOf(count, () => steps(host, 'echo_here', 1)))
      noted(name, `${atOnce} in a step`, await usOf(count, () => steps(host, 'echo', atOnce)))
    }
  }
  await Promise.all(Object.values(pools).map((pool) => pool.destroy()))
  await skein.close()
  return { samples }
}

/** 64 calls that wait, in one step on two threads. The first turn also starts the threads. */
export async function io({ dist, folder, turns, count, waitMs }) {
  const { samples, add } = createSamples()
  const skein = await adapter(new URL(dist), folder)
  for (const mode of modes) {
    const host = await skein.open(mode, { workers: { threads }, limits: { maxParallelTools: count } })
    const step = () =>
      skein.steps(host, {
        steps: 1,
        calls: count,
        call: () => ({ tool: 'wait', args: { ms: waitMs } }),
        result: 'waited',
      })
    for (let turn = 0; turn <= turns; turn++)
      add(`skein ${mode}`, turn === 0 ? 'threads not started' : 'threads at work', (await usOf(1, step)) / 1000)
  }
  await skein.close()
  return { samples }
}

let written = 0

/** A new path and new bytes for every call: equal ones are stored once. */
function writing(tool) {
  return (step) => ({ tool, args: { path: `/work/file-${step}.txt`, content: `${written++}:`.padEnd(1024, 'x') } })
}

/** Steps that write a file of 1 KB each, beside steps that write none. */
export async function files({ dist, folder, turns, warm, sizes }) {
  const { samples, add } = createSamples()
  const skein = await adapter(new URL(dist), folder)
  const hosts = []
  for (const mode of modes) hosts.push([`skein ${mode}`, await skein.open(mode, { workers: { threads } })])
  const kinds = [
    ['no file, worker', { call: () => ({ tool: 'echo', args: payload }), result: JSON.stringify(payload) }],
    ['1 KB, worker', { call: writing('write_there'), result: 'written', writes: true }],
    ['1 KB, host', { call: writing('write_here'), result: 'written', writes: true }],
  ]
  for (let turn = -warm; turn < turns; turn++) {
    for (const steps of turn < 0 ? [sizes[0]] : sizes) {
      for (const [what, { writes, ...kind }] of kinds) {
        for (const [name, host] of hosts) {
          let checked
          const us = await usOf(steps, async () => {
            const assert = await skein.steps(host, { steps, calls: 1, ...kind })
            return async () => void (checked = await assert())
          })
          if (writes) assertEqual('files', await skein.filesOf(checked), steps)
          if (turn >= 0) add(name, `${what}, ${steps} steps`, us)
        }
      }
    }
  }
  await skein.close()
  return { samples }
}
