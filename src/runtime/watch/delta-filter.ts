/**
 * What a watcher has heard of the steps that are being spoken, to tell which delta fits (FW2).
 */
import type { DeltaEvent } from '../../core/records/event.js'

interface Heard {
  readonly step: number
  readonly attempt: number
  readonly length: number
}

/**
 * What calls say belongs to a step that is answered already; each thing is told once, for as long as its step lasts.
 */
function createCallsHeard() {
  const heard = new Map<string, { readonly step: number; readonly next: Map<string, number> }>()
  return {
    fits({ thread, step, index, attempt, number }: Extract<DeltaEvent, { readonly number: number }>): boolean {
      const known = heard.get(thread)
      if (known && step < known.step) return false
      const { next } = known?.step === step ? known : { next: new Map<string, number>() }
      heard.set(thread, { step, next })
      const run = `${index}/${attempt}`
      if (number < (next.get(run) ?? 0)) return false
      next.set(run, number + 1)
      return true
    },
  }
}

export function createDeltaFilter() {
  const calls = createCallsHeard()
  const heard = new Map<string, Heard>()
  const answered = new Map<string, number>()
  return {
    answered(thread: string, step: number): void {
      answered.set(thread, step)
      heard.delete(thread)
    },
    fits(event: DeltaEvent): boolean {
      const { thread, step, attempt } = event
      if (event.type === 'tool.progress' || event.type === 'tool.preliminary' || event.type === 'tool.log')
        return calls.fits(event)
      const before = heard.get(thread)
      if (step <= (answered.get(thread) ?? 0)) return false
      if (before && (step < before.step || (step === before.step && attempt < before.attempt))) return false
      const same = before?.step === step && before.attempt === attempt
      const length = same ? before.length : 0
      if (event.type === 'stream.reset') {
        heard.set(thread, { step, attempt, length: event.text.length })
        // Asked for by another watcher, it says nothing new here.
        return same ? event.text.length !== length : attempt > 1 || event.text !== ''
      }
      if (event.type !== 'text.delta') return true
      if (event.offset !== length) return false
      heard.set(thread, { step, attempt, length: length + event.text.length })
      return true
    },
  }
}
