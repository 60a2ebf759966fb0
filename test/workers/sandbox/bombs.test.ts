import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { describe, expect, it } from 'vitest'
import { createRunCode } from '../../../workers/sandbox/run-code.js'
import { times } from '../../helpers/soak.js'
import { memoryBombs, stackBombs, timeBombs } from './fixtures/sources.js'
import { limitOf } from '../../helpers/contention.js'

const runCode = createRunCode()
const megabytes = (): number => process.memoryUsage().rss / 2 ** 20

async function expectAlive(): Promise<void> {
  expect(await runCode('export default 6 * 7')).toMatchObject({ status: 'success', result: 42 })
}

describe('memory', () => {
  it.each(Object.entries(memoryBombs))('X1: %s ends as `memory` and the next run works', async (_name, source) => {
    const before = megabytes()
    for (const memoryLimitBytes of [2 ** 20, 16 * 2 ** 20, 64 * 2 ** 20]) {
      expect(await runCode(source, { memoryLimitBytes, timeoutMs: 15_000 })).toMatchObject({
        status: 'memory',
        error: { message: `the code needed more than its ${memoryLimitBytes} bytes of memory` },
      })
    }
    // One engine of 64 MB, and what V8 has not collected yet of others.
    expect(megabytes() - before).toBeLessThan(250)
    await expectAlive()
  })

  it('a limit is what the code can use, give or take its rounding', async () => {
    const fill =
      'const a = []; let n = 0; try { for (;; n++) a.push(new Uint8Array(1 << 16).fill(1)) } catch {} a.length = ' +
      '0; export default n / 16'
    for (const limit of [2, 8, 32, 128]) {
      const { result } = await runCode(fill, { memoryLimitBytes: limit * 2 ** 20 })
      expect(result).toBeGreaterThan(limit * 0.9 - 1)
      expect(result).toBeLessThan(limit + 1)
    }
  })

  it('the memory of ended runs is released', async () => {
    const before = megabytes()
    let most = 0
    for (let run = 0; run < times(40, 200); run++) {
      const { status } = await runCode('new Uint8Array(24 << 20).fill(1)')
      expect(status).toBe('success')
      most = Math.max(most, megabytes())
    }
    // Kept, they would be 960 MB.
    expect(most - before).toBeLessThan(500)
  })

  it.each([
    ['the source', `export default '${'x'.repeat(3e6)}'`, {}],
    ['a module', 'import "big"', { modules: { big: `'${'x'.repeat(3e6)}'` } }],
    ['a global', 'export default 1', { globals: { big: 'x'.repeat(3e6) } }],
    ['the value of a host function', 'import { big } from "host"; big()', { imports: { big: () => 'x'.repeat(3e6) } }],
    [
      'the value of an async host function',
      'import { big } from "host"; await big()',
      { imports: { big: async () => 'x'.repeat(3e6) } },
    ],
  ])('%s that is larger than the memory ends as `memory`', async (_name, source, options) => {
    expect(await runCode(source, { ...options, memoryLimitBytes: 2 ** 20 })).toMatchObject({ status: 'memory' })
  })

  it('code that lets go of its memory in time goes on', async () => {
    const source =
      'let a = []; try { for (;;) a.push(new Uint8Array(1 << 20)) } catch (e) { a = undefined; report(String(e)) ' +
      '} export default "on"'
    expect(await runCode(source)).toMatchObject({
      status: 'success',
      result: 'on',
      reports: ['InternalError: out of memory'],
    })
    expect(await runCode('throw null')).toMatchObject({ status: 'error', error: { message: 'thrown value: null' } })
  })
})

describe('time', () => {
  it.each(Object.entries(timeBombs))('X1, SM2: %s ends as `timeout` and the next run works', async (_name, source) => {
    const limit = limitOf(2_000)
    const { status, durationMs, error } = await runCode(source, { timeoutMs: 150 })
    expect({ status, error }).toEqual({
      status: 'timeout',
      error: { name: 'TimeoutError', message: 'the code did not end within 150 ms' },
    })
    expect(durationMs).toBeGreaterThanOrEqual(150)
    expect(durationMs).toBeLessThan(limit())
    await expectAlive()
  })

  it('the clock is the one that was given', async () => {
    let at = 0
    const run = createRunCode({ now: () => at })('import { pass } from "host"; pass(); for (;;);', {
      timeoutMs: 60_000,
      imports: { pass: () => void (at += 61_000) },
    })
    expect(await run).toMatchObject({ status: 'timeout', durationMs: 61_000 })
  })

  it('a host function that never settles ends by the time-out', async () => {
    const never = new Promise<never>(() => undefined)
    expect(
      await runCode('import { never } from "host"; await never()', { timeoutMs: 50, imports: { never: () => never } }),
    ).toMatchObject({ status: 'timeout' })
  })

  it('a promise that nothing can settle is an error at once', async () => {
    expect(await runCode('await new Promise(() => {})', { timeoutMs: 60_000 })).toMatchObject({
      status: 'error',
      error: { message: 'the code awaits a promise that nothing can settle' },
    })
  })
})

describe('the stack', () => {
  it.each(Object.entries(stackBombs))('X1: %s is an error and no crash', async (_name, source) => {
    expect(await runCode(source, { timeoutMs: 60_000 })).toMatchObject({
      status: 'error',
      error: { message: expect.stringContaining('stack overflow') },
    })
    await expectAlive()
  })

  it.each([
    ['(', '1', ')'],
    ['a =>', '1', ''],
    ['let x: A<', 'B', '>'],
    ['function f() {', '', '}'],
    ['a<', '1', ''],
  ])('TypeScript nested by %s is an error and no crash', async (open, middle, close) => {
    const source = open.repeat(60_000) + middle + close.repeat(60_000)
    const { status } = await runCode(source, { language: 'ts', timeoutMs: 3_000 })
    expect(['error', 'timeout']).toContain(status)
    await expectAlive()
  })
})

it('X1: in a worker thread every bomb is stopped and the thread serves the next call', async () => {
  const groups = [
    { status: 'memory', sources: memoryBombs, timeoutMs: 10_000 },
    { status: 'timeout', sources: timeBombs, timeoutMs: 150 },
    { status: 'error', sources: stackBombs, timeoutMs: 10_000 },
  ]
  const bombs = groups.flatMap(({ status, sources, timeoutMs }) =>
    Object.entries(sources).map(([name, source]) => ({ name, source, timeoutMs, status })),
  )
  const before = megabytes()
  const worker = new Worker(new URL('./fixtures/bombs.mjs', import.meta.url), { workerData: bombs })
  const [told] = (await once(worker, 'message')) as [
    { name: string; main: boolean; bomb: string; good: unknown; megabytes: number }[],
  ]
  expect(told.map(({ megabytes: _, ...rest }) => rest)).toEqual(
    bombs.map(({ name, status }) => ({ name, main: false, bomb: status, good: 42 })),
  )
  expect(Math.max(...told.map((one) => one.megabytes)) - before).toBeLessThan(500)
  await worker.terminate()
})
