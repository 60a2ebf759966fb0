/** What gets out of worker threads besides results: prints, last words; and what gets in: the environment. */
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import type { App } from '../../src/agent/app.js'
import type { ToolOutput } from '../../src/pool/port.js'
import { until } from '../helpers/deferred.js'
import { createMeeting, loadPoolApp, outcomeOf, withPool } from './meeting.js'

let app: App
beforeAll(async () => {
  app = await loadPoolApp()
})
afterEach(() => void vi.restoreAllMocks())

const token = 'sk-hunter2hunter2'
const env = { TOKEN: token }

/** What the process prints meanwhile. */
function printed(stream: NodeJS.WriteStream): string[] {
  const all: string[] = []
  vi.spyOn(stream, 'write').mockImplementation((chunk) => {
    all.push(String(chunk))
    return true
  })
  return all
}

const logs = (heard: readonly ToolOutput[]): string[] =>
  heard.flatMap((what) => (what.type === 'log' ? [what.text] : []))

describe('prints', () => {
  it('what a body prints is its log, also while others run on the same thread; stdout is left alone', async () => {
    const out = printed(process.stdout)
    await withPool(app, { threads: 1 }, async (pool) => {
      const meeting = createMeeting('prints')
      const one: ToolOutput[] = []
      const two: ToolOutput[] = []
      const calls = [
        outcomeOf(pool, 'prints', { say: 'one', at: 'prints' }, { heard: one }),
        outcomeOf(pool, 'prints', { say: 'twice', at: 'prints' }, { heard: two }),
      ]
      await meeting.arrived(2)
      meeting.go()
      expect(await Promise.all(calls)).toEqual([
        { ok: true, value: 'one' },
        { ok: true, value: 'twice' },
      ])
      expect(logs(one)).toEqual(['one { n: 1 }', 'one later', '3', 'one bytes'])
      expect(logs(two)).toEqual(['twice { n: 1 }', 'twice later', '5', 'twice bytes'])
    })
    expect(out.join('')).not.toMatch(/one|twice/)
  })

  it('a generator prints in its place', async () => {
    await withPool(app, { threads: 1 }, async (pool) => {
      const heard: ToolOutput[] = []
      await outcomeOf(pool, 'prints_events', {}, { heard })
      expect(heard.map((what) => (what.type === 'log' ? what.text : what.event))).toEqual([
        '1',
        { n: 1 },
        '2',
        { n: 2 },
      ])
    })
  })

  it('F3: prints are masked and bounded like any log', async () => {
    await withPool(app, { threads: 1 }, async (pool) => {
      const heard: ToolOutput[] = []
      await outcomeOf(pool, 'prints_secret', {}, { env, heard })
      expect(logs(heard)).toEqual(['token [redacted]'])
      const much: ToolOutput[] = []
      await outcomeOf(pool, 'prints_much', {}, { heard: much })
      expect(much.length).toBeLessThan(5_000)
      expect(logs(much).filter((text) => text.includes('dropped'))).toHaveLength(1)
    })
  })

  it('F3, WT3: what is printed when its call is over goes to the stderr of the host, without the secrets of the thread', async () => {
    await withPool(app, { threads: 1 }, async (pool) => {
      const meeting = createMeeting('when over')
      const heard: ToolOutput[] = []
      expect(await outcomeOf(pool, 'prints_when_over', { at: 'when over' }, { env, heard })).toMatchObject({ ok: true })
      await meeting.arrived(1)
      const errors = printed(process.stderr)
      meeting.go()
      await until(
        'the print',
        async () => (await outcomeOf(pool, 'where')).ok && errors.join('').includes('left behind'),
      )
      expect(errors.join('')).toContain('[worker] left behind\n[worker] [redacted]\n')
      expect(heard).toEqual([])
    })
  })
})

it('a rejection that nobody awaits is told with the name of its tool, and costs nobody anything', async () => {
  await withPool(app, { threads: 1 }, async (pool) => {
    const meeting = createMeeting('left')
    const errors = printed(process.stderr)
    expect(await outcomeOf(pool, 'leaves_rejection', { at: 'left' })).toMatchObject({ ok: true })
    const before = await outcomeOf(pool, 'where')
    meeting.go()
    await until('the word', async () => (await outcomeOf(pool, 'where')).ok && errors.join('').includes('left behind'))
    expect(errors.join('')).toContain(
      '[worker] leaves_rejection left a promise that nobody awaits, and it was rejected: Error: left behind',
    )
    expect(await outcomeOf(pool, 'where')).toEqual(before)
  })
})

describe('last words', () => {
  it.each(['crashes', 'crashes_when_over'] as const)(
    'F3, WT3: what a thread dies of (%s) is told without the secrets of all that it had',
    async (tool) => {
      await withPool(app, { threads: 1 }, async (pool) => {
        const meeting = createMeeting(tool)
        const guilty = outcomeOf(pool, tool, { at: tool }, { env })
        await meeting.arrived(1)
        const other = createMeeting('effect beside')
        const beside = outcomeOf(pool, 'effect', { at: 'effect beside' })
        await other.arrived(1)
        meeting.go()
        const said = tool === 'crashes' ? 'RangeError: crash [redacted]' : 'crash [redacted]'
        expect(await beside).toMatchObject({
          failure: { code: 'WORKER_CRASHED', message: expect.stringContaining(`died: ${said}`) },
        })
        const own = {
          crashes: { failure: { message: expect.stringContaining(said) } },
          crashes_when_over: { ok: true },
        }
        expect(await guilty).toMatchObject(own[tool])
        other.go()
      })
    },
  )

  it.each(['bombs', 'shares', 'guests'])('T14: too much memory (%s) is told in plain words', async (tool) => {
    await withPool(app, { threads: 1 }, async (pool) => {
      expect(await outcomeOf(pool, tool)).toMatchObject({
        failure: {
          code: 'WORKER_CRASHED',
          // Which one depends on who looks first, its own heartbeat or the host.
          message: expect.stringMatching(/died: it (?:had \d+ MB of memory in buffers|ran out of memory)/),
        },
      })
    })
  })

  it('shared memory that was thrown away is not held against a body', async () => {
    await withPool(app, { threads: 1 }, async (pool) => {
      expect(await outcomeOf(pool, 'shared_garbage')).toEqual({ ok: true, value: 400_000_000 })
    })
  })
})

it('F3: a body finds nothing of the environment of the host but what Node needs', async () => {
  process.env['SKEIN_TEST_TOKEN'] = token
  process.env['NODE_AUTH_TOKEN'] = token
  process.env['NODE_TEST_NAME'] = 'kept'
  try {
    await withPool(app, { threads: 1 }, async (pool) => {
      const found = await outcomeOf(pool, 'looks_around')
      expect(found).toMatchObject({ value: { PATH: process.env['PATH'], NODE_TEST_NAME: 'kept' } })
      expect(JSON.stringify(found)).not.toContain(token)
      const names = found.ok && typeof found.value === 'object' ? Object.keys(found.value ?? {}) : []
      expect(names.filter((name) => !/^(?:PATH|HOME|LANG|LC_ALL|TZ|TMPDIR|TEMP|TMP|NODE_.*)$/.test(name))).toEqual([])
    })
  } finally {
    for (const name of ['SKEIN_TEST_TOKEN', 'NODE_AUTH_TOKEN', 'NODE_TEST_NAME']) delete process.env[name]
  }
})

it('F3: what the app names is there too; all is all but the key of Skein', async () => {
  const given = { SKEIN_TEST_URL: 'db://here', SKEIN_TEST_OTHER: 'other', SKEIN_KEY: token }
  Object.assign(process.env, given)
  try {
    await withPool(app, { threads: 1, env: ['SKEIN_TEST_URL'] }, async (pool) => {
      const found = await outcomeOf(pool, 'looks_around')
      expect(found).toMatchObject({ value: { SKEIN_TEST_URL: 'db://here' } })
      expect(found).not.toMatchObject({ value: { SKEIN_TEST_OTHER: 'other' } })
    })
    await withPool(app, { threads: 1, env: 'inherit' }, async (pool) => {
      const found = await outcomeOf(pool, 'looks_around')
      expect(found).toMatchObject({ value: { SKEIN_TEST_URL: 'db://here', SKEIN_TEST_OTHER: 'other' } })
      expect(JSON.stringify(found)).not.toContain(token)
    })
  } finally {
    for (const name of Object.keys(given)) delete process.env[name]
  }
})
