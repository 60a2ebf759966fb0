/**
 * The reduction of a conversation that has become too long for its model (L3): long results become markers, and where
 * that is not enough its model is asked for a summary. It changes nothing of the thread itself.
 *
 * CX3 A summary is asked for with the request of the thread itself and one message more, so that a provider that has
 *     cached the conversation need not read it again. Calls in the reply are not made.
 * CX4 A summary that cannot be had costs the turn nothing: what was archived counts, and the failure is recorded.
 * - Nothing that a model says is recorded with a secret in it.
 */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import { createCancel } from '../../core/async/cancel.js'
import type { ContextEffect } from '../../core/effect.js'
import { SkeinError, toFailure } from '../../core/failure.js'
import { maskFailure } from '../../core/redact/outcome.js'
import type { Redactor } from '../../core/redact/redact.js'
import type { Message } from '../../core/records/message.js'
import { addUsage, noUsage } from '../../core/usage.js'
import type { Usage } from '../../core/usage.js'
import type { ModelRequest } from '../../models/port.js'
import type { AgentSetup } from '../resolve/agent-setup.js'
import { planReduction, reductionOf, wantsSummary } from '../resolve/context-plan.js'
import type { Summarised } from '../resolve/context-plan.js'
import { checkReply, priced } from '../resolve/model-reply.js'
import { toRequest } from '../resolve/model-request.js'
import { reachesBack, windowOf } from '../resolve/prompt-window.js'
import { isForced } from '../resolve/reply-meaning.js'
import type { EffectOwner, RunningEffect, Services } from '../services.js'

const instruction =
  'The conversation has become too long, and its beginning will be replaced by a summary. Write that summary now, as ' +
  'plain text and without calling a tool. It is all that you will know of what was said and done so far, so keep: ' +
  'what was asked for and decided, and by whom; facts, names, numbers, paths and ids that are still needed; what was ' +
  'done, with what outcome, and what failed and why; what is open, and the next step. Leave out what can be looked ' +
  'up again. Do not answer the request itself.'

export class ContextReduction implements RunningEffect {
  readonly #services: Services
  readonly #owner: EffectOwner
  readonly #step: number
  readonly #cancel = createCancel()
  readonly #redactor: Redactor | undefined

  constructor(services: Services, owner: EffectOwner, { step }: ContextEffect) {
    this.#services = services
    this.#owner = owner
    this.#step = step
    this.#redactor = services.envs.redactor(owner.state)
    this.#reduce().then(
      (landing) => owner.land(landing),
      (thrown: unknown) =>
        owner.land({ kind: 'model_failed', step, failure: this.#masked(toFailure(thrown, 'MODEL_REJECTED')) }),
    )
  }

  async #reduce(): Promise<Landing> {
    const { state } = this.#owner
    const { setupOf, envs } = this.#services
    const setup = setupOf(state.agent, state.turn?.session?.side, envs.disabled(state))
    let spent: Usage | undefined
    for (;;) {
      if (reachesBack(state, setup.prompt)) await this.#owner.hydrated()
      const { edits } = state
      const plan = planReduction(state, setup.prompt)
      if (!plan) throw new SkeinError('CANCELLED', 'the conversation is no longer limited')
      const summarised = plan.boundary !== undefined && wantsSummary(plan) ? await this.#summary(setup, spent) : {}
      // What was edited or removed meanwhile would stay in the summary as it was.
      if (!summarised.summary || state.edits === edits || this.#cancel.reason)
        return { kind: 'reduced', reduced: reductionOf(plan, this.#step, summarised) }
      spent = summarised.summary.usage
    }
  }

  /** `spent`: on a summary that was not used. */
  async #summary(setup: AgentSetup, spent: Usage = noUsage): Promise<Summarised> {
    const { context } = setup.prompt
    const { summary = {} } = typeof context === 'object' ? context : {}
    if (summary === false) return {}
    const { app } = this.#services
    const model = (summary.model === undefined ? undefined : app.models.get(summary.model)) ?? setup.model
    try {
      const known = this.#services.model({ ...setup, model })
      const request = this.#request(setup, summary.prompt ?? instruction)
      const options = { signal: this.#cancel.signal, emit: ignored }
      const reply = checkReply(model.name, await (await known).call(request, options))
      if (reply.text.trim() === '') throw new SkeinError('MODEL_REJECTED', `${model.name} gave no summary: no text`)
      const text = this.#redactor?.text(reply.text) ?? reply.text
      const usage = addUsage(spent, priced(reply.usage, app.models.get(reply.model ?? '') ?? model))
      return { summary: { text, model: reply.model ?? model.name, usage } }
    } catch (thrown) {
      return { failure: this.#masked(toFailure(thrown, 'MODEL_REJECTED')) }
    }
  }

  #request(setup: AgentSetup, text: string): ModelRequest {
    const { state } = this.#owner
    const request = toRequest(setup, state, this.#services)
    const asked: Message = { id: `summary_${this.#step}`, role: 'user', text, at: state.updatedAt }
    const { toolChoice } = request
    return {
      ...request,
      messages: [...windowOf(state, setup.prompt), asked],
      summary: true,
      // A model that must make a call cannot write a text.
      ...(toolChoice !== undefined && isForced(toolChoice) && { toolChoice: 'none' }),
    }
  }

  #masked(failure: ReturnType<typeof toFailure>): ReturnType<typeof toFailure> {
    return this.#redactor ? maskFailure(this.#redactor, failure) : failure
  }

  abort(reason: string): void {
    this.#cancel.abort(new SkeinError('CANCELLED', reason))
  }
}

/** Nobody watches a summary being written. */
const ignored = (): void => undefined
