/**
 * All simulated apps of test/sim/apps with many seeds, in several processes; a table of what happened, and every seed
 * that failed (docs/simulation.md).
 *
 *   npm run sim -- --seeds 10000 [--from 1] [--shards 2] [--app effects]
 */
import { fork } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { apps } from '../test/sim/apps.js'
import type { SimReport } from '../src/sim/simulate.js'
import type { SimulatedApp } from '../test/sim/simulated-app.js'

const text = { type: 'string' } as const
const { values } = parseArgs({
  options: { seeds: text, from: text, shards: text, app: { ...text, multiple: true }, shard: text },
})
const seeds = Number(values.seeds ?? 1_000)
const first = Number(values.from ?? 1)
const shards = Number(values.shards ?? availableParallelism())
const chosen = values.app ? apps.filter(({ name }) => values.app?.includes(name)) : apps

/** What a shard tells. */
type Told =
  | { readonly kind: 'tried'; readonly app: string }
  | { readonly kind: 'failed'; readonly app: string; readonly seed: number; readonly why: string }
  | { readonly kind: 'done'; readonly app: string; readonly report: SimReport; readonly cpuMs: number }

if (values.shard === undefined) await runShards()
else {
  for (const app of chosen) await tryAll(app, Number(values.shard))
  process.disconnect()
}

async function tryAll(app: SimulatedApp, shard: number): Promise<void> {
  const tell = (told: Told): void => void process.send?.(told)
  const before = process.cpuUsage()
  const simulation = await app.prepare()
  for (let seed = first + shard; seed < first + seeds; seed += shards) {
    const failure = await simulation.trySeed(seed)
    if (failure) tell({ kind: 'failed', app: app.name, seed, why: failure.message })
    tell({ kind: 'tried', app: app.name })
  }
  const { user, system } = process.cpuUsage(before)
  tell({ kind: 'done', app: app.name, report: simulation.report(), cpuMs: (user + system) / 1_000 })
}

async function runShards(): Promise<void> {
  const began = Date.now()
  const tried = new Map<string, number>()
  const done: Extract<Told, { kind: 'done' }>[] = []
  const failed: Extract<Told, { kind: 'failed' }>[] = []
  const hear = (told: Told): void => {
    if (told.kind === 'done') return void done.push(told)
    if (told.kind === 'failed') {
      failed.push(told)
      return console.error(`\n${told.app}: ${told.why}`)
    }
    tried.set(told.app, (tried.get(told.app) ?? 0) + 1)
    const total = [...tried.values()].reduce((sum, count) => sum + count, 0)
    const line = `${total} of ${seeds * chosen.length} seeds, ${failed.length} failed, ${seconds(Date.now() - began)}`
    if (process.stderr.isTTY) process.stderr.write(`\r${line}`)
    else if (total % 100 === 0) console.error(line)
  }
  const exits = await Promise.all(Array.from({ length: shards }, (_, shard) => startShard(shard, hear)))
  process.stderr.write('\n')
  console.table(Object.fromEntries(chosen.map(({ name }) => [name, rowOf(name, done, failed)])))
  const asked = seeds * chosen.length
  const total = [...tried.values()].reduce((sum, count) => sum + count, 0)
  console.log(`${total} of ${asked} seeds in ${seconds(Date.now() - began)}, ${failed.length} failed`)
  // The counts of an app are those of the shards that have done all of its seeds.
  if (total < asked) console.log(`not all were tried: a shard ended early (exit codes ${exits.join(', ')})`)
  for (const { app, seed } of failed)
    console.log(`  ${app} ${seed}: npm run sim -- --app ${app} --from ${seed} --seeds 1`)
  if (failed.length > 0 || total < asked || exits.some((code) => code !== 0)) process.exitCode = 1
}

function startShard(shard: number, hear: (told: Told) => void): Promise<number | null> {
  const args = ['--shard', String(shard), '--shards', String(shards), '--seeds', String(seeds), '--from', String(first)]
  const child = fork(fileURLToPath(import.meta.url), [...args, ...chosen.flatMap(({ name }) => ['--app', name])])
  child.on('message', hear)
  return new Promise((resolve) => child.on('exit', resolve))
}

function rowOf(
  app: string,
  done: readonly Extract<Told, { kind: 'done' }>[],
  failed: readonly Extract<Told, { kind: 'failed' }>[],
): Readonly<Record<string, number | string>> {
  const parts = done.filter((told) => told.app === app)
  const sum = (of: (part: (typeof parts)[number]) => number): number => parts.reduce((all, part) => all + of(part), 0)
  const { faults: _, ...totals } = parts[0]?.report ?? { faults: {} }
  const counts = Object.keys(totals).map((name) => [name, sum(({ report }) => report[name as keyof typeof totals])])
  const happened = new Map<string, number>()
  for (const { report } of parts)
    for (const [kind, count] of Object.entries(report.faults)) happened.set(kind, (happened.get(kind) ?? 0) + count)
  return {
    failed: failed.filter((told) => told.app === app).length,
    cpu: seconds(sum(({ cpuMs }) => cpuMs)),
    ...Object.fromEntries(counts),
    ...Object.fromEntries(happened),
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
