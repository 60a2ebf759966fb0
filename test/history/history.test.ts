/**
 * Golden journals: what earlier record versions wrote must be read the same for ever. A file is never edited; a new
 * version adds one (record.ts).
 */
import { readFileSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { fold } from '../../actors/thread/fold.js'
import { createState, statusOf } from '../../actors/thread/state.js'
import { recordVersion } from '../../src/core/records/record.js'
import { chainStart, createEntryReader } from '../../src/runtime/journal/journal.js'

const golden = z.object({
  version: z.number(),
  thread: z.string(),
  status: z.string(),
  messages: z.array(z.unknown()),
  entries: z.array(
    z.object({
      thread: z.string(),
      position: z.number(),
      first: z.number(),
      count: z.number(),
      body: z.string(),
      hash: z.string(),
    }),
  ),
})

const files = readdirSync(new URL('.', import.meta.url)).filter((name) => name.endsWith('.json'))

test('P2: every record version up to this one has a golden journal', () => {
  expect(files.map((name) => Number.parseInt(name, 10)).toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: recordVersion }, (_, index) => index + 1),
  )
})

test.each(files)('P2: the journal %s is read as it was meant', (name) => {
  const { thread, status, messages, entries } = golden.parse(
    JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8')),
  )
  const state = createState(thread)
  const reader = createEntryReader(thread, { seq: 0, chain: chainStart })
  for (const entry of entries) for (const record of reader.unpack(entry)) fold(state, record)
  expect(statusOf(state)).toBe(status)
  expect(state.transcript.items).toEqual(messages)
})
