/**
 * What a model says while it speaks a step, on its way to whoever watches.
 *
 * - Text is told as it comes, with the attempt and the offset it belongs to (EV2).
 * VZ2 Secrets are masked: what could be the start of one is held back until it is known (RX5).
 */
import type { Cancel } from '../../core/async/cancel.js'
import { defined } from '../../core/defined.js'
import type { DeltaEvent } from '../../core/records/event.js'
import { SkeinError } from '../../core/failure.js'
import type { Redactor, TextStream } from '../../core/redact/redact.js'
import type { ModelCallOptions, ModelDelta, ModelWait } from '../../models/port.js'
import { ReplyMeter } from '../../models/retry/reply-limits.js'
import type { EffectOwner } from './model-call.js'

const asItIs: TextStream = { push: (piece) => piece, end: () => '' }

interface Line {
  readonly tool: string
  readonly line: TextStream
}

/** A class: a swarm asks its models thousands of times a second. */
export class ModelStream implements ModelCallOptions {
  readonly #wanting: EffectOwner
  readonly #step: number
  readonly #cancel: Cancel
  readonly #redactor: Redactor | undefined
  /** What people call whoever speaks. */
  label: string | undefined
  #attempt = 1
  #said: TextStream
  #reasoned: TextStream
  /** Args of calls, by index. */
  #asked: Map<number, Line> | undefined
  #text = ''
  #reasonedLength = 0
  #meter = new ReplyMeter()
  #wait: ModelWait | undefined
  /** A model may go on speaking after its step was given up: that belongs to no turn any more. */
  #muted = false

  constructor(
    wanting: EffectOwner,
    step: number,
    { cancel, redactor }: { readonly cancel: Cancel; readonly redactor: Redactor | undefined },
  ) {
    this.#wanting = wanting
    this.#step = step
    this.#cancel = cancel
    this.#redactor = redactor
    this.#said = this.#clean()
    this.#reasoned = this.#clean()
  }

  get signal(): AbortSignal {
    return this.#cancel.signal
  }

  mute(): void {
    this.#muted = true
  }

  readonly emit = (delta: ModelDelta): void => {
    // An adapter's mistake ends its step here, not the process of whoever listens.
    if (typeof delta.text !== 'string')
      throw new SkeinError(
        'MODEL_REJECTED',
        `the model emitted a ${delta.type} delta whose text is ${typeof delta.text}, not a string`,
      )
    if (this.#muted) return
    this.#meter.add(delta.type, delta.text.length)
    if (delta.type === 'text') this.#say(this.#said.push(delta.text))
    else if (delta.type === 'reasoning') this.#reason(this.#reasoned.push(delta.text))
    else {
      const { index, tool } = delta
      this.#asked ??= new Map()
      const { line } = this.#asked.get(index) ?? { line: this.#clean() }
      this.#asked.set(index, { tool, line })
      this.#ask(index, this.#redactor?.text(tool) ?? tool, line.push(delta.text))
    }
  }

  readonly restarted = (): void => {
    if (this.#muted) return
    this.#attempt++
    this.#said = this.#clean()
    this.#reasoned = this.#clean()
    this.#asked = undefined
    this.#text = ''
    this.#reasonedLength = 0
    this.#meter = new ReplyMeter()
    this.#wanting.speak(() => this.#reset())
  }

  /** Not a field: few calls ever wait. */
  waiting(wait: ModelWait): void {
    if (this.#muted) return
    this.#wait = wait.place > 0 ? wait : undefined
    this.#wanting.speak(() => this.#waits(wait))
  }

  /** The reply is there: what was held back is told. */
  end(): void {
    if (this.#muted) return
    this.#reason(this.#reasoned.end())
    this.#say(this.#said.end())
    if (this.#asked)
      for (const [index, { tool, line }] of this.#asked)
        this.#ask(index, this.#redactor?.text(tool) ?? tool, line.end())
  }

  soFar(): readonly DeltaEvent[] {
    return this.#wait ? [this.#reset(), this.#waits(this.#wait)] : [this.#reset()]
  }

  #reset(): DeltaEvent {
    return { type: 'stream.reset', ...this.#place(), text: this.#text }
  }

  #waits({ model, place, until }: ModelWait): DeltaEvent {
    return { type: 'model.waiting', ...this.#place(), model, place, until }
  }

  #clean(): TextStream {
    return this.#redactor?.stream() ?? asItIs
  }

  #place() {
    const { state } = this.#wanting
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

  #say(piece: string): void {
    if (piece === '') return
    const offset = this.#text.length
    this.#text += piece
    this.#wanting.speak(() => ({ type: 'text.delta', ...this.#place(), offset, text: piece }))
  }

  #reason(piece: string): void {
    if (piece === '') return
    const offset = this.#reasonedLength
    this.#reasonedLength += piece.length
    this.#wanting.speak(() => ({ type: 'reasoning.delta', ...this.#place(), offset, text: piece }))
  }

  #ask(index: number, tool: string, piece: string): void {
    if (piece !== '') this.#wanting.speak(() => ({ type: 'call.delta', ...this.#place(), index, tool, text: piece }))
  }
}
