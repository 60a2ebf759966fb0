/**
 * Asks hooks: in the order of their list, each with what those before it made, within its time limit (K1, K2).
 *
 * - A hook that throws, is late or returns what it may not is reported, and its answer does not count; with
 *   `onError: 'block'` it ends the chain as if it had blocked.
 * - Hooks read what is recorded, which is masked, and what they return is masked before it is used.
 * - It never throws, and never waits longer than the time limits.
 */
import type { App } from '../../agent/app.js'
import type { HookInput, HookOf, HookPoint, HookResult, HookThread } from '../../agent/define-hook.js'
import type { Blobs } from '../../backend/port.js'
import { createCancel } from '../../core/async/cancel.js'
import type { Cancel } from '../../core/async/cancel.js'
import type { Clock } from '../../core/clock.js'
import { SkeinError, failure, toFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { AskedHook } from '../../core/records/hook.js'
import { maskFailure } from '../../core/redact/outcome.js'
import type { Redactor } from '../../core/redact/redact.js'
import { checkResult } from './hook-results.js'
import { asksHooks, createHookSets } from './hook-sets.js'
import type { HooksOfAgent } from './hook-sets.js'
import { ThreadOfHook } from './hook-thread.js'
import type { SeenState } from './hook-thread.js'

const defaultTimeoutMs = 10_000

export interface HookServices {
  readonly app: Pick<App, 'agents' | 'prompts' | 'hooks'>
  readonly clock: Clock
  readonly blobs: Blobs
  /** Tells the operator. */
  readonly warn: (what: string, thrown: unknown) => void
}

/** One question to the hooks of a point. `Value`: what they are asked about, as those before made it. */
export interface HookQuestion<On extends HookPoint, Value> {
  readonly on: On
  readonly hooks: readonly HookOf<On>[]
  readonly state: SeenState
  /** The same when the question is asked again. */
  readonly key: string
  readonly redactor: Redactor | undefined
  /** Aborted when the answer is not needed any more. */
  readonly cancel?: Cancel
  readonly value: Value
  input(value: Value): HookInput<On>
  /** Throws where the result cannot be used. */
  apply(value: Value, result: HookResult<On>): Value | Promise<Value>
  /** No further hook is asked. */
  isFinal?(value: Value): boolean
}

export interface HookAnswer<Value> {
  readonly value: Value
  /** Who was asked. */
  readonly asked: readonly AskedHook[]
  /** Of these, who wanted something or failed. */
  readonly acted: readonly AskedHook[]
  /** A hook that must not fail has failed: why nothing goes on. */
  readonly closed?: string
}

export class Hooks {
  readonly of: HooksOfAgent
  readonly blobs: Blobs
  readonly #clock: Clock
  readonly #warn: HookServices['warn']

  constructor({ app, clock, blobs, warn }: HookServices) {
    this.of = createHookSets(app)
    this.blobs = blobs
    this.#clock = clock
    this.#warn = warn
  }

  async ask<On extends HookPoint, Value>(question: HookQuestion<On, Value>): Promise<HookAnswer<Value>> {
    const asked: AskedHook[] = []
    const acted: AskedHook[] = []
    let { value } = question
    for (const hook of question.hooks) {
      if (question.cancel?.reason) break
      try {
        const result = await this.#askOne(question, hook, value)
        if (result) value = await question.apply(value, result)
        asked.push({ hook: hook.name })
        if (result) acted.push({ hook: hook.name })
      } catch (thrown) {
        // Nobody needs the answer any more.
        if (question.cancel?.reason) break
        const failed = this.#failed(question, hook, thrown)
        asked.push({ hook: hook.name, failure: failed })
        acted.push({ hook: hook.name, failure: failed })
        if (hook.onError === 'block')
          return { value, asked, acted, closed: `the hook ${hook.name} failed: ${failed.message}` }
      }
      if (question.isFinal?.(value)) break
    }
    return { value, asked, acted }
  }

  #failed({ state, redactor }: SeenQuestion, { name }: { readonly name: string }, thrown: unknown): Failure {
    const { message } = toFailure(thrown, 'HOOK_FAILED')
    const failed = failure('HOOK_FAILED', message)
    const masked = redactor ? maskFailure(redactor, failed) : failed
    this.#warn(`the hook ${name} failed in thread ${state.id}: ${masked.message}`, undefined)
    return masked
  }

  /** Its result, or undefined where it wants nothing. Rejects where it fails. */
  async #askOne<On extends HookPoint, Value>(
    { on, state, key, cancel: outer, input }: HookQuestion<On, Value>,
    hook: HookOf<On>,
    value: Value,
  ): Promise<HookResult<On> | undefined> {
    const { timeoutMs = defaultTimeoutMs, name } = hook
    const cancel = createCancel()
    const thread: HookThread = new ThreadOfHook(state, `${state.id}/${key}/${name}`, { cancel, blobs: this.blobs })
    const forget = outer?.onAbort((reason) => cancel.abort(reason))
    const late = new SkeinError('HOOK_FAILED', `it was late: it may take ${timeoutMs} ms`)
    const sleep = this.#clock.wakeAt(this.#clock.now() + timeoutMs, () => cancel.abort(late))
    try {
      const aborted = new Promise<never>((_, reject) => cancel.onAbort(reject))
      const answered = (async () => hook.run(input(value), thread))()
      return checkResult(on, await Promise.race([answered, aborted]))
    } finally {
      sleep()
      forget?.()
    }
  }
}

type SeenQuestion = Pick<HookQuestion<HookPoint, unknown>, 'state' | 'redactor'>

/** Undefined where the app has none: nothing is then asked, and nothing looked at. */
export function createHooks(services: HookServices): Hooks | undefined {
  return asksHooks(services.app) ? new Hooks(services) : undefined
}

/** What enters a record is masked. */
export type Mask = Pick<Redactor, 'text' | 'json'>

export function maskOf(redactor: Redactor | undefined): Mask {
  return redactor ?? unmasked
}

const unmasked: Mask = { text: (text) => text, json: (value) => value }
