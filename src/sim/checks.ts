/**
 * What must hold after every simulated life of a swarm, whatever went wrong in it. Reads the store alone and gives a
 * sentence for everything that does not hold.
 */
import { isDeepStrictEqual } from 'node:util'
import { outstanding } from '../../actors/thread/outstanding.js'
import { hasEnded } from '../../actors/thread/state.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { Backend, StoredHead } from '../backend/port.js'
import { changeAmounts } from '../core/budget.js'
import { toFailure } from '../core/failure.js'
import type { Message } from '../core/records/message.js'
import type { ThreadRecord } from '../core/records/record.js'
import { decode } from '../runtime/journal/journal.js'
import { wake, wakeWhole } from '../runtime/journal/wake.js'
import { headOf } from '../runtime/resident/head.js'
import type { BodyRun } from './app.js'
import { booksOf, only } from './books.js'

/** A thread as it is in the end. */
export interface FinalThread {
  readonly head: StoredHead
  readonly state: ThreadState
  readonly records: readonly ThreadRecord[]
}

export interface Final {
  readonly threads: ReadonlyMap<string, FinalThread>
  /** What is wrong with what could not even be read. */
  readonly unreadable: readonly string[]
}

export async function readAll(backend: Backend): Promise<Final> {
  const threads = new Map<string, FinalThread>()
  const unreadable: string[] = []
  for (const head of await allHeads(backend)) {
    try {
      const { state } = await wakeWhole(backend, head.thread)
      const entries = await backend.journal.read(head.thread)
      threads.set(head.thread, { head, state, records: entries.flatMap((entry) => decode(head.thread, entry)) })
    } catch (thrown) {
      unreadable.push(`thread ${head.thread} cannot be read: ${toFailure(thrown, 'STORE_FAILED').message}`)
    }
  }
  return { threads, unreadable }
}

export async function allHeads(backend: Backend): Promise<readonly StoredHead[]> {
  const heads: StoredHead[] = []
  for (let cursor: string | undefined, more = true; more;) {
    const page = await backend.heads.list(cursor === undefined ? {} : { cursor })
    heads.push(...page.heads)
    cursor = page.next
    more = cursor !== undefined
  }
  return heads
}

export interface CheckInput {
  readonly backend: Backend
  readonly final: Final
  readonly bodies: readonly BodyRun[]
  /** Texts that no byte of the store may hold. */
  readonly secrets: readonly string[]
}

export async function checkAll(input: CheckInput): Promise<readonly string[]> {
  const { backend, final } = input
  const perThread = [...final.threads.values()].flatMap((thread) => checkThread(thread, final))
  const waiting = (await backend.mailbox.waiting()).map((thread) => `mail to thread ${thread} was never read`)
  const snapshots = await Promise.all([...final.threads.keys()].map((id) => checkSnapshot(backend, id)))
  return [
    ...final.unreadable,
    ...perThread,
    ...waiting,
    ...snapshots.flat(),
    ...checkBudgets(final),
    ...checkBodies(input.bodies),
    ...checkSecrets(input),
  ]
}

function checkThread(thread: FinalThread, final: Final): readonly string[] {
  const { head, state } = thread
  const expected = { ...headOf(state), thread: state.id, seq: state.seq }
  const broken = [
    ...(isDeepStrictEqual(plain(head), plain(expected)) ? [] : ['its head is not what its journal says']),
    ...checkRest(thread),
    ...checkTranscript(state.transcript.items),
    ...checkIntents(thread),
    ...checkFamily(thread, final),
    ...checkHeard(thread, final),
  ]
  return broken.map((text) => `thread ${state.id}: ${text}`)
}

/** Undefined fields are no fields. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

function checkRest({ head, state }: FinalThread): readonly string[] {
  if (head.rest) return []
  return [`is not at rest (${head.status}); it wants ${wantsOf(state)}`]
}

export function wantsOf(state: ThreadState): string {
  return (
    outstanding(state)
      .map(({ key }) => key)
      .join(', ') || 'nothing'
  )
}

/** M2: each call has one result, in call order, after the reply that made it. */
function checkTranscript(messages: readonly Message[]): readonly string[] {
  const open: string[] = []
  const broken: string[] = []
  for (const { role, calls = [], call: callId, id } of messages) {
    if (role === 'tool') {
      const next = open.shift()
      if (next !== callId) broken.push(`message ${id} is the result of call ${callId}, and ${next} was next`)
    }
    open.push(...calls.map((call) => call.id))
  }
  return broken
}

/** Every intent has an outcome, or its turn has ended and said so. */
function checkIntents({ records }: FinalThread): readonly string[] {
  const open = new Map<string, string>()
  for (const record of records) {
    if (record.type === 'call.began') open.set(`${record.step}/${record.index}`, 'began')
    if (record.type === 'call.returned' || record.type === 'call.settled' || record.type === 'call.unbegun') {
      open.delete(`${record.step}/${record.index}`)
    }
    if (record.type === 'turn.ended') open.clear()
  }
  return [...open.keys()].map((call) => `the effect of call ${call} was begun and has no outcome`)
}

function checkFamily({ state, head }: FinalThread, { threads }: Final): readonly string[] {
  if (head.parent === undefined) return []
  const parent = threads.get(head.parent)
  if (!parent) return [`its parent ${head.parent} is gone`]
  const broken: string[] = []
  if (hasEnded(parent.state) && !hasEnded(state)) broken.push(`its parent ${head.parent} has ended, and it has not`)
  if (hasEnded(state) && !state.parentKnowsEnd) broken.push('it has ended and its parent was not told')
  if (state.pendingReplies.length > 0 && head.pending === undefined && head.status === 'idle') {
    broken.push(`${state.pendingReplies.length} answers were never given`)
  }
  return broken
}

/** What children say is heard once, in order, and nothing of it is lost. */
function checkHeard({ state, records }: FinalThread, { threads }: Final): readonly string[] {
  const last = new Map<string, number>()
  const isFork = records[0]?.type === 'thread.based'
  const broken: string[] = []
  for (const record of records) {
    if ((record.type !== 'child.reported' && record.type !== 'child.told') || record.number === undefined) continue
    // A fork goes on with the numbers of its source.
    const next = (last.get(record.child) ?? (isFork ? record.number - 1 : 0)) + 1
    if (record.number !== next) broken.push(`it heard report ${record.number} of ${record.child}; ${next} was next`)
    last.set(record.child, Math.max(record.number, next))
  }
  if (hasEnded(state)) return broken
  for (const [child, number] of last) {
    const sent = threads.get(child)?.state.mailsToParent ?? number
    if (sent > number) broken.push(`it heard ${number} of the ${sent} reports of ${child}`)
  }
  return broken
}

/** BG1: what is spent, left and under way in a tree is what its root was given. */
function checkBudgets({ threads }: Final): readonly string[] {
  return [...threads.values()].flatMap(({ head, records }) => {
    const created = records.find((record) => record.type === 'thread.created')
    if (head.parent !== undefined || !created?.budget) return []
    const tree = [...threads.values()].filter((each) => each.head.root === head.thread)
    const { total, ofRoot, granted } = booksOf(tree, head.thread)
    const given = changeAmounts(created.budget, granted)
    const books = [only(given, total), only(given, ofRoot)]
    return isDeepStrictEqual(plain(books), plain([given, given]))
      ? []
      : [`the budget of tree ${head.thread} does not add up: given ${JSON.stringify(given)}, ${JSON.stringify(books)}`]
  })
}

async function checkSnapshot(backend: Backend, id: string): Promise<readonly string[]> {
  const [cached, whole] = [await wake(backend, id), await wakeWhole(backend, id)]
  const states = [cached.state, whole.state].map(({ transcript, slots, ...state }) => ({
    ...state,
    // Of a slot that was in a snapshot, what is undefined is absent.
    slots: plain(slots),
    messages: transcript.skipped + transcript.items.length,
  }))
  return isDeepStrictEqual(...(states as [unknown, unknown])) ? [] : [`thread ${id}: its snapshot is another state`]
}

/** No effect was begun twice with one key, unless it can be repeated. */
function checkBodies(bodies: readonly BodyRun[]): readonly string[] {
  const seen = new Set<string>()
  return bodies.flatMap(({ key, tool, thread, repeatable }) => {
    if (repeatable || !seen.has(key)) {
      seen.add(key)
      return []
    }
    return [`thread ${thread}: the effect of ${tool} was begun twice, and it says that it cannot be repeated`]
  })
}

/** The inbox has what threads wait for, and nothing else. */
export function checkInbox(listed: readonly { readonly id: string }[], { threads }: Final): readonly string[] {
  const expected = [...threads.values()].flatMap(({ state }) =>
    (headOf(state).pending ?? []).map(({ call }) => `${state.id}/${call}`),
  )
  const ids = listed.map(({ id }) => id)
  return isDeepStrictEqual(ids.toSorted(), expected.toSorted())
    ? []
    : [`the inbox has ${ids.join(', ') || 'nothing'}, and threads wait for ${expected.join(', ') || 'nothing'}`]
}

function checkSecrets({ final, secrets }: CheckInput): readonly string[] {
  return [...final.threads.values()].flatMap(({ head, records }) => {
    const text = JSON.stringify([head, records])
    return secrets.filter((secret) => text.includes(secret)).map(() => `thread ${head.thread} holds a secret in clear`)
  })
}
