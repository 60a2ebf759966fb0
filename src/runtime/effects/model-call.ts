/**
 * A model call: asks the model for one step of a thread, and lands its reply, recorded as the definitions say, or its
 * failure. It changes nothing of the thread itself.
 *
 * - It never throws: whatever happens becomes a landing.
 * - Nothing that a model says is recorded or told with a secret in it (VZ2: its stream is masked too).
 */
import type { Landing } from '../../../actors/thread/decide/landings.js'
import { createCancel } from '../../core/async/cancel.js'
import { modelKey } from '../../core/effect.js'
import type { ModelEffect } from '../../core/effect.js'
import type { DeltaEvent } from '../../core/records/event.js'
import { defined } from '../../core/defined.js'
import { SkeinError, toFailure } from '../../core/failure.js'
import type { Redactor } from '../../core/redact/redact.js'
import type { Took } from '../../core/records/took.js'
import type { Model, ModelReply, ModelRequest } from '../../models/port.js'
import { askAfterStep } from '../hooks/call-questions.js'
import type { AgentSetup } from '../resolve/agent-setup.js'
import { checkReply, toLanding } from '../resolve/model-reply.js'
import { toRequest } from '../resolve/model-request.js'
import { reachesBack } from '../resolve/prompt-window.js'
import { maskFailure } from '../../core/redact/outcome.js'
import { maskReply } from '../secrets/mask.js'
import type { EffectOwner, RunningEffect, Services } from '../services.js'
import { ModelStream } from './model-stream.js'

/** A class: a swarm asks its models thousands of times a second. */
export class ModelCall implements RunningEffect {
  readonly #services: Services
  readonly #owner: EffectOwner
  readonly #step: number
  readonly #cancel = createCancel()
  readonly #redactor: Redactor | undefined
  readonly #stream: ModelStream

  constructor(services: Services, owner: EffectOwner, { step }: ModelEffect) {
    this.#services = services
    this.#owner = owner
    this.#step = step
    this.#redactor = services.envs.redactor(owner.state)
    this.#stream = new ModelStream(owner, step, {
      cancel: this.#cancel,
      redactor: this.#redactor,
      clock: services.clock,
    })
    this.#begin()
  }

  #begin(): void {
    try {
      this.#ask()
    } catch (thrown) {
      // Not before it is known as started.
      queueMicrotask(() => this.#fail(thrown))
    }
  }

  /** No async function on the way to the model: thousands may wait for their answers at once. */
  #ask(): void {
    const { state } = this.#owner
    const { setupOf, envs } = this.#services
    const setup = setupOf(state.agent, state.turn?.session?.side, envs.disabled(state))
    this.#stream.label = setup.side.label
    const model = this.#services.model(setup)
    if (model instanceof Promise || reachesBack(state, setup.prompt)) void this.#askLater(setup, model)
    else this.#call(setup, model)
  }

  async #askLater(setup: AgentSetup, known: Model | Promise<Model>): Promise<void> {
    try {
      const model = await known
      if (reachesBack(this.#owner.state, setup.prompt)) await this.#owner.hydrated()
      this.#call(setup, model)
    } catch (thrown) {
      this.#fail(thrown)
    }
  }

  #call(setup: AgentSetup, model: Model): void {
    const { state } = this.#owner
    const services = this.#services
    const after = services.hooks?.of(state.agent, state.turn?.session?.side).after_step
    if (after?.some(({ show }) => show === 'after')) this.#stream.withhold()
    const request = toRequest(setup, state, services)
    const answer = services.observing ? this.#observed(model, request) : model.call(request, this.#stream)
    answer.then(
      (reply) => this.#take(setup, reply, after !== undefined),
      (thrown: unknown) => this.#fail(thrown),
    )
  }

  #take(setup: AgentSetup, reply: ModelReply, hooked: boolean): void {
    let landing: Landing | Promise<Landing>
    try {
      landing = this.#replied(setup, reply, hooked)
    } catch (thrown) {
      return this.#fail(thrown)
    }
    if (!(landing instanceof Promise)) return this.#owner.land(landing)
    landing.then(
      (late) => this.#owner.land(late),
      (thrown: unknown) => this.#fail(thrown),
    )
  }

  #fail(thrown: unknown): void {
    this.#owner.land(this.#failed(thrown))
  }

  #observed(model: Model, request: ModelRequest): Promise<ModelReply> {
    const call = (): Promise<ModelReply> => model.call(request, this.#stream)
    return this.#services.observing?.within(this.#owner.state, modelKey(this.#step), call) ?? call()
  }

  #replied(setup: AgentSetup, answer: ModelReply, hooked: boolean): Landing | Promise<Landing> {
    const { took } = this.#stream
    const reply = this.#redactor ? maskReply(this.#redactor, checkReply(setup.model.name, answer)) : answer
    this.#stream.end()
    if (hooked) return this.#askHooks(setup, checkReply(setup.model.name, reply), took)
    const { state } = this.#owner
    return toLanding(this.#services, setup, { step: this.#step, reply, state, cancel: this.#cancel, took })
  }

  /** K1: hooks may change the reply before anything of it is recorded. */
  async #askHooks(setup: AgentSetup, said: ModelReply, took: Took | undefined): Promise<Landing> {
    const services = this.#services
    const { state } = this.#owner
    const step = this.#step
    const cancel = this.#cancel
    const side = state.turn?.session?.side
    const asking = { state, key: `hook/step/${step}/after`, redactor: this.#redactor, cancel, ...defined({ side }) }
    const asked =
      services.hooks &&
      (await askAfterStep(services.hooks, asking, { reply: said, model: said.model ?? setup.model.name }))
    const { reply = said, block } = asked?.value ?? {}
    this.#stream.replace(reply.text)
    return toLanding(services, setup, { step, reply, state, cancel, took, ...defined({ acted: asked?.acted, block }) })
  }

  #failed(thrown: unknown): Landing {
    const failure = toFailure(thrown, 'MODEL_REJECTED')
    return {
      kind: 'model_failed',
      step: this.#step,
      failure: this.#redactor ? maskFailure(this.#redactor, failure) : failure,
    }
  }

  abort(reason: string): void {
    this.#stream.mute()
    this.#cancel.abort(new SkeinError('CANCELLED', reason))
  }

  soFar(): readonly DeltaEvent[] {
    return this.#stream.soFar()
  }
}

/** Media that are missing, damaged or in a store that is away: the model is told that it is not shown them. */
export async function readMedia(blobs: Services['blobs'], hash: string): Promise<Uint8Array | undefined> {
  try {
    return await gather(blobs.get(hash))
  } catch {
    // The turn can go on without a picture.
    return undefined
  }
}

async function gather(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const chunk of chunks) parts.push(chunk)
  return Buffer.concat(parts)
}
