/**
 * Runs the benchmarks against the build: one JSON line per measurement, then `bench/RESULTS.md`. A run with options
 * is a trial: its table goes to `bench/.cache/RESULTS.md`, unless `--keep` names another. Exits with 1 when a count
 * is wrong or a contender fails, never because of a missed goal.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises'
import { cpus, loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { findContenders } from './lib/contenders.js'
import { createFigures } from './lib/figures.js'
import { isMet, judge } from './lib/goals.js'
import { onNode } from './lib/nodes.js'
import { readSettings, workloads } from './lib/settings.js'
import { toMarkdown } from './lib/table.js'
import { measureW1 } from './lib/w1.js'
import { measureW2 } from './lib/w2.js'
import { measureW2b } from './lib/w2b.js'
import { measureW3 } from './lib/w3.js'
import { measureW4 } from './lib/w4.js'
import { measureW5 } from './lib/w5.js'
import { measureW6Across } from './lib/w6-across.js'
import { measureW6 } from './lib/w6.js'
import { measureW7 } from './lib/w7.js'
import { measureW8 } from './lib/w8.js'
import { measureW9 } from './lib/w9.js'
import { measureW10 } from './lib/w10.js'
import { measureW11 } from './lib/w11.js'
import { measureW12 } from './lib/w12.js'
import { measureW13 } from './lib/w13.js'

const root = new URL('../', import.meta.url)
const settings = readSettings(process.argv.slice(2), root)
if (!existsSync(new URL('src/index.js', settings.dist)))
  throw new Error(`there is no build in ${settings.dist.pathname}; run \`npm run emit\` there first`)

const around = {
  command: settings.command,
  date: new Date().toISOString(),
  commit: commit(),
  cores: cpus().length,
  cpu: cpus()[0]?.model ?? 'unknown',
  node: [process.version, ...settings.nodes.map((version) => `beside it ${version}`)].join(', '),
  load: loadavg(),
}
const { contenders, missing } = await findContenders(root, settings.peers)
const everywhere = [...contenders]
for (const version of settings.nodes) everywhere.push(...(await onNode(version, contenders)))
const figures = createFigures()
const measures = {
  w1: measureW1,
  w2: measureW2,
  w2b: measureW2b,
  w3: measureW3,
  w4: measureW4,
  w5: measureW5,
  w6: bothW6,
  w7: measureW7,
  w8: measureW8,
  w9: measureW9,
  w10: measureW10,
  w11: measureW11,
  w12: measureW12,
  w13: measureW13,
}
for (const workload of workloads.filter((each) => settings.only.has(each))) {
  await measures[workload](
    everywhere.filter(({ works }) => works.includes(workload)),
    settings,
    figures,
  )
}
const goals = judge(figures)
for (const goal of goals)
  console.log(JSON.stringify({ goal: goal.text, limit: goal.limit, got: goal.got ?? null, met: isMet(goal) ?? null }))
const { kept } = settings
const table = new URL(tablePath(kept), root)
await mkdir(new URL('.', table), { recursive: true })
await writeFile(table, toMarkdown(figures, goals, { ...around, contenders, missing, notes: await notesOf(kept) }))
console.error(`the table is in ${fileURLToPath(table)}`)

function tablePath(name: string | undefined): string {
  if (name === undefined) return 'bench/.cache/RESULTS.md'
  return name === '' ? 'bench/RESULTS.md' : `bench/RESULTS-${name}.md`
}

async function bothW6(...args: Parameters<typeof measureW6>): Promise<void> {
  await measureW6(...args)
  await measureW6Across(...args)
}

/** Of all for the table of a whole run, of its own for one that has a name. */
async function notesOf(name: string | undefined): Promise<string[]> {
  const folder = new URL('bench/notes/', root)
  const files = (await readdir(folder)).filter((file) => name === '' || file === `${name}.md`).sort()
  return Promise.all(files.map(async (file) => (await readFile(new URL(file, folder), 'utf8')).trim()))
}

function commit(): string {
  const git = (...args: string[]): string =>
    execFileSync('git', args, { cwd: fileURLToPath(root), encoding: 'utf8' }).trim()
  return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain', '--', 'src', 'actors', 'workers') ? ' with changes' : ''}`
}
