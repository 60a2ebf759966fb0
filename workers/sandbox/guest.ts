/**
 * Runs a job inside a machine: links the modules, starts the code, runs its promise jobs and passes calls to host
 * functions and back. Owns the queue of answers on their way in.
 *
 * - The engine is entered only from `run`: an answer that arrives waits in the queue.
 * - After each slice of `sliceMs` other runs on the thread get their turn, even during a flood of promises.
 * - Code that awaits a promise that nothing can settle fails at once.
 */
import type { QuickJSHandle, VmCallResult } from 'quickjs-emscripten-core'
import { textOf } from '../../src/core/json.js'
import type { Json } from '../../src/core/json.js'
import { encodeError } from './reply.js'
import type { Machine } from './machine.js'
import type { GuestServices } from './run-guest.js'
import { prelude, preludeTools } from './prelude.js'
import type { PreludeTool } from './prelude.js'
import { linkError, memoryError, missingModule, stackError, guestVerdict } from './verdict.js'
import type { GuestThrown, Verdict } from './verdict.js'
import { watchdogMs } from './watchdog.js'
import type { GuestJob } from './wire.js'

/** The longest value, as JSON. */
export const mostCharacters = 8 * 2 ** 20
/** Limits of pending calls of host functions: their number, and the characters of their args. */
const mostUnanswered = 1_000
const mostUnansweredCharacters = 4 * mostCharacters
const sliceMs = 10

interface GuestOptions {
  readonly job: GuestJob
  /** By specifier, in JavaScript. */
  readonly sources: ReadonlyMap<string, string>
  readonly services: GuestServices
  /** Maps a stack to positions in the source. */
  readonly sourceStack: (stack: string) => string
}

/** Something was thrown inside; `thrown` is undefined if the engine could not describe it. */
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
  /** Characters of the args of pending calls, by id. */
  readonly #unanswered = new Map<number, number>()
  #unansweredCharacters = 0
  #wake: () => void = () => undefined

  constructor(machine: Machine, options: GuestOptions) {
    this.#machine = machine
    this.#options = options
    const { services } = options
    services.runEnd.signal.addEventListener('abort', () => this.#wake())
    services.onAnswer = (id, text) => {
      this.#answers.push({ id, text })
      this.#wake()
    }
  }

  async run(): Promise<Verdict> {
    const { runEnd } = this.#options.services
    try {
      const done = this.#enter(() => this.#start())
      for (;;) {
        const verdict = this.#enter(() => this.#pump(done))
        if (verdict) return verdict
        await this.#pause()
      }
    } catch (thrown) {
      runEnd.isDue()
      return runEnd.verdict ?? this.#verdictOf(thrown)
    }
  }

  #enter<T>(body: () => T): T {
    const { runEnd } = this.#options.services
    return this.#machine.enter(body, runEnd.remainingMs() + watchdogMs)
  }

  #verdictOf(thrown: unknown): Verdict {
    const { job, sourceStack } = this.#options
    const engine = { exhausted: this.#machine.exhausted(), memoryLimitBytes: job.memoryLimitBytes, sourceStack }
    if (thrown instanceof GuestError) return guestVerdict(thrown.thrown, engine)
    // The engine itself broke: it had no memory left, or V8's stack ended before its own.
    if (engine.exhausted) return memoryError(job.memoryLimitBytes)
    if (thrown instanceof RangeError) return stackError()
    return { status: 'error', error: { name: 'InternalError', message: `the engine broke: ${textOf(thrown)}` } }
  }

  // ── inside the engine ──

  /** Returns the promise of the JSON of the result. */
  #start(): QuickJSHandle {
    const { context } = this.#machine
    const { job } = this.#options
    const make = this.#evaluate('skein:prelude', prelude, 'global')
    const tools = this.#take(
      context.callFunction(make, context.undefined, ...this.#hostFunctions(), context.newNumber(mostCharacters)),
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
      services: { runEnd },
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
    runEnd.end(memoryError(job.memoryLimitBytes))
    return { error: new Error('out of memory') }
  }

  /** Runs pending jobs for one slice. Returns the verdict when there is one. */
  #pump(done: QuickJSHandle): Verdict | undefined {
    const { context } = this.#machine
    const { runEnd, now } = this.#options.services
    if (runEnd.isDue()) return runEnd.verdict
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
      if (runEnd.isDue()) return runEnd.verdict
      if (now() >= sliceEnd) break
    }
    if (context.runtime.hasPendingJob()) return undefined
    const state = context.getPromiseState(done)
    if (state.type === 'rejected') throw new GuestError(this.#describe(state.error))
    if (state.type === 'fulfilled') return toVerdict(context.getString(state.value))
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
    // Without memory the engine throws null.
    if (
      !body ||
      (this.#machine.exhausted() && context.typeof(thrown) === 'object' && context.sameValue(thrown, context.null))
    )
      return undefined
    const described = context.callFunction(body, context.undefined, thrown)
    if (described.error) return undefined
    return JSON.parse(context.getString(described.value)) as GuestThrown
  }

  #text(text: string): QuickJSHandle {
    if (this.#machine.fits(2 * Buffer.byteLength(text))) return this.#machine.context.newString(text)
    const {
      services: { runEnd },
      job,
    } = this.#options
    runEnd.end(memoryError(job.memoryLimitBytes))
    throw new GuestError(undefined)
  }

  // ── out of the engine ──

  /** `say`, `keep` and `call` of the prelude. */
  #hostFunctions(): readonly QuickJSHandle[] {
    const { context } = this.#machine
    const { output } = this.#options.services
    return [
      context.newFunction('say', (level, json) =>
        output.log(context.getString(level), textOf(JSON.parse(context.getString(json)))),
      ),
      context.newFunction('keep', (json) => {
        const why = output.report(context.getString(json))
        return why === undefined ? context.undefined : context.newString(why)
      }),
      context.newFunction('call', (index, json) => this.#callHost(context.getNumber(index), context.getString(json))),
    ]
  }

  /** The JSON of the reply, or the number under which it will arrive. */
  #callHost(index: number, json: string): QuickJSHandle {
    const { context } = this.#machine
    const { services } = this.#options
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
      const text = services.callHost({ id, index, json })
      if (text !== null) return this.#text(text)
      this.#unanswered.set(id, json.length)
      this.#unansweredCharacters += json.length
      return context.newNumber(id)
    } catch (thrown) {
      // The run has been ended by `#text`.
      if (thrown instanceof GuestError) return context.undefined
      throw thrown
    }
  }

  /** Waits until there is something to do. */
  #pause(): Promise<void> {
    const { runEnd } = this.#options.services
    return new Promise((resolve) => {
      if (runEnd.signal.aborted || this.#answers.length > 0 || this.#machine.context.runtime.hasPendingJob())
        setImmediate(resolve)
      else this.#wake = resolve
    })
  }
}

/** The result of `settle` in the prelude. */
function toVerdict(json: string): Verdict {
  const settled = JSON.parse(json) as { readonly value: Json } | { readonly link: string }
  return 'link' in settled ? linkError(settled.link) : { status: 'success', result: settled.value }
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
