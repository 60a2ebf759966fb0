/** How the heads of a local store are followed: in turns of the event loop, and by what has changed alone. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Libsql from 'libsql'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { Database } from '../../../src/backend/local/database/driver.js'
import { LocalHeadFollower } from '../../../src/backend/local/database/follow-heads.js'
import { openForOwner } from '../../../src/backend/local/database/schema.js'
import { local } from '../../../src/backend/local/local.js'
import { isObject } from '../../../src/core/json.js'
import { commit } from '../../contract/entries.js'

let dir = ''
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'skein-heads-'))
})
afterEach(async () => {
  await rm(dir, { recursive: true, force: true })
})

it('threads that are there are read some at a time, with a turn of the event loop after each', async () => {
  const threads = 1_000
  const backend = await local(dir).open('host')
  await Promise.all(Array.from({ length: threads }, (_, n) => backend.commit(commit(`t${n}`, 0))))
  let [told, most, before] = [0, 0, 0]
  const follower = backend.heads.follow(() => told++)
  let isReady = false
  const look = (): void => {
    most = Math.max(most, told - before)
    before = told
    if (!isReady) setImmediate(look)
  }
  setImmediate(look)
  await follower.ready
  isReady = true
  expect(told).toBe(threads)
  expect(most).toBeLessThanOrEqual(200)
  follower.stop()
  await backend.close()
})

it('what has changed is found by its position: no read goes through the whole journal', async () => {
  const database = await openForOwner(join(dir, 'skein.db'), 'process')
  const asked: string[] = []
  const watched: Database = {
    exec: (sql) => database.exec(sql),
    write: (sql) => database.write(sql),
    pragma: (words) => database.pragma(words),
    close: () => database.close(),
    query(sql) {
      asked.push(sql)
      return database.query(sql)
    },
  }
  const open = { database: watched, bell: () => () => undefined, assertOpen: () => undefined }
  const follower = new LocalHeadFollower(open, () => undefined)
  await follower.ready
  // Not by our own driver, which gives no text (DR3).
  const explaining = new Libsql(join(dir, 'skein.db'))
  const steps = asked.flatMap((sql) => {
    const rows: unknown[] = explaining.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...(sql.includes('?') ? [1] : []))
    return rows.map((row) => (isObject(row) ? row['detail'] : undefined)).filter((step) => typeof step === 'string')
  })
  explaining.close()
  expect(steps).toContain('SEARCH journal USING INTEGER PRIMARY KEY (rowid>?)')
  expect(steps.filter((step) => step.startsWith('SCAN journal'))).toEqual([])
  follower.stop()
  database.close()
})
