/**
 * What a model says while it speaks a step, on its way to whoever watches.
 *
 * VZ1 Text is told as it comes, with the attempt and the offset it belongs to (EV2).
 * VZ2 Secrets are masked: what could be the start of one is held back until it is known (RX5).
 */
import type { DeltaEvent } from '../core/event.js'
import { SkeinError } from '../core/failure.js'
import type { Redactor, TextStream } from '../core/redact.js'
import type { ModelDelta } from '../models/port.js'
import type { Wanting } from './effects.js'

const asItIs: TextStream = { push: (piece) => piece, end: () => '' }

export function createVoice({ state, speak }: Wanting, step: number, redactor: Redactor | undefined) {
  const place = () => ({ thread: state.id, path: state.path, run: state.turn?.run ?? '', step, attempt })
  const clean = (): TextStream => redactor?.stream() ?? asItIs
  const lines = () => ({ text: clean(), reasoning: clean(), calls: new Map<number, { readonly tool: string; readonly line: TextStream }>() })
  let attempt = 1
  let heard = lines()
  let text = ''
  let reasoned = 0
  let muted = false
  const say = (piece: string): void => {
    if (piece === '') return
    const offset = text.length
    text += piece
    speak(() => ({ type: 'text.delta', ...place(), offset, text: piece }))
  }
  const reason = (piece: string): void => {
    if (piece === '') return
    const offset = reasoned
    reasoned += piece.length
    speak(() => ({ type: 'reasoning.delta', ...place(), offset, text: piece }))
  }
  const ask = (index: number, tool: string, piece: string): void => {
    if (piece !== '') speak(() => ({ ...place(), type: 'call.delta', index, tool, text: piece }))
  }
  return {
    /** A model may go on speaking after its step was given up: that belongs to no turn any more. */
    mute(): void {
      muted = true
    },
    emit(delta: ModelDelta): void {
      // An adapter's mistake ends its step here, not the process of whoever listens.
      if (typeof delta.text !== 'string') throw new SkeinError('MODEL_REJECTED', `the model emitted a ${delta.type} delta whose text is ${typeof delta.text}, not a string`)
      if (muted) return
      if (delta.type === 'text') say(heard.text.push(delta.text))
      else if (delta.type === 'reasoning') reason(heard.reasoning.push(delta.text))
      else {
        const { index, tool } = delta
        const { line } = heard.calls.get(index) ?? { line: clean() }
        heard.calls.set(index, { tool, line })
        ask(index, tool, line.push(delta.text))
      }
    },
    /** The reply is there: what was held back is told. */
    end(): void {
      if (muted) return
      reason(heard.reasoning.end())
      say(heard.text.end())
      for (const [index, { tool, line }] of heard.calls) ask(index, tool, line.end())
    },
    restart(): void {
      if (muted) return
      attempt++
      heard = lines()
      text = ''
      reasoned = 0
      speak(() => ({ type: 'stream.reset', ...place(), text }))
    },
    soFar: (): DeltaEvent => ({ type: 'stream.reset', ...place(), text }),
  }
}
