/**
 * A swarm: a lead, 24 researchers of whom 8 work at once, and a writer. End it in the middle, with Ctrl-C or kill -9,
 * and run it again: it goes on. There is no code for that here; the store has the whole tree.
 *
 *   npx tsx examples/06-swarm/main.ts [folder]      (.swarm; remove it to begin anew)
 *   npx skein tree swarm --store .swarm/store       (in another terminal)
 *   npx skein ui --store .swarm/store               (in a browser, also when this does not run)
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createSkein, local } from 'skein'
import type { ChildView, ThreadProjection } from 'skein'
import { serve } from 'skein/server'

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
const server = await serve(skein, { auth: 'none', port: 0 })

type Threads = ReadonlyMap<string, ThreadProjection>
const childrenIn = (threads: Threads): readonly ChildView[] => threads.get('swarm')?.children ?? []
const count = (threads: Threads, status: ChildView['status']): number =>
  childrenIn(threads).filter((child) => child.status === status).length

/** What happened, for someone who reads lines. */
function tell(children: readonly ChildView[], threads: Threads): void {
  for (const { reference, status } of children) {
    if (status === 'working') console.log(`${reference} begins, ${count(threads, 'in line')} in line`)
    if (status === 'done') console.log(`${reference} is done`)
  }
}

/** The whole picture, for a terminal: a line for each child that works, with what it does now. */
let drawn = 0
function draw(threads: Threads): void {
  const does = (id: string): string => {
    const call = threads.get(id)?.calls.find(({ outcome }) => !outcome)
    return call ? `calls ${call.tool}` : 'thinks'
  }
  const working = childrenIn(threads).filter(({ status }) => status === 'working')
  const lines = [
    `swarm: ${count(threads, 'done')} done, ${count(threads, 'in line')} in line`,
    ...working.map((child) => `  ◐ ${child.reference} ${does(child.thread)}`),
  ]
  const erase = drawn > 0 ? `\u001B[${drawn}F\u001B[J` : ''
  process.stdout.write(`${erase}${lines.join('\n')}\n`)
  drawn = lines.length
}

for await (const change of thread.view({ tree: true })) {
  const { event, children, threads } = change
  if (!event) {
    const done = count(threads, 'done')
    const look = `look at ${server.url}/ui/trees/swarm`
    console.log(`process ${process.pid}: ${done} are done; ${look}; end me with Ctrl-C or kill -9 and run me again`)
    thread.send('Survey the rivers.', { id: 'order' }) // a second time: nothing
  } else if (process.stdout.isTTY) draw(threads)
  else if (change.thread === 'swarm') tell(children, threads)
  if (threads.get('swarm')?.result) break
}

console.log(`\n${await thread.run('order').text()}\n\n${await thread.files.readFile('/report.md', 'utf8')}`)
const surveys = readFileSync(ledger, 'utf8').trim().split('\n')
console.log(`${surveys.length} surveys were booked, ${surveys.length - new Set(surveys).size} of them twice`)
console.log(`to begin anew: remove ${folder}`)
await server.close()
await skein.close()
