/**
 * What became of a run, compared with the quiet one: transcripts, journals, mail and rest. Owns nothing; it only reads.
 *
 * - Every thread of the quiet run is there, with the same transcript (so results are in call order), and no other.
 * - Every journal is whole: its records follow one another and its hash chain holds.
 * - When all is done no mail is left and no thread has anything to do.
 */
import { readFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Backend } from '../../src/backend/port.js'
import type { Message } from '../../src/core/records/message.js'
import type { ThreadRecord } from '../../src/core/records/record.js'
import { isObject } from '../../src/core/json.js'
import type { SkeinClient } from '../../src/runtime/handles/client.js'
import { chainStart, createEntryReader } from '../../src/runtime/journal/journal.js'
import { pauseFor } from './flock.js'
import { answeredKey } from './ledger.js'
import type { Answered } from './ledger.js'

type Said = Omit<Message, 'at'>

export interface End {
  readonly agent: string
  readonly status: string
  readonly messages: readonly Said[]
}

export type Ends = Readonly<Record<string, End>>

const endsSchema = z.record(
  z.string(),
  z.object({ agent: z.string(), status: z.string(), messages: z.array(z.custom<Said>()) }),
)

export async function readQuiet(path: string): Promise<Ends> {
  return endsSchema.parse(JSON.parse(await readFile(path, 'utf8')))
}

/** At most this many are asked at once. */
const atOnce = 8

async function forEach<Item>(items: readonly Item[], each: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items]
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) await each(next)
    }),
  )
}

async function threadsOf(
  { threads }: SkeinClient,
  root: string,
): Promise<{ id: string; agent: string; status: string }[]> {
  const all: { id: string; agent: string; status: string }[] = []
  for (let cursor: string | undefined, more = true; more;) {
    const page = await threads.list({ root, ...(cursor !== undefined && { cursor }) })
    for (const { thread: id, agent, status } of page.threads) all.push({ id, agent, status })
    cursor = page.next
    more = cursor !== undefined
  }
  return all
}

const isUnknown = ({ failed }: Said): boolean => failed?.code === 'EFFECT_UNKNOWN'

export async function judgeTranscripts(client: SkeinClient, root: string, quiet: Ends): Promise<string[]> {
  const wrong: string[] = []
  const found = await threadsOf(client, root)
  const ids = new Set(found.map(({ id }) => id))
  if (ids.size !== found.length) wrong.push(`${found.length - ids.size} threads are listed twice`)
  for (const id of Object.keys(quiet)) if (!ids.has(id)) wrong.push(`thread ${id} (${quiet[id]?.agent}) is lost`)
  await forEach(found, async ({ id, agent, status }) => {
    const wanted = quiet[id]
    if (!wanted) return void wrong.push(`thread ${id} (${agent}) is not of the quiet run`)
    const messages = await (await client.threads.get(id)).messages({ limit: 10_000 })
    const said = messages.map(({ at: _, ...rest }: Message, index) =>
      rest.tool === 'pay' && isUnknown(rest) ? wanted.messages[index] : rest,
    )
    const same =
      agent === wanted.agent &&
      status === wanted.status &&
      isDeepStrictEqual(JSON.parse(JSON.stringify(said)), wanted.messages)
    if (!same)
      wrong.push(
        `thread ${id} (${agent}, ${status}) came to another end than in the quiet run: ` +
          `${firstDifference(said, wanted.messages)}`,
      )
  })
  return wrong
}

function firstDifference(said: readonly (Said | undefined)[], wanted: readonly Said[]): string {
  const index = Array.from({ length: Math.max(said.length, wanted.length) }, (_, n) => n).find(
    (n) => !isDeepStrictEqual(JSON.parse(JSON.stringify(said[n] ?? null)), wanted[n] ?? null),
  )
  return index === undefined
    ? 'its status'
    : `message ${index} is ${JSON.stringify(said[index])?.slice(0, 300)} and not ` +
        `${JSON.stringify(wanted[index])?.slice(0, 300)}`
}

/** XV2; and which calls are answered, by thread, tool and order. */
export async function judgeJournals(
  { journal }: Backend,
  threads: readonly string[],
): Promise<{ readonly wrong: string[]; readonly answered: ReadonlyMap<string, Answered> }> {
  const wrong: string[] = []
  const answered = new Map<string, Answered>()
  await forEach(threads, async (thread) => {
    try {
      const reader = createEntryReader(thread, { seq: 0, chain: chainStart })
      const records = (await journal.read(thread)).flatMap((entry) => reader.unpack(entry))
      for (const [key, answer] of answersIn(thread, records)) answered.set(key, answer)
    } catch (thrown) {
      wrong.push(`${String(thrown)}`)
    }
  })
  return { wrong, answered }
}

function answersIn(thread: string, records: readonly ThreadRecord[]): Map<string, Answered> {
  const asked = new Map<string, string>()
  const answers = new Map<string, Answered>()
  for (const record of records) {
    if (record.type === 'model.replied') {
      for (const [index, { tool, args }] of record.calls.entries())
        if (isObject(args) && typeof args['of'] === 'string')
          asked.set(`${record.step} ${index}`, answeredKey({ thread, tool, of: args['of'] }))
    } else if (record.type === 'call.returned') {
      const key = asked.get(`${record.step} ${record.index}`)
      const { outcome } = record
      if (key !== undefined)
        answers.set(key, { at: record.at, unknown: !outcome.ok && outcome.failure.code === 'EFFECT_UNKNOWN' })
    }
  }
  return answers
}

/** Within a deadline, since the last of it is done after the answer. */
export async function judgeRest({ mailbox, heads }: Backend, withinMs: number): Promise<string[]> {
  const stepMs = 100
  for (let left = withinMs; ; left -= stepMs) {
    const [mail, restless] = [await mailbox.waiting(), await heads.restless()]
    if (mail.length === 0 && restless.length === 0) return []
    if (left <= 0)
      return [
        ...mail.map((thread) => `thread ${thread} has mail`),
        ...restless.map(({ thread, status }) => `thread ${thread} (${status}) is restless`),
      ]
    await pauseFor(stepMs)
  }
}
