import { getEventListeners } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { CodeRun } from '../../../src/tools/code.js'
import { createRunCode } from '../../../workers/sandbox/run-code.js'
import { deferred } from '../../helpers/deferred.js'

const never = new Promise<never>(() => undefined)
const waits = 'import { begun } from "host"; console.log("waits"); await begun(); console.log("unreachable")'
const floods = 'import { begun } from "host"; begun(); for (;;) await null'
const loops = 'import { begun } from "host"; begun(); for (;;);'

/** Runs code that calls `begun`, and does `then` when it has. */
function start(source: string, then: (run: CodeRun, abort: AbortController) => unknown): CodeRun {
  const abort = new AbortController()
  const run: CodeRun = createRunCode({ signal: abort.signal })(source, { timeoutMs: 15_000, imports: { begun: () => then(run, abort) } })
  return run
}

describe('terminate', () => {
  it('X1: ends code that awaits a host function, with the reason', async () => {
    const begun = deferred<void>()
    const run = start(waits, () => (begun.resolve(), never))
    await begun.promise
    run.terminate('enough')
    expect(await run).toMatchObject({ status: 'terminated', error: { name: 'TerminatedError', message: 'enough' }, logs: [{ text: 'waits' }] })
  })

  it('SG2: ends a flood of promises from outside', async () => {
    const run = start(floods, (self) => void setImmediate(() => self.terminate('too much')))
    expect(await run).toMatchObject({ status: 'terminated', error: { message: 'too much' } })
  })

  it('SG2: code whose last promise outlasts a slice ends when it does', async () => {
    const source = 'await null; const text = "x".repeat(4e6); export default JSON.stringify([text, text]).length'
    expect(await createRunCode()(source, { timeoutMs: 15_000 })).toMatchObject({ status: 'success', result: 8_000_007 })
  })

  it('EG2: ends a synchronous loop from a host function', async () => {
    expect(await start(loops, (run) => run.terminate('from within'))).toMatchObject({ status: 'terminated', error: { message: 'from within' } })
  })

  it('EG1: the first reason stays, and after the end it does nothing', async () => {
    const run = start(loops, (self) => (self.terminate('first'), self.terminate('second'), null))
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

describe("the call's signal", () => {
  it.each([
    ['awaits', waits, (abort: AbortController) => (setImmediate(() => abort.abort(new Error('cancelled'))), never)],
    ['floods', floods, (abort: AbortController) => void setImmediate(() => abort.abort(new Error('cancelled')))],
    ['loops', loops, (abort: AbortController) => abort.abort(new Error('cancelled'))],
  ])('X1: ends code that %s', async (_name, source, then) => {
    expect(await start(source, (_run, abort) => then(abort))).toMatchObject({ status: 'terminated', error: { message: 'cancelled' } })
  })

  it('aborted before, nothing runs', async () => {
    expect(await createRunCode({ signal: AbortSignal.abort('gone') })('console.log("ran")')).toMatchObject({ status: 'terminated', error: { message: 'gone' }, logs: [] })
  })

  it('SX2: nothing listens any more after the end', async () => {
    const { signal } = new AbortController()
    const runCode = createRunCode({ signal })
    for (const source of ['export default 1', 'throw 1', 'import "x"', 'for (;;);']) await runCode(source, { timeoutMs: 50 })
    await runCode('1', { timeoutMs: -1 })
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})
