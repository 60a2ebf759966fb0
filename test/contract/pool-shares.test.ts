/** Who shares the places of the pool: trees, and what a tag holds together. */
import { beforeAll, expect, it } from 'vitest'
import type { App } from '../../src/agent/app.js'
import type { Pool, Returned } from '../../src/pool/port.js'
import { jobFor } from './job.js'
import { createMeeting, loadPoolApp, withPool } from './meeting.js'

let app: App
beforeAll(async () => {
  app = await loadPoolApp()
})

const run = (pool: Pool, shares: readonly string[], ...job: Parameters<typeof jobFor>): Promise<Returned> =>
  pool.run({ ...jobFor(...job), shares })

it.each([
  ['meets', 'where', 32],
  ['effect', 'effect_blocks', 32],
])('calls of one tree (%s) that take all places do not hold up another (%s)', async (tool, other, places) => {
  await withPool(app, { threads: 1 }, async (pool) => {
    const meeting = createMeeting(`all of ${tool}`)
    const sleeping = Array.from({ length: places + 20 }, () => run(pool, ['greedy'], tool, { at: `all of ${tool}` }))
    await meeting.arrived(places)
    for (const tree of ['a', 'b', 'a'])
      expect((await run(pool, [tree], other, { at: 'passing', ms: 1 })).outcome).toMatchObject({ ok: true })
    expect(meeting.here).toBe(places)
    meeting.go()
    expect((await Promise.all(sleeping)).every(({ outcome }) => outcome.ok)).toBe(true)
  })
})

it('trees that a tag holds together have one part of the places', async () => {
  await withPool(app, { threads: 1 }, async (pool) => {
    const meeting = createMeeting('one tag')
    const sleeping = Array.from({ length: 40 }, (_, index) =>
      run(pool, [`tree ${index}`, 'tenant:greedy'], 'meets', { at: 'one tag' }),
    )
    await meeting.arrived(32)
    expect((await run(pool, ['tree', 'tenant:modest'], 'where')).outcome).toMatchObject({ ok: true })
    expect(meeting.here).toBe(32)
    meeting.go()
    await Promise.all(sleeping)
  })
})
