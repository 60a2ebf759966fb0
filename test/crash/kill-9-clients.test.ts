/**
 * Clients send and schedule while the one host is killed with -9, again and again. What a sender was told holds: what
 * was accepted, and what was said to be kept, happens once; only of what failed with another error nobody can tell.
 * The seed is printed when it fails.
 */
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { local } from '../../src/backend/local/local.js'
import { nats } from '../../src/backend/nats/nats.js'
import type { Store } from '../../src/backend/port.js'
import { isSkeinError } from '../../src/core/failure.js'
import { connectSkein } from '../../src/runtime/handles/client.js'
import type { SkeinClient } from '../../src/runtime/handles/client.js'
import type { Thread } from '../../src/runtime/handles/thread.js'
import { pauseFor } from '../chaos/flock.js'
import { startHost } from '../helpers/host-process.js'
import type { HostProcess } from '../helpers/host-process.js'
import { createChance } from '../helpers/lives.js'
import { startNats } from '../helpers/nats-server.js'
import { times } from '../helpers/soak.js'

const kills = times(2, 60)
const seed = Number(process.env['SEED'] ?? Date.now() % 100_000)
const threads = 4

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

interface Place {
  readonly source: Store
  /** For the host. */
  readonly args: string
}

const places: Readonly<Record<string, (folder: string) => Promise<Place>>> = {
  local: async (folder) => ({
    source: local(join(folder, 'store')),
    args: JSON.stringify({ folder: join(folder, 'store') }),
  }),
  nats: async () => {
    const server = await startNats()
    closing.push(() => server.remove())
    const source = nats({ servers: server.url, namespace: 'kills', partitions: 4, leaseMs: 600, sync: 'relaxed' })
    await (await source.open('host')).close() // makes the namespace with a short lease
    return { source, args: JSON.stringify({ url: server.url, namespace: 'kills' }) }
  },
}

/** What senders were told of each thing that they asked for: `<thread> <what>`. */
class Told {
  readonly accepted = new Set<string>()
  readonly kept = new Set<string>()
  readonly unknown = new Map<string, string>()

  async of(what: string, asked: Promise<unknown>): Promise<void> {
    try {
      await asked
      this.accepted.add(what)
    } catch (thrown) {
      if (!isSkeinError(thrown)) throw thrown
      if (thrown.code === 'COMMAND_UNANSWERED') this.kept.add(what)
      else this.unknown.set(what, `${thrown.code}: ${thrown.message}`)
    }
  }
}

/**
 * One visitor of a thread: a message, then a call that is scheduled, and so on, each when the one before was answered.
 */
async function visit(thread: Thread, told: Told, over: () => boolean): Promise<void> {
  for (let n = 0; !over(); n++) {
    await told.of(`${thread.id} message${n}`, thread.send(`message${n}`, { id: `${thread.id}-${n}` }).accepted())
    await told.of(`${thread.id} call${n}`, thread.schedule('tick', { of: `call${n}` }, { delayMs: 10 }))
    await pauseFor(100)
  }
}

async function createAll(client: SkeinClient): Promise<Thread[]> {
  return Promise.all(
    Array.from({ length: threads }, (_, n) => client.threads.create({ agent: 'planner', id: `t${n}` })),
  )
}

/** Ticks that must have happened: two for each message, one for each call. */
const ticksOf = (what: string): string[] => (what.includes(' message') ? [`${what} 1`, `${what} 2`] : [what])

test.each(Object.keys(places))(
  `P1, N3: on %s nothing that a sender was told of is missing after ${kills} kills of the host (seed ${seed})`,
  async (kind) => {
    const folder = await mkdtemp(join(tmpdir(), 'skein-clients-'))
    closing.push(() => rm(folder, { recursive: true, force: true }))
    const { source, args } = (await places[kind]?.(folder)) ?? { source: local(folder), args: '' }
    const ledger = join(folder, 'ledger')
    const start = (): Promise<HostProcess> => startHost('planner.mjs', [args, ledger])
    let host = await start()
    closing.push(async () => {
      host.signal('SIGKILL')
      return host.ended
    })
    const client = await connectSkein({ backend: source })
    closing.push(() => client.close())
    const all = await createAll(client)
    const chance = createChance(seed)
    const told = new Told()
    let over = false
    const visitors = Promise.all(all.map((thread) => visit(thread, told, () => over)))
    for (let killed = 0; killed < kills; killed++) {
      await pauseFor(200 + chance() * 1_500)
      host.signal('SIGKILL')
      await host.ended
      await pauseFor(chance() * 800)
      host = await start()
    }
    over = true
    await visitors
    const happened = async (): Promise<string[]> =>
      (await readFile(ledger, 'utf8'))
        .trim()
        .split('\n')
        .map((line) => line.split(' ').slice(0, -1).join(' '))
    const wanted = [...told.accepted, ...told.kept].flatMap(ticksOf)
    const missing = async (): Promise<string[]> => {
      const there = new Set(await happened())
      return wanted.filter((tick) => !there.has(tick))
    }
    await expect.poll(missing, { interval: 200 }).toEqual([])
    for (const thread of all) await thread.settled({ tree: true })
    // Begun again is allowed (the tool is idempotent); another call for the same thing is not.
    const lines = new Set((await readFile(ledger, 'utf8')).trim().split('\n'))
    const calls = [...lines].map((line) => line.split(' ').slice(0, -1).join(' '))
    expect(calls.filter((call, n) => calls.indexOf(call) !== n)).toEqual([])
    expect([...told.accepted].length).toBeGreaterThan(kills)
    if (process.env['SAY'])
      process.stdout.write(
        `${kind}: ${told.accepted.size} accepted, ${told.kept.size} kept, ${told.unknown.size} unknown ` +
          `${JSON.stringify([...new Set(told.unknown.values())])}, ${calls.length} ticks\n`,
      )
  },
)
