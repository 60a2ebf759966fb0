/**
 * A swarm: a lead, 24 researchers of whom 8 work at once, and a writer. End it in the middle, with Ctrl-C or kill -9,
 * and run it again: it goes on. There is no code for that here; the store has the whole tree.
 *
 *   npx tsx examples/06-swarm/main.ts [folder]      (.swarm; remove it to begin anew)
 *   npx skein tree swarm --store .swarm/store       (in another terminal)
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSkein, local } from 'skein'
import type { SkeinEvent } from 'skein'

const [folder = '.swarm'] = process.argv.slice(2)
const ledger = join(folder, 'ledger.txt')
mkdirSync(folder, { recursive: true })
const skein = await createSkein({
  app: new URL('./app.ts', import.meta.url),
  backend: local(join(folder, 'store')),
  env: { LEDGER: ledger },
  limits: { maxParallelChildren: 8 },
})
const thread = await skein.threads.create({ agent: 'lead', id: 'swarm' }) // a second time: gets it
const run = thread.send('Survey the rivers.', { id: 'order' }) // a second time: nothing

/**
 * What each child does, by thread. One that waits in line has none yet, but the call that asks for it says which it
 * will be.
 */
const children = new Map<string, { readonly name: string; does: string }>()
const count = (does: string): number => [...children.values()].filter((child) => child.does === does).length
let over = false

/** Gives the news for someone who reads lines. */
function take(event: SkeinEvent): string | undefined {
  over ||= event.type === 'turn.ended' && event.thread === 'swarm'
  if (event.type === 'model.replied')
    for (const { child } of event.calls)
      if (child) children.set(child.thread, { name: child.reference, does: 'in line' })
  const child = children.get(event.type === 'child.reported' ? event.child : event.thread)
  if (!child) return undefined
  const before = child.does
  if (event.type === 'turn.started' || event.type === 'tool.result') child.does = 'thinks'
  if (event.type === 'model.replied') child.does = event.calls.map(({ tool }) => `calls ${tool}`).join() || 'reports'
  if (event.type === 'child.reported') child.does = 'done'
  if (child.does === before) return undefined
  return before === 'in line'
    ? `${child.name} begins, ${count('in line')} in line`
    : child.does === 'done'
      ? `${child.name} is done`
      : undefined
}

let drawn = 0
function show(news: string | undefined): void {
  if (!process.stdout.isTTY) return news === undefined ? undefined : console.log(news)
  const rows = [...children.values()]
    .filter(({ does }) => does !== 'in line' && does !== 'done')
    .map(({ name, does }) => `  ◐ ${name} ${does}`)
  process.stdout.write(
    `${drawn > 0 ? `\u001B[${drawn}F\u001B[J` : ''}${[`swarm: ${count('done')} done, ${count('in line')} in line`, ...rows].join('\n')}\n`,
  )
  drawn = rows.length + 1
}

await run.accepted()
let cursor = ''
for await (const event of skein.events({ root: 'swarm', until: 'now' })) {
  take(event)
  if ('cursor' in event) ({ cursor } = event)
}
console.log(`process ${process.pid}: ${count('done')} are done; end me with Ctrl-C or kill -9 and run me again`)
if (!over) for await (const event of skein.events({ root: 'swarm', from: cursor })) if ((show(take(event)), over)) break
console.log(`\n${await run.text()}\n\n${await thread.files.readFile('/report.md', 'utf8')}`)
const surveys = readFileSync(ledger, 'utf8').trim().split('\n')
console.log(`${surveys.length} surveys were booked, ${surveys.length - new Set(surveys).size} of them twice`)
await skein.close()
