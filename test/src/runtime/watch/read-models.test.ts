/** Random lives of threads, stored: whatever reads a thread from a store says what its transcript says. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { fold } from '../../../../actors/thread/fold.js'
import { createState } from '../../../../actors/thread/state.js'
import type { Backend } from '../../../../src/backend/port.js'
import type { Message } from '../../../../src/core/records/message.js'
import type { ThreadRecord } from '../../../../src/core/records/record.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import type { Thread } from '../../../../src/runtime/handles/thread.js'
import { readMessagePage } from '../../../../src/runtime/watch/message-pages.js'
import { chainStart, pack } from '../../../../src/runtime/journal/journal.js'
import { toThreadInfo } from '../../../../src/runtime/watch/directory/thread-info.js'
import { headOf } from '../../../../src/runtime/resident/head.js'
import { collect } from '../../../helpers/deferred.js'
import { happenings, live } from '../../../helpers/life.js'
import { times } from '../../../helpers/soak.js'
import { onEveryStore } from '../../../helpers/world.js'

/** Records that are committed together. */
const together = 3

/** Stores a life as the journal of a thread. */
async function store(backend: Backend, thread: string, records: readonly ThreadRecord[]): Promise<void> {
  const lease = await backend.leases.acquire(backend.leases.partitionOf(thread))
  if (!lease) throw new Error('someone else has the partition')
  const state = createState(thread)
  let chain = chainStart
  for (let first = 0; first < records.length; first += together) {
    const some = records.slice(first, first + together)
    const expected = state.seq
    for (const record of some) fold(state, record)
    const entry = pack(some, chain)
    chain = entry.hash
    await backend.commit({ thread, expected, epoch: lease.epoch, entry, head: headOf(state), sends: [], done: [] })
  }
  await lease.release()
}

interface EndedTurn {
  readonly run: string
  readonly messages: readonly Message[]
}

/**
 * The first turn of each run that has ended, with what it added to the transcript. Where a message joined a turn and
 * was read in a later one, its id stands for the turn that it joined.
 */
function endedTurns(records: readonly ThreadRecord[]): readonly EndedTurn[] {
  const state = createState('t')
  const seen = new Set(
    records.flatMap((record) =>
      record.type === 'message.received' && record.run !== undefined && record.run !== record.id ? [record.id] : [],
    ),
  )
  const turns: EndedTurn[] = []
  let from = 0
  for (const record of records) {
    const { turn } = state
    if (!turn) from = state.transcript.items.length
    fold(state, record)
    if (!turn || state.turn === turn) continue
    if (!seen.has(turn.run)) turns.push({ run: turn.run, messages: state.transcript.items.slice(from) })
    seen.add(turn.run)
  }
  return turns
}

async function checkTurn(thread: Thread, { run: id, messages }: EndedTurn): Promise<void> {
  const run = thread.run(id)
  expect(await collect(run.messagesStream)).toEqual(messages)
  const made = await run.toolCalls()
  const results = messages.filter(({ role }) => role === 'tool')
  expect(made.map((call) => call.id).toSorted()).toEqual(results.map(({ call }) => call).toSorted())
  for (const { call, failed } of results) {
    const outcome = made.find((each) => each.id === call)?.outcome
    expect(outcome?.ok ? undefined : outcome?.failure).toEqual(failed)
  }
  const changes = await collect(run.view())
  expect(changes.flatMap((change) => change.messages)).toEqual(messages)
  expect(changes.flatMap(({ calls }) => calls.filter(({ outcome }) => outcome)).map((call) => call.id)).toEqual(
    (await collect(run.toolCallsStream)).map((call) => call.id),
  )
  expect(changes.at(-1)?.result).toEqual(await run.result())
}

/** MP1, with slices so short that most pages are read from a part of the journal. */
async function checkPages(backend: Backend, thread: Thread): Promise<void> {
  for (const silent of ['show', 'hide'] as const) {
    const pages: Message[] = []
    for (let before = Infinity, more = true; more;) {
      const page = (await readMessagePage(backend, thread.id, { before, limit: 2, silent, slice: 6 })) ?? []
      pages.unshift(...page.map(({ seq: _, ...message }) => message))
      before = page[0]?.seq ?? 0
      more = page.length > 0
    }
    expect(pages).toEqual(await thread.messages({ silent }))
  }
}

onEveryStore('what reads a thread', (world) => {
  it('R1, MP1: agrees with its transcript, whatever its life was', async () => {
    const backend = await world.store.source.open('host')
    const client = await connectSkein({ backend: world.store.source, clock: world.clock })
    let lives = 0
    await fc.assert(
      fc.asyncProperty(happenings, async (all) => {
        const id = `life${++lives}`
        const records = live(all).records.map((record) =>
          record.type === 'thread.created' ? { ...record, path: [id] } : record,
        )
        await store(backend, id, records)
        const thread = await client.threads.get(id)
        const now = await thread.view().now()
        expect(now.messages).toEqual(await thread.messages({ silent: 'show' }))
        expect(now.status).toBe(await thread.status())
        expect(now.usage).toEqual((await thread.usage()).own)
        expect(now.children.map(({ topic: _, usage: __, failure: ___, ...entry }) => entry)).toEqual(
          await thread.children(),
        )
        expect(await thread.info()).toEqual((await client.directory().list({ sort: 'newest', limit: 1 })).threads[0])
        await checkPages(backend, thread)
        for (const turn of endedTurns(records)) await checkTurn(thread, turn)
      }),
      { numRuns: times(40, 400) },
    )
    const { heads } = await backend.heads.list({})
    expect((await client.directory().list()).threads).toEqual(heads.map(toThreadInfo))
    await client.close()
    await backend.close()
  })
})
