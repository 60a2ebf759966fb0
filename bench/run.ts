/**
 * Runs the benchmarks against the build: one JSON line per measurement, then `bench/RESULTS.md`. A run with options is a
 * trial: its table goes to `bench/.cache/RESULTS.md`. Exits with 1 when a count is wrong or a contender fails, never
 * because of a missed goal.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { findContenders } from './lib/contenders.js'
import { createFigures } from './lib/figures.js'
import { judge } from './lib/goals.js'
import { readSettings, workloads } from './lib/settings.js'
import { toMarkdown } from './lib/table.js'
import { measureW1 } from './lib/w1.js'
import { measureW2 } from './lib/w2.js'
import { measureW2b } from './lib/w2b.js'
import { measureW3 } from './lib/w3.js'
import { measureW4 } from './lib/w4.js'
import { measureW6 } from './lib/w6.js'
import { measureW7 } from './lib/w7.js'
import { measureW8 } from './lib/w8.js'

const root = new URL('../', import.meta.url)
const settings = readSettings(process.argv.slice(2), root)
if (!existsSync(new URL('src/index.js', settings.dist))) throw new Error(`there is no build in ${settings.dist.pathname}; run \`npm run build\` first`)

const around = {
  command: settings.command,
  date: new Date().toISOString(),
  commit: commit(),
  cores: cpus().length,
  cpu: cpus()[0]?.model ?? 'unknown',
  node: process.version,
  load: loadavg(),
}
const { contenders, missing } = await findContenders(root, settings.peers)
const figures = createFigures()
const measures = { w1: measureW1, w2: measureW2, w2b: measureW2b, w3: measureW3, w4: measureW4, w6: measureW6, w7: measureW7, w8: measureW8 }
for (const workload of workloads.filter((each) => settings.only.has(each))) {
  await measures[workload](contenders.filter(({ works }) => works.includes(workload)), settings, figures)
}
const goals = judge(figures)
for (const goal of goals) console.log(JSON.stringify({ goal: goal.text, limit: goal.limit, got: goal.got ?? null, met: goal.got === undefined ? null : goal.got <= goal.limit }))
const table = new URL(settings.trial ? 'bench/.cache/RESULTS.md' : 'bench/RESULTS.md', root)
await mkdir(new URL('.', table), { recursive: true })
await writeFile(table, toMarkdown(figures, goals, { ...around, contenders, missing }))
console.error(`the table is in ${fileURLToPath(table)}`)

function commit(): string {
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: fileURLToPath(root), encoding: 'utf8' }).trim()
  return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain', '--', 'src', 'actors', 'workers') ? ' with changes' : ''}`
}
