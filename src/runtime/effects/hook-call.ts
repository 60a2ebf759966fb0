/**
 * Hooks as an effect: asks those of one point, and lands what they decided. It changes nothing of the thread itself.
 *
 * - It never throws: whatever a hook does becomes part of a landing. A store that fails while a hook's result is read
 *   or written stops the residence, and the hooks are asked again (K3: nothing was recorded).
 * - Hooks run on the host's own thread.
 */
import type { HookDecision } from '../../../actors/thread/decide/landings.js'
import type { Turn } from '../../../actors/thread/state.js'
import { createCancel } from '../../core/async/cancel.js'
import type { HookEffect, Outcome } from '../../core/effect.js'
import { SkeinError } from '../../core/failure.js'
import { callId } from '../../core/records/message.js'
import type { Message } from '../../core/records/message.js'
import type { Hooks } from '../hooks/ask-hooks.js'
import { askAfterCall, askBeforeStep, askStop } from '../hooks/effect-questions.js'
import type { EffectAsking } from '../hooks/effect-questions.js'
import { reachesBack, windowOf } from '../resolve/prompt-window.js'
import type { EffectOwner, RunningEffect, Services } from '../services.js'
import { archiveResult, isLong, readArchived } from './long-results.js'

function withoutOutcome({ outcome: _, ...rest }: HookDecision): HookDecision {
  return rest
}

/** The hooks were removed by a deploy: the thread goes on. */
const nobody: HookDecision = { asked: [] }

export class HookCall implements RunningEffect {
  readonly #services: Services
  readonly #owner: EffectOwner
  readonly #effect: HookEffect
  readonly #cancel = createCancel()

  constructor(services: Services, owner: EffectOwner, effect: HookEffect) {
    this.#services = services
    this.#owner = owner
    this.#effect = effect
    const { key } = effect
    this.#ask().then(
      (decided) => owner.land({ kind: 'hook', key, decided }),
      (thrown: unknown) => {
        if (!this.#cancel.reason) owner.storeFailed(thrown)
      },
    )
  }

  async #ask(): Promise<HookDecision> {
    const { hooks, envs } = this.#services
    const { state } = this.#owner
    const { turn } = state
    if (!hooks || !turn) return nobody
    const { key, point } = this.#effect
    const asking: EffectAsking = { state, turn, key, cancel: this.#cancel, redactor: envs.redactor(state) }
    switch (point) {
      case 'step':
        return askBeforeStep(hooks, asking, () => this.#messages(turn))
      case 'result':
        return this.#askAboutResult(hooks, asking)
      case 'stop':
        return askStop(hooks, asking)
    }
  }

  async #messages({ session }: Turn): Promise<readonly Message[]> {
    const { state } = this.#owner
    const { prompt } = this.#services.setupOf(state.agent, session?.side)
    if (reachesBack(state, prompt)) await this.#owner.hydrated()
    return windowOf(state, prompt)
  }

  async #askAboutResult(hooks: Hooks, asking: EffectAsking): Promise<HookDecision> {
    const { blobs, app } = this.#services
    const { step, index = 0 } = this.#effect
    const slot = asking.state.slots.items[index]
    if (!slot?.outcome) return nobody
    const { call, outcome, text } = slot
    const id = callId(step, index)
    const decided = await askAfterCall(hooks, asking, { id, call, outcome: await this.#whole(outcome), text })
    if (!decided.outcome) return decided
    const staysWhole = app.tools.get(call.tool)?.retention === 'keep' || call.session?.message !== undefined
    if (!isLong(decided.outcome, staysWhole)) return decided
    // Stored before the record that names it.
    return { ...(await archiveResult(blobs, decided.outcome, id)), ...withoutOutcome(decided) }
  }

  /** A hook that redacts must see all that the model could ask for. */
  async #whole(outcome: Outcome): Promise<Outcome> {
    if (!outcome.ok || !outcome.whole) return outcome
    return { ok: true, value: await readArchived(this.#services.blobs, outcome.whole) }
  }

  abort(reason: string): void {
    this.#cancel.abort(new SkeinError('CANCELLED', reason))
  }
}
