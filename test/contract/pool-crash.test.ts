/** Workers that die, are deaf or never load: what that costs the calls on them, and the machine. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { App } from '../../src/agent/app.js'
import { createMeeting, loadPoolApp, outcomeOf, withPool } from './meeting.js'

let app: App
beforeAll(async () => {
  app = await loadPoolApp()
})

describe('60 calls, 4 of which end their worker', () => {
  it.each([
    // Two to begin with; for each guilty call the one that it shares and the one that it has alone. Some more, because
    // a busy machine may take workers for stuck.
    ['exits_later', 16],
    ['throws_later', 16],
    // Nobody knows who it was: all of them run alone, on eight workers and one for each that dies.
    ['kills_later', 24],
  ])('T14: %s costs at most %i workers, and only the guilty calls', async (bad, workers) => {
    await withPool(app, {}, async (pool) => {
      const loaded = createMeeting('app loaded')
      const meeting = createMeeting(`beside ${bad}`)
      const shares = ['one tree']
      const innocent: Promise<unknown>[] = []
      const guilty: Promise<unknown>[] = []
      for (let count = 0; count < 60; count++) {
        if (count % 15 === 7) guilty.push(outcomeOf(pool, bad, {}, { shares }))
        else innocent.push(outcomeOf(pool, 'meets', { at: `beside ${bad}` }, { shares }))
      }
      const all = Promise.all(guilty)
      // Suspects run eight at a time, so the innocent must not wait for the guilty.
      await meeting.arrived(20)
      meeting.go()
      expect(await all).toMatchObject(guilty.map(() => ({ ok: false, failure: { code: 'WORKER_CRASHED' } })))
      expect(await Promise.all(innocent)).toMatchObject(innocent.map(() => ({ ok: true })))
      expect(loaded.here).toBeLessThanOrEqual(workers)
      loaded.go()
    })
  })
})

it('a call that other calls cost its worker again and again runs alone in the end', async () => {
  await withPool(app, { threads: 1 }, async (pool) => {
    const meeting = createMeeting('long')
    const long = outcomeOf(pool, 'meets', { at: 'long' })
    for (let begun = 1; begun <= 5; begun++) {
      await meeting.arrived(begun)
      expect(await outcomeOf(pool, 'exits_later')).toMatchObject({ failure: { code: 'WORKER_CRASHED' } })
    }
    await meeting.arrived(6)
    // In company with nobody: this one costs it nothing.
    expect(await outcomeOf(pool, 'exits_later')).toMatchObject({ failure: { code: 'WORKER_CRASHED' } })
    meeting.go()
    expect(await long).toEqual({ ok: true, value: 'met at long' })
    expect(meeting.here).toBe(6)
  })
})

it('an app that never finishes loading in a worker is not loaded after a while, with advice', async () => {
  const module = new URL('./fixtures/never-loads.mjs', import.meta.url).href
  await withPool({ ...app, module }, { threads: 1, loadMs: 300 }, async (pool) => {
    const notLoaded = { code: 'APP_NOT_LOADED', message: expect.stringMatching(/within 300 ms.*top-level await/) }
    expect(await outcomeOf(pool, 'where')).toMatchObject({ ok: false, failure: notLoaded })
    expect(await pool.loads?.()).toMatchObject(notLoaded)
  })
})

it.each([3, 4, 5])('a body that closes descriptor %i, a line to the host, costs its worker at once', async (fd) => {
  await withPool(app, { threads: 1 }, async (pool) => {
    const meeting = createMeeting(`beside ${fd}`)
    const beside = outcomeOf(pool, 'meets', { at: `beside ${fd}` })
    await meeting.arrived(1)
    expect(await outcomeOf(pool, 'closes', { fd })).toMatchObject({
      ok: false,
      failure: { code: 'WORKER_CRASHED', message: expect.stringContaining(fd === 4 ? 'died' : `descriptor ${fd}`) },
    })
    await meeting.arrived(2)
    meeting.go()
    expect(await beside).toMatchObject({ ok: true })
  })
})
