/**
 * The words of a run as they are said: deltas as they come, and the rest of a step when its reply is durable.
 *
 * - An attempt that broke off is void. What was told of it stays valid where the next attempt begins with the same
 *   words; where it does not, the reply decides.
 */
import type { SkeinEvent } from '../../index.js'

export type WordKind = 'text' | 'reasoning'

export interface WordPiece {
  readonly step: number
  /** What was told of this step before is void. */
  readonly void?: true
  readonly piece: string
  /** The reply is durable: the step says no more. */
  readonly last?: true
}

export class StepWords {
  readonly #kind: WordKind
  /** What was told of this step. */
  #told = ''
  /** The words of the current attempt, as far as they came without a gap. */
  #current = ''

  constructor(kind: WordKind) {
    this.#kind = kind
  }

  /** Of events of one thread, in order. */
  take(event: SkeinEvent): WordPiece | undefined {
    const words = this.#after(event)
    if (words === undefined || !('step' in event)) return undefined
    const { step } = event
    this.#current = words
    const isLast = event.type === 'model.replied'
    const goesOn = words.startsWith(this.#told)
    // This attempt may break off too: only the durable reply takes anything back.
    if (!goesOn && !isLast) return undefined
    const piece = goesOn ? words.slice(this.#told.length) : words
    this.#told = isLast ? '' : words
    if (isLast) this.#current = ''
    return { step, piece, ...(!goesOn && { void: true as const }), ...(isLast && { last: true as const }) }
  }

  /** The words of the step after the event; undefined where it says nothing of them. */
  #after(event: SkeinEvent): string | undefined {
    if (event.type === 'stream.reset') return this.#kind === 'text' ? event.text : ''
    if (event.type === 'model.replied') return (this.#kind === 'text' ? event.text : event.reasoning) ?? ''
    if (event.type !== `${this.#kind}.delta` || !('offset' in event)) return undefined
    return event.offset === this.#current.length ? this.#current + event.text : undefined
  }
}
