/**
 * Skein with tools on worker threads, from the build: an app that is a module (app.mjs), through the public doors; for
 * the cost of a call also its pool, which has no door of its own.
 */
import { assertEqual, assertHashes, hashesAt, prompt, text } from './work.mjs'

const app = new URL('./app.mjs', import.meta.url)

export async function adapter(dist, folder) {
  process.env.SKEIN_BENCH_DIST = dist.href
  const { stage } = await import(app.href)
  const from = (name) => import(new URL(`src/${name}.js`, dist).href)
  const { createSkein, local, memory } = await from('index')
  const opened = []

  async function open(mode, options = {}) {
    const skein = await createSkein({
      app,
      backend: mode === 'memory' ? memory() : local(folder),
      warn: fail,
      ...options,
    })
    opened.push(() => skein.close())
    return skein
  }

  /** One turn: what `callsAt` gives is called at each step, until it gives nothing. */
  async function turn(thread, callsAt) {
    let asked = 0
    stage.script = () => {
      const step = asked++
      const calls = callsAt(step)
      return calls
        ? { text, calls: calls.map((call, index) => ({ id: `c${step}-${index}`, ...call })) }
        : { text: 'done' }
    }
    const { text: said, stopReason } = await thread.send(prompt).result()
    assertEqual('text', said, 'done')
    assertEqual('stop reason', stopReason, 'completed')
  }

  async function resultsOf(thread) {
    const messages = await thread.messages({ limit: 1_000_000 })
    return messages.filter(({ role }) => role === 'tool').map(({ text: result }) => result)
  }

  return {
    open,
    async close() {
      for (const close of opened.splice(0)) await close()
    },

    /** Gives what does one turn of W2, which gives what checks it afterwards. */
    async w2(mode) {
      const skein = await open(mode)
      return async (given) => {
        const thread = await skein.threads.create({ agent: 'worker' })
        await turn(thread, (step) => hashesAt(step, given)?.map((args) => ({ tool: 'hash', args })))
        return async () => assertHashes(await resultsOf(thread), given)
      }
    },

    /** One turn of `steps` steps with `calls` calls each, every one of which must have this result. */
    async steps(skein, { steps, calls, call, result }) {
      const thread = await skein.threads.create({ agent: 'worker' })
      await turn(thread, (step) => (step < steps ? Array.from({ length: calls }, () => call(step)) : undefined))
      return async () => {
        const results = await resultsOf(thread)
        assertEqual('results', results.length, steps * calls)
        for (const each of results) assertEqual('result', each, result)
        return thread
      }
    },

    /** How many files a thread has. */
    async filesOf(thread) {
      await turn(thread, (step) => (step === 0 ? [{ tool: 'count', args: {} }] : undefined))
      return Number((await resultsOf(thread)).at(-1))
    },

    /** The pool alone: gives what runs one call, there and back. */
    async pool(threads) {
      const [{ createPool }, { loadApp }, { systemClock }, { createCancel }] = await Promise.all(
        ['pool/pool', 'runtime/app/load', 'core/clock', 'core/async/cancel'].map(from),
      )
      const pool = await createPool(await loadApp(app), { clock: systemClock, threads, graceMs: 1_000, memoryMb: 512 })
      opened.push(() => pool.close())
      const snapshot = { open: () => fail('a body that reads nothing opened its snapshot') }
      const emit = () => fail('a body that says nothing spoke')
      return (tool, args) =>
        pool.run({
          tool,
          args,
          threadId: 'thread',
          idempotencyKey: 'key',
          run: { part: 'execute' },
          env: {},
          secrets: [],
          cancel: createCancel(),
          snapshot,
          emit,
        })
    },
  }
}

function fail(what, thrown) {
  throw new Error(`the benchmark met trouble: ${what}`, { cause: thrown })
}
