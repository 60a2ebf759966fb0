/**
 * Finds the result of one call in a journal that is not loaded: steps only grow with records, so the step is found by
 * halving, and a few entries are read however long the journal is.
 *
 * - What one record says by itself is taken from it. Where the fold of more than the step decides (a child's answer, a
 *   result from the cache, a call that a person denied) the whole journal is folded.
 */
import { fold } from '../../../actors/thread/fold.js'
import { createState } from '../../../actors/thread/state.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Journal } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import { callId, failureText, resultText } from '../../core/records/message.js'
import type { Message } from '../../core/records/message.js'
import type { CallReturned, ThreadRecord } from '../../core/records/record.js'
import { decode } from './journal.js'

/** Entries that are read at once. */
const batchSize = 16

type JournalReader = Pick<Journal, 'read'>

interface CallAt {
  readonly step: number
  readonly index: number
}

/** The message with the result; undefined where there was no such call. */
export async function findResult(
  journal: JournalReader,
  { id, seq, lineage }: Pick<ThreadState, 'id' | 'seq' | 'lineage'>,
  call: CallAt,
): Promise<Message | undefined> {
  const begin = await beginOf(journal, { id, seq }, call.step)
  let replied: Extract<ThreadRecord, { readonly type: 'model.replied' | 'calls.made' }> | undefined
  let returned: (CallReturned & { readonly at: number }) | undefined
  for await (const record of recordsFrom(journal, id, begin)) {
    if (isStep(record)) {
      if (record.step > call.step) break
      if (record.step === call.step) replied = record
    } else if (isAbout(record, call)) {
      if (record.type === 'call.returned') returned = record
      else if (!isHarmless(record)) return fromFold(journal, id, call)
    }
  }
  const recorded = replied?.calls[call.index]
  // A fork has earlier steps in the past that it began with.
  if (!replied || !recorded) return lineage.from && fromFold(journal, id, call)
  if (!returned || recorded.child) return fromFold(journal, id, call)
  const { side } = replied
  return { ...resultOf(returned, call), tool: recorded.tool, ...defined({ side }) }
}

function resultOf({ outcome, text, at }: CallReturned & { readonly at: number }, { step, index }: CallAt): Message {
  return {
    id: `result_${step}_${index}`,
    role: 'tool',
    call: callId(step, index),
    text: text ?? (outcome.ok ? resultText(outcome.value) : failureText(outcome.failure)),
    at,
  }
}

const harmless: ReadonlySet<ThreadRecord['type']> = new Set(['call.began', 'call.unbegun', 'call.tried', 'call.parked'])

/** A record about a call that does not change what its result is; after a stale run it returns again. */
function isHarmless(record: ThreadRecord): boolean {
  if (record.type === 'call.settled') return record.verdict === 'kept' || record.verdict === 'stale'
  return harmless.has(record.type)
}

function isStep(
  record: ThreadRecord,
): record is Extract<ThreadRecord, { readonly type: 'model.replied' | 'calls.made' }> {
  return record.type === 'model.replied' || record.type === 'calls.made'
}

function isAbout(record: ThreadRecord, { step, index }: CallAt): boolean {
  return 'index' in record && 'step' in record && record.step === step && record.index === index
}

/** A record at or before the one that begins the step, with no step in between. */
async function beginOf(
  journal: JournalReader,
  { id, seq }: Pick<ThreadState, 'id' | 'seq'>,
  step: number,
): Promise<number> {
  let before = 0
  let after = seq
  while (after - before > batchSize) {
    const middle = Math.floor((before + after) / 2)
    const next = await firstStep(journal, id, middle)
    if (next !== undefined && next < step) before = middle
    else after = middle
  }
  return before
}

/** The first step that begins after a record. */
async function firstStep(journal: JournalReader, id: string, after: number): Promise<number | undefined> {
  for await (const record of recordsFrom(journal, id, after)) if (isStep(record)) return record.step
  return undefined
}

async function* recordsFrom(journal: JournalReader, id: string, from: number): AsyncGenerator<ThreadRecord> {
  for (let after = from; ;) {
    const entries = await journal.read(id, { after, limit: batchSize })
    for (const entry of entries) for (const record of decode(id, entry)) if (record.seq > from) yield record
    const last = entries.at(-1)
    if (!last) return
    after = last.first + last.count - 1
  }
}

async function fromFold(journal: JournalReader, id: string, { step, index }: CallAt): Promise<Message | undefined> {
  const state = createState(id)
  for await (const record of recordsFrom(journal, id, 0)) fold(state, record)
  return state.transcript.items.find(({ call }) => call === callId(step, index))
}
