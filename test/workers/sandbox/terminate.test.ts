import { AsyncLocalStorage } from 'node:async_hooks'
import { execFile } from 'node:child_process'
import { getEventListeners } from 'node:events'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../../src/core/json.js'
import type { CodeRun } from '../../../src/tools/code.js'
import { workerFile } from '../../../src/tools/worker-url.js'
import { createRunCode } from '../../../workers/sandbox/run-code.js'
import { deferred } from '../../helpers/deferred.js'

const never = new Promise<never>(() => undefined)
const waits = 'import { begun } from "host"; console.log("waits"); await begun(); console.log("unreachable")'
const floods = 'import { begun } from "host"; begun(); for (;;) await null'
const loops = 'import { begun } from "host"; begun(); for (;;);'

/** Runs code that calls `begun`, and does `then` when it has. */
function start(source: string, then: (run: CodeRun, abort: AbortController) => unknown): CodeRun {
  const abort = new AbortController()
  const run: CodeRun = createRunCode({ signal: abort.signal })(source, {
    timeoutMs: 15_000,
    imports: { begun: () => then(run, abort) },
  })
  return run
}

describe('terminate', () => {
  it('X1: ends code that awaits a host function, with the reason', async () => {
    const begun = deferred<void>()
    const run = start(waits, () => {
      begun.resolve()
      return never
    })
    await begun.promise
    run.terminate('enough')
    expect(await run).toMatchObject({
      status: 'terminated',
      error: { name: 'TerminatedError', message: 'enough' },
      logs: [{ text: 'waits' }],
    })
  })

  it('ends a flood of promises from outside', async () => {
    const run = start(floods, (self) => void setImmediate(() => self.terminate('too much')))
    expect(await run).toMatchObject({ status: 'terminated', error: { message: 'too much' } })
  })

  it('code whose last promise outlasts a slice ends when it does', async () => {
    const source = 'await null; const text = "x".repeat(4e6); export default JSON.stringify([text, text]).length'
    expect(await createRunCode()(source, { timeoutMs: 15_000 })).toMatchObject({ status: 'success', result: 8_000_007 })
  })

  it('ends a synchronous loop from a host function', async () => {
    expect(await start(loops, (run) => run.terminate('from within'))).toMatchObject({
      status: 'terminated',
      error: { message: 'from within' },
    })
  })

  it.each([
    ['a loop', 'for (;;);'],
    ['a loop that catches', 'for (;;) { try { for (;;); } catch {} finally { for (;;); } }'],
    ['a built-in that never asks', '[].forEach.call({ length: 2 ** 53 - 1 }, () => {})'],
  ])('X1: ends %s from outside; what was said before is there, and the next run works', async (_name, endless) => {
    const begun = deferred<void>()
    const run = start(`import { begun } from 'host'; console.log('said'); report(1); begun(); ${endless}`, () =>
      begun.resolve(),
    )
    await begun.promise
    run.terminate('enough')
    expect(await run).toMatchObject({
      status: 'terminated',
      error: { name: 'TerminatedError', message: 'enough' },
      logs: [{ text: 'said' }],
      reports: [1],
    })
    expect(await createRunCode()('export default 6 * 7')).toMatchObject({ status: 'success', result: 42 })
  })

  it('no host function begins after the end', async () => {
    const calls: Json[] = []
    const begun = deferred<void>()
    const imports = {
      count: (n: Json) => {
        calls.push(n)
        if (n === 3) begun.resolve()
      },
    }
    const run = createRunCode()('import { count } from "host"; for (let n = 0; ; n++) count(n)', {
      timeoutMs: 15_000,
      imports,
    })
    await begun.promise
    run.terminate()
    const before = calls.length
    expect(await run).toMatchObject({ status: 'terminated' })
    expect(calls).toHaveLength(before)
  })

  it('code that does nothing but call leaves the body its thread', async () => {
    let calls = 0
    let most = 0
    const flood = 'import { count } from "host"; for (;;) count()'
    const runs = Array.from({ length: 4 }, () =>
      createRunCode()(flood, { timeoutMs: 60_000, imports: { count: () => void calls++ } }),
    )
    while (calls < 20_000) {
      const before = calls
      await new Promise((resolve) => setImmediate(resolve))
      most = Math.max(most, calls - before)
    }
    for (const run of runs) run.terminate()
    for (const run of runs) expect(await run).toMatchObject({ status: 'terminated' })
    // Of one turn of the event loop. Some 350 here; heard as they come it would be ten times as many.
    expect(most).toBeLessThan(2_000)
  })

  it('a host function that loops is ended with the time, and the run with it', async () => {
    const imports = {
      loop: () => {
        for (;;);
      },
    }
    expect(await createRunCode()('import { loop } from "host"; loop()', { timeoutMs: 100, imports })).toMatchObject({
      status: 'timeout',
    })
  })

  it('the first reason stays, and after the end it does nothing', async () => {
    const run = start(loops, (self) => {
      self.terminate('first')
      self.terminate('second')
      return null
    })
    expect(await run).toMatchObject({ error: { message: 'first' } })
    run.terminate('third')
    expect(await run).toMatchObject({ error: { message: 'first' } })
    const done = createRunCode()('export default 1')
    expect(await done).toMatchObject({ status: 'success' })
    done.terminate()
    expect(await done).toMatchObject({ status: 'success' })
  })

  it('ends code that has not begun, and a long source that is still being stripped', async () => {
    for (const source of ['console.log("ran")', `console.log("ran"); [${'1,'.repeat(5_000)}]`]) {
      const run = createRunCode()(source, { language: 'ts' })
      run.terminate()
      expect(await run).toMatchObject({ status: 'terminated', error: { message: 'the run was terminated' }, logs: [] })
    }
  })
})

describe('threads', () => {
  const waitsFor = 'import { wait } from "host"; export default await wait()'

  it('a run that loops holds up nobody; more runs than threads wait for each other', async () => {
    const runCode = createRunCode()
    const loop = runCode('for (;;);', { timeoutMs: 60_000 })
    const deep = (n: number): Promise<Json | undefined> =>
      Promise.resolve(
        runCode(waitsFor, { timeoutMs: 60_000, imports: { wait: async () => (n === 0 ? 'deep' : deep(n - 1)) } }),
      ).then(({ result }) => result)
    expect(await deep(2)).toBe('deep')
    loop.terminate()
    expect(await loop).toMatchObject({ status: 'terminated' })
    expect(await deep(9)).toBe('deep')
    expect(
      await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          runCode('export default n', { globals: { n } }).then(({ result }) => result),
        ),
      ),
    ).toEqual(Array.from({ length: 40 }, (_, n) => n))
  })

  it('a host function runs as part of the call that gave it', async () => {
    const calls = new AsyncLocalStorage<string>()
    const seen = (name: string): PromiseLike<Json | undefined> =>
      calls
        .run(name, () => createRunCode()(waitsFor, { imports: { wait: () => calls.getStore() } }))
        .then(({ result }) => result)
    expect([await seen('first'), await seen('second')]).toEqual(['first', 'second'])
  })

  it('a process with nothing but idle threads ends', async () => {
    const program =
      `import { createRunCode } from ${JSON.stringify(workerFile('sandbox/run-code').href)}; ` +
      `console.log((await createRunCode()('export default 42')).result)`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program])
    expect(stdout).toBe('42\n')
  })
})

describe("the call's signal", () => {
  it.each([
    [
      'awaits',
      waits,
      (abort: AbortController) => {
        setImmediate(() => abort.abort(new Error('cancelled')))
        return never
      },
    ],
    ['floods', floods, (abort: AbortController) => void setImmediate(() => abort.abort(new Error('cancelled')))],
    ['loops', loops, (abort: AbortController) => abort.abort(new Error('cancelled'))],
    [
      'goes on to loop',
      loops,
      (abort: AbortController) => void setImmediate(() => abort.abort(new Error('cancelled'))),
    ],
  ])('X1: ends code that %s', async (_name, source, then) => {
    expect(await start(source, (_run, abort) => then(abort))).toMatchObject({
      status: 'terminated',
      error: { message: 'cancelled' },
    })
  })

  it('aborted before, nothing runs', async () => {
    expect(await createRunCode({ signal: AbortSignal.abort('gone') })('console.log("ran")')).toMatchObject({
      status: 'terminated',
      error: { message: 'gone' },
      logs: [],
    })
  })

  it('nothing listens any more after the end', async () => {
    const { signal } = new AbortController()
    const runCode = createRunCode({ signal })
    for (const source of ['export default 1', 'throw 1', 'import "x"', 'for (;;);'])
      await runCode(source, { timeoutMs: 50 })
    await runCode('1', { timeoutMs: -1 })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
