/**
 * A tree of threads, cut off after each of its commits in turn: whatever the store took is there, nothing else is.
 * Whoever opens it then must end with the same transcripts.
 */
import { expect } from 'vitest'
import type { Definition } from '../../src/agent/define.js'
import { memory } from '../../src/backend/memory/memory.js'
import type { Store } from '../../src/backend/port.js'
import type { Message } from '../../src/core/records/message.js'
import { SkeinError } from '../../src/core/failure.js'
import { manualClock } from '../../src/core/manual-clock.js'
import { createSkein } from '../../src/runtime/skein.js'
import type { Skein } from '../../src/runtime/skein.js'
import { requests } from './activity.js'
import { turn } from './deferred.js'
import { apart, tapped } from './tap.js'
import type { Tap } from './tap.js'

/** Makes the app; what its bodies do is pushed to `ran`. */
type MakeApp = (ran: string[]) => readonly Definition[]

interface Ended {
  readonly text: string
  readonly threads: readonly {
    readonly agent: string
    readonly status: string
    readonly messages: readonly Omit<Message, 'id' | 'at'>[]
  }[]
}

/** Thread `lead` of agent `lead`, told to go. */
export async function finish(skein: Skein): Promise<Ended> {
  const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
  const text = await lead.send('go', { id: 'm' }).text()
  // The last words of children may still be on their way.
  for (let resting = false; !resting; await turn())
    resting = (await skein.threads.list({ root: 'lead' })).threads.every(({ rest }) => rest)
  const threads = await Promise.all(
    (await skein.threads.list({ root: 'lead' })).threads.map(async ({ thread, agent, status, reference, says }) => {
      const handle = await skein.threads.get(thread)
      // The id of what a child says by itself holds the place in the journal.
      const messages = (await handle.messages({ silent: 'show' })).map(({ at: _, id, ...rest }) =>
        rest.silent ? rest : { id, ...rest },
      )
      return { thread, agent, status, reference, says, messages, files: await handle.files.find('/**') }
    }),
  )
  return { text, threads: threads.toSorted((a, b) => (a.thread < b.thread ? -1 : 1)) }
}

/** Runs until the store has taken that many commits, and no further. */
async function runUntil(source: Store, commits: number, app: readonly Definition[]): Promise<number> {
  let taken = 0
  const tap: Tap = {
    commit: (_, go) => (taken++ < commits ? go() : Promise.reject(new SkeinError('STORE_FAILED', 'the power is gone'))),
  }
  const clock = manualClock(1_700_000_000_000)
  const skein = await createSkein({ app, backend: tapped(source, tap), clock, warn: () => undefined })
  const ended = skein.threads
    .create({ agent: 'lead', id: 'lead' })
    .then((lead) => lead.send('go', { id: 'm' }).result())
  let over = false
  ended.then(
    () => (over = true),
    () => (over = true),
  )
  for (let quietTurns = 0, before = -1, asked = requests(); quietTurns < 30 && !over; await turn()) {
    quietTurns = taken === before && asked !== undefined && asked === requests() ? quietTurns + 1 : 0
    before = taken
    asked = requests()
  }
  const closed = skein.close()
  clock.advance(60_000)
  await closed
  return taken
}

/**
 * How it ends when nothing happens to it, and how often it was cut off and ended so all the same; `view` leaves out
 * what may come in any order.
 */
export async function cutAfterEveryCommit(
  createApp: MakeApp,
  fresh: () => Promise<Store> = async () => memory(),
  view: (ended: Ended) => unknown = (ended) => ended,
): Promise<Ended & { readonly cuts: number; readonly runs: readonly (readonly string[])[] }> {
  const skein = await createSkein({ app: createApp([]), backend: memory() })
  const expected = await finish(skein)
  await skein.close()
  const all = async (asIs: (source: Store) => Store) => {
    const cuts = await runUntil(asIs(await fresh()), Infinity, createApp([]))
    const runs: string[][] = []
    for (let commits = 0; commits < cuts; commits++) {
      const source = asIs(await fresh())
      const ran: string[] = []
      await runUntil(source, commits, createApp(ran))
      const again = await createSkein({ app: createApp(ran), backend: source, clock: manualClock(1_700_000_100_000) })
      expect(view(await finish(again)), `after ${commits} commits`).toEqual(view(expected))
      await again.close()
      runs.push(ran)
    }
    return { ...expected, cuts, runs }
  }
  // Threads that are written together have fewer commits; between hosts all mail goes through mailboxes.
  await all((source) => source)
  return all(apart)
}
