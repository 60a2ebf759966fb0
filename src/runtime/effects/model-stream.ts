/**
 * The stream of a model call: deltas of a step on their way from the model to the watchers of its thread.
 *
 * - Text is told as it comes, with its attempt and offset (EV2: text of an older attempt is void).
 * VZ2 Secrets are masked: text that could be the start of one is held back until it is known (RX5: the pieces together
 *     are what the whole text would have been).
 */
import type { Cancel } from '../../core/async/cancel.js'
import type { Clock } from '../../core/clock.js'
import { defined } from '../../core/defined.js'
import type { DeltaEvent } from '../../core/records/event.js'
import { SkeinError } from '../../core/failure.js'
import type { Redactor, TextStream } from '../../core/redact/redact.js'
import { tookOf } from '../../core/records/took.js'
import type { Took } from '../../core/records/took.js'
import type { ModelCallOptions, ModelDelta, ModelWait } from '../../models/port.js'
import { ReplyMeter } from '../../models/retry/reply-limits.js'
import type { EffectOwner } from '../services.js'

const unmasked: TextStream = { push: (piece) => piece, end: () => '' }

/** The args of a call as the model writes them. */
interface CallArgs {
  readonly tool: string
  readonly text: TextStream
}

interface StreamServices {
  readonly cancel: Cancel
  readonly redactor: Redactor | undefined
  readonly clock: Clock
}

/** A class: a swarm asks its models thousands of times a second. */
export class ModelStream implements ModelCallOptions {
  readonly #owner: EffectOwner
  readonly #step: number
  readonly #cancel: Cancel
  readonly #redactor: Redactor | undefined
  readonly #clock: Clock
  readonly #startedAt: number
  /** The name that people know the speaker by. */
  label: string | undefined
  #attempt = 1
  #textMask: TextStream
  #reasoningMask: TextStream
  /** By index. */
  #calls: Map<number, CallArgs> | undefined
  /** The text that was told so far. */
  #text = ''
  #reasoningLength = 0
  #meter: ReplyMeter | undefined
  #wait: ModelWait | undefined
  /** When the present wait began; what all waits so far took. */
  #waitsSince: number | undefined
  #waitedMs = 0
  /** The step was aborted. Its model may go on for a while: what it says then belongs to no turn. */
  #muted = false
  /** Watchers are shown the text when hooks have decided about it. */
  #withheld = false

  constructor(owner: EffectOwner, step: number, { cancel, redactor, clock }: StreamServices) {
    this.#owner = owner
    this.#step = step
    this.#cancel = cancel
    this.#redactor = redactor
    this.#clock = clock
    this.#startedAt = clock.now()
    this.#textMask = this.#mask()
    this.#reasoningMask = this.#mask()
  }

  get signal(): AbortSignal {
    return this.#cancel.signal
  }

  onAbort(listener: (reason: Error) => void): () => void {
    return this.#cancel.onAbort(listener)
  }

  withhold(): void {
    this.#withheld = true
  }

  /** The text that counts, where that is not what was told. */
  replace(text: string): void {
    this.#withheld = false
    if (this.#muted || text === this.#text) return
    this.#text = text
    this.#owner.speak(() => this.#reset())
  }

  mute(): void {
    this.#muted = true
  }

  emit(delta: ModelDelta): void {
    // A mistake of an adapter fails its step here, and not the watchers.
    if (typeof delta.text !== 'string')
      throw new SkeinError(
        'MODEL_REJECTED',
        `the model emitted a ${delta.type} delta whose text is ${typeof delta.text}, not a string`,
      )
    if (this.#muted) return
    this.#meter ??= new ReplyMeter()
    this.#meter.add(delta.type, delta.text.length)
    if (this.#withheld) return
    if (delta.type === 'text') this.#tellText(this.#textMask.push(delta.text))
    else if (delta.type === 'reasoning') this.#tellReasoning(this.#reasoningMask.push(delta.text))
    else {
      const { index, tool } = delta
      this.#calls ??= new Map()
      const { text } = this.#calls.get(index) ?? { text: this.#mask() }
      this.#calls.set(index, { tool, text })
      this.#tellArgs(index, tool, text.push(delta.text))
    }
  }

  restarted(): void {
    if (this.#muted) return
    this.#attempt++
    this.#textMask = this.#mask()
    this.#reasoningMask = this.#mask()
    this.#calls = undefined
    this.#text = ''
    this.#reasoningLength = 0
    this.#meter = undefined
    this.#owner.speak(() => this.#reset())
  }

  /** A method and not a field: few calls ever wait. */
  waiting(wait: ModelWait): void {
    if (wait.place > 0) this.#waitsSince ??= this.#clock.now()
    else this.#endWait()
    if (this.#muted) return
    this.#wait = wait.place > 0 ? wait : undefined
    this.#owner.speak(() => this.#waits(wait))
  }

  #endWait(): void {
    if (this.#waitsSince !== undefined) this.#waitedMs += this.#clock.now() - this.#waitsSince
    this.#waitsSince = undefined
  }

  /** How long the model took so far: in line for its rate limit, and to answer. */
  get took(): Took | undefined {
    this.#endWait()
    return tookOf(this.#clock.now() - this.#startedAt, this.#waitedMs, this.#attempt)
  }

  /** The reply is complete: tells what was held back. */
  end(): void {
    if (this.#muted || this.#withheld) return
    this.#tellReasoning(this.#reasoningMask.end())
    this.#tellText(this.#textMask.end())
    if (this.#calls) for (const [index, { tool, text }] of this.#calls) this.#tellArgs(index, tool, text.end())
  }

  soFar(): readonly DeltaEvent[] {
    return this.#wait ? [this.#reset(), this.#waits(this.#wait)] : [this.#reset()]
  }

  #reset(): DeltaEvent {
    return { type: 'stream.reset', ...this.#origin(), text: this.#text }
  }

  #waits({ model, place, until }: ModelWait): DeltaEvent {
    return { type: 'model.waiting', ...this.#origin(), model, place, until }
  }

  #mask(): TextStream {
    return this.#redactor?.stream() ?? unmasked
  }

  #origin() {
    const { state } = this.#owner
    const side = state.turn?.session?.side
    return {
      thread: state.id,
      path: state.path,
      run: state.turn?.run ?? '',
      step: this.#step,
      attempt: this.#attempt,
      ...defined({ side }),
      ...(this.label !== undefined && { label: this.label }),
    }
  }

  #tellText(piece: string): void {
    if (piece === '') return
    const offset = this.#text.length
    this.#text += piece
    this.#owner.speak(() => ({ type: 'text.delta', ...this.#origin(), offset, text: piece }))
  }

  #tellReasoning(piece: string): void {
    if (piece === '') return
    const offset = this.#reasoningLength
    this.#reasoningLength += piece.length
    this.#owner.speak(() => ({ type: 'reasoning.delta', ...this.#origin(), offset, text: piece }))
  }

  #tellArgs(index: number, name: string, piece: string): void {
    if (piece === '') return
    const tool = this.#redactor?.text(name) ?? name
    this.#owner.speak(() => ({ type: 'call.delta', ...this.#origin(), index, tool, text: piece }))
  }
}
