/**
 * A job inside a machine: links the modules, starts the code, pumps its promises and carries calls to the host's
 * functions and back. Owns the queue of answers that wait to go in.
 *
 * - The engine is entered only from `run`, never by an answer that comes: it waits in the queue.
 * - Between slices of `sliceMs` the thread belongs to others: a flood of promises does not keep the runs beside it
 *   from going on.
 * - Code that awaits what nothing can settle is told so at once.
 */
import type { QuickJSHandle, VmCallResult } from 'quickjs-emscripten-core'
import { textOf } from '../../src/core/json.js'
import type { Json } from '../../src/core/json.js'
import { encodeError } from './reply.js'
import type { Machine } from './machine.js'
import type { GuestContext } from './run-guest.js'
import { prelude, preludeTools } from './prelude.js'
import type { PreludeTool } from './prelude.js'
import { linkError, memoryError, missingModule, stackError, guestVerdict } from './verdict.js'
import type { GuestThrown, Verdict } from './verdict.js'
import { watchdogMs } from './watchdog.js'
import type { GuestJob } from './wire.js'

/** Of one value, as JSON. */
export const mostCharacters = 8 * 2 ** 20
/** Host functions that have not answered: as many, with as much in their args. */
const mostUnanswered = 1_000
const mostUnansweredCharacters = 4 * mostCharacters
const sliceMs = 10

interface GuestOptions {
  readonly job: GuestJob
  /** By specifier, in JavaScript. */
  readonly sources: ReadonlyMap<string, string>
  readonly visit: GuestContext
  /** A stack in the places of what was written. */
  readonly written: (stack: string) => string
}

/** Something was thrown inside; undefined if the engine could not even say what. */
class GuestError extends Error {
  override readonly name = 'GuestError'
  readonly thrown: GuestThrown | undefined

  constructor(thrown: GuestThrown | undefined) {
    super('thrown inside the sandbox')
    this.thrown = thrown
  }
}

export class Guest {
  readonly #machine: Machine
  readonly #options: GuestOptions
  readonly #tools = new Map<PreludeTool, QuickJSHandle>()
  #answers: { readonly id: number; readonly text: string }[] = []
  #calls = 0
  /** The characters of their args, by id. */
  readonly #unanswered = new Map<number, number>()
  #unansweredCharacters = 0
  #wake: () => void = () => undefined

  constructor(machine: Machine, options: GuestOptions) {
    this.#machine = machine
    this.#options = options
    const { visit } = options
    visit.end.signal.addEventListener('abort', () => this.#wake())
    visit.onAnswer = (id, text) => {
      this.#answers.push({ id, text })
      this.#wake()
    }
  }

  async run(): Promise<Verdict> {
    const { end: ending } = this.#options.visit
    try {
      const done = this.#enter(() => this.#start())
      for (;;) {
        const verdict = this.#enter(() => this.#pump(done))
        if (verdict) return verdict
        await this.#pause()
      }
    } catch (thrown) {
      ending.isDue()
      return ending.verdict ?? this.#verdictOf(thrown)
    }
  }

  #enter<T>(body: () => T): T {
    const { end: ending } = this.#options.visit
    return this.#machine.enter(body, ending.remainingMs() + watchdogMs)
  }

  #verdictOf(thrown: unknown): Verdict {
    const { job, written } = this.#options
    const facts = { exhausted: this.#machine.exhausted(), memoryLimitBytes: job.memoryLimitBytes, written }
    if (thrown instanceof GuestError) return guestVerdict(thrown.thrown, facts)
    // The engine itself broke: it had no memory left, or V8's stack ended before its own.
    if (facts.exhausted) return memoryError(job.memoryLimitBytes)
    if (thrown instanceof RangeError) return stackError()
    return { status: 'error', error: { name: 'InternalError', message: `the engine broke: ${textOf(thrown)}` } }
  }

  // ── inside the engine ──

  /** Gives the promise of the JSON that the code comes to. */
  #start(): QuickJSHandle {
    const { context } = this.#machine
    const { job } = this.#options
    const make = this.#evaluate('skein:prelude', prelude, 'global')
    const tools = this.#take(
      context.callFunction(make, context.undefined, ...this.#doors(), context.newNumber(mostCharacters)),
    )
    for (const name of preludeTools) this.#tools.set(name, context.getProp(tools, name))
    this.#call('define', this.#text(job.globals))
    this.#call('link', context.newNumber(job.imports.length))
    this.#evaluate('host', hostModule(job.imports), 'module')
    context.runtime.setModuleLoader(
      (specifier) => this.#load(specifier),
      (_base, specifier) => specifier,
    )
    const entry = this.#evaluate('skein:entry', entryModule(job.execute?.name), 'module')
    if (!job.execute) return this.#call('settle', entry)
    return this.#call('settle', entry, this.#text(job.execute.name), this.#text(job.execute.args))
  }

  #load(specifier: string): string | { readonly error: Error } {
    const {
      sources,
      visit: { end: ending },
      job,
    } = this.#options
    const source = sources.get(specifier)
    if (source === undefined) {
      const known = ['host', ...sources.keys()].filter((name) => name !== 'code')
      return {
        error: new Error(
          `${missingModule}${JSON.stringify(specifier.slice(0, 200))}, which is not there; there is ` +
            `${known.join(', ')}`,
        ),
      }
    }
    if (this.#machine.fits(2 * Buffer.byteLength(source))) return source
    ending.end(memoryError(job.memoryLimitBytes))
    return { error: new Error('out of memory') }
  }

  /** A verdict when there is one. */
  #pump(done: QuickJSHandle): Verdict | undefined {
    const { context } = this.#machine
    const { end: ending, now } = this.#options.visit
    if (ending.isDue()) return ending.verdict
    const sliceEnd = now() + sliceMs
    const answers = this.#answers
    this.#answers = []
    for (const { id, text } of answers) {
      this.#unansweredCharacters -= this.#unanswered.get(id) ?? 0
      this.#unanswered.delete(id)
      this.#call('answer', context.newNumber(id), this.#text(text))
    }
    while (context.runtime.hasPendingJob()) {
      const ran = context.runtime.executePendingJobs(100)
      if (ran.error) throw new GuestError(this.#describe(ran.error))
      if (ending.isDue()) return ending.verdict
      if (now() >= sliceEnd) break
    }
    if (context.runtime.hasPendingJob()) return undefined
    const state = context.getPromiseState(done)
    if (state.type === 'rejected') throw new GuestError(this.#describe(state.error))
    if (state.type === 'fulfilled') return read(context.getString(state.value))
    if (this.#unanswered.size > 0) return undefined
    if (this.#machine.exhausted()) throw new GuestError(undefined)
    return { status: 'error', error: { name: 'Error', message: 'the code awaits a promise that nothing can settle' } }
  }

  #evaluate(name: string, source: string, type: 'global' | 'module'): QuickJSHandle {
    return this.#take(this.#machine.context.evalCode(source, name, { type }))
  }

  #call(tool: PreludeTool, ...args: readonly QuickJSHandle[]): QuickJSHandle {
    const { context } = this.#machine
    const body = this.#tools.get(tool) ?? context.undefined
    const result = this.#take(context.callFunction(body, context.undefined, ...args))
    for (const arg of args) arg.dispose()
    return result
  }

  #take(result: VmCallResult<QuickJSHandle>): QuickJSHandle {
    if (result.error) throw new GuestError(this.#describe(result.error))
    return result.value
  }

  #describe(thrown: QuickJSHandle): GuestThrown | undefined {
    const { context } = this.#machine
    const body = this.#tools.get('describe')
    // Without memory the engine throws null, which nobody else can have meant.
    if (
      !body ||
      (this.#machine.exhausted() && context.typeof(thrown) === 'object' && context.sameValue(thrown, context.null))
    )
      return undefined
    const told = context.callFunction(body, context.undefined, thrown)
    if (told.error) return undefined
    return JSON.parse(context.getString(told.value)) as GuestThrown
  }

  #text(text: string): QuickJSHandle {
    if (this.#machine.fits(2 * Buffer.byteLength(text))) return this.#machine.context.newString(text)
    const {
      visit: { end: ending },
      job,
    } = this.#options
    ending.end(memoryError(job.memoryLimitBytes))
    throw new GuestError(undefined)
  }

  // ── out of the engine ──

  /** `say`, `keep` and `call` of the prelude. */
  #doors(): readonly QuickJSHandle[] {
    const { context } = this.#machine
    const { output: said } = this.#options.visit
    return [
      context.newFunction('say', (level, json) =>
        said.log(context.getString(level), textOf(JSON.parse(context.getString(json)))),
      ),
      context.newFunction('keep', (json) => {
        const why = said.report(context.getString(json))
        return why === undefined ? context.undefined : context.newString(why)
      }),
      context.newFunction('call', (index, json) => this.#answer(context.getNumber(index), context.getString(json))),
    ]
  }

  /** The JSON of the answer, or the number under which it will come. */
  #answer(index: number, json: string): QuickJSHandle {
    const { context } = this.#machine
    const { visit } = this.#options
    try {
      if (
        this.#unanswered.size === mostUnanswered ||
        this.#unansweredCharacters + json.length > mostUnansweredCharacters
      ) {
        return this.#text(
          encodeError(
            new RangeError(`${this.#unanswered.size} calls of host functions are unanswered; await some of them first`),
          ),
        )
      }
      const id = this.#calls++
      const text = visit.callHost({ id, index, json })
      if (text !== null) return this.#text(text)
      this.#unanswered.set(id, json.length)
      this.#unansweredCharacters += json.length
      return context.newNumber(id)
    } catch (thrown) {
      // The end is told already.
      if (thrown instanceof GuestError) return context.undefined
      throw thrown
    }
  }

  /** Until there is something to do. */
  #pause(): Promise<void> {
    const { end: ending } = this.#options.visit
    return new Promise((resolve) => {
      if (ending.signal.aborted || this.#answers.length > 0 || this.#machine.context.runtime.hasPendingJob())
        setImmediate(resolve)
      else this.#wake = resolve
    })
  }
}

/** Of `settle`. */
function read(json: string): Verdict {
  const told = JSON.parse(json) as { readonly value: Json } | { readonly link: string }
  return 'link' in told ? linkError(told.link) : { status: 'success', result: told.value }
}

function hostModule(names: readonly string[]): string {
  const locals = names.map((_, index) => `f${index}`)
  return (
    `const [${locals.join()}] = globalThis['skein:host']; delete globalThis['skein:host']; export { ` +
    `${locals.map((local, index) => `${local} as ${names[index]}`).join()} }`
  )
}

/** Importing the name makes a missing export fail before any code runs. */
function entryModule(name: string | undefined): string {
  return (
    `import * as code from 'code'; ` +
    `${name === undefined ? '' : `import { ${name} as named } from 'code'; `}export { code as exports }`
  )
}
