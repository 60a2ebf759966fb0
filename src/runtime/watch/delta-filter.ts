/**
 * Which deltas a watcher may be given (FW2). Keeps, for each thread, the attempt that is being streamed and how much of
 * its text was given; text that does not continue it is refused.
 */
import type { DeltaEvent } from '../../core/records/event.js'

/** The attempt at a step that was heard last, and the length of its text so far. */
interface Streamed {
  readonly step: number
  readonly attempt: number
  readonly length: number
}

type ToolDelta = Extract<DeltaEvent, { readonly number: number }>

export interface DeltaFilter {
  /** The reply of a step is durable: deltas of it come too late. */
  answered(thread: string, step: number): void
  /** Whether a delta is new and continues what was given; a delta that fits counts as given. */
  fits(event: DeltaEvent): boolean
}

/** Deltas of tools belong to a step that is answered already; each is given once, for as long as its step lasts. */
function createToolDeltaFilter() {
  const steps = new Map<string, { readonly step: number; readonly next: Map<string, number> }>()
  return {
    fits({ thread, step, index, attempt, number }: ToolDelta): boolean {
      const known = steps.get(thread)
      if (known && step < known.step) return false
      const { next } = known?.step === step ? known : { next: new Map<string, number>() }
      steps.set(thread, { step, next })
      const call = `${index}/${attempt}`
      if (number < (next.get(call) ?? 0)) return false
      next.set(call, number + 1)
      return true
    },
  }
}

export function createDeltaFilter(): DeltaFilter {
  let tools: ReturnType<typeof createToolDeltaFilter> | undefined
  // Watchers of threads at rest are many, and have no use for it.
  let streamed: Map<string, Streamed> | undefined
  const answeredSteps = new Map<string, number>()
  return {
    answered(thread, step) {
      answeredSteps.set(thread, step)
      streamed?.delete(thread)
    },
    fits(event) {
      if (isToolDelta(event)) {
        tools ??= createToolDeltaFilter()
        return tools.fits(event)
      }
      const { thread, step, attempt } = event
      streamed ??= new Map()
      const before = streamed.get(thread)
      if (step <= (answeredSteps.get(thread) ?? 0) || (before && isOlder(event, before))) return false
      const same = before?.step === step && before.attempt === attempt
      const next = afterDelta(event, same ? before.length : undefined)
      if (next.length !== undefined) streamed.set(thread, { step, attempt, length: next.length })
      return next.fits
    },
  }
}

function isToolDelta(event: DeltaEvent): event is ToolDelta {
  return event.type === 'tool.progress' || event.type === 'tool.preliminary' || event.type === 'tool.log'
}

function isOlder({ step, attempt }: DeltaEvent, before: Streamed): boolean {
  return step < before.step || (step === before.step && attempt < before.attempt)
}

/** `known`: the length of the attempt's text so far; undefined of an attempt that is new here. */
function afterDelta(
  event: Exclude<DeltaEvent, ToolDelta>,
  known: number | undefined,
): { readonly fits: boolean; readonly length?: number } {
  if (event.type === 'stream.reset') {
    const { length } = event.text
    // A reset that another watcher asked for says nothing new here.
    const isNews = known === undefined ? event.attempt > 1 || length > 0 : length !== known
    return { fits: isNews, length }
  }
  if (event.type !== 'text.delta') return { fits: true }
  const start = known ?? 0
  return event.offset === start ? { fits: true, length: start + event.text.length } : { fits: false }
}
