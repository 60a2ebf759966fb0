/**
 * What a turn came to, counted from its events: the summary that a person reads and a program gets. Kept from the
 * events that were shown, so that both say the same, also of a turn that waits and has not ended.
 */
import { defined } from '../../core/defined.js'
import type { Failure, Json, SkeinEvent, StopReason, Usage } from '../../index.js'
import type { WaitingItem } from './waiting-for.js'
import { exitCode, exitOfStop } from '../exit.js'
import type { ExitCode, Standstill } from '../exit.js'
import { addedUsage, counted, duration, failureLine, spent } from '../format.js'

/** A turn that has not ended and does not go on until someone acts. */
export interface StandstillEntry {
  readonly standstill: Standstill
  /** The calls that wait for someone. */
  readonly pending: readonly WaitingItem[]
  /** Threads below that are paused. */
  readonly pausedChildren?: readonly string[]
}

export interface TurnSummary extends Partial<StandstillEntry> {
  readonly thread: string
  readonly run: string
  readonly text: string
  readonly steps: number
  /** Its own. */
  readonly usage: Usage
  /** With what all below it spent meanwhile. */
  readonly subtree: Usage
  readonly elapsedMs: number
  readonly stopReason?: StopReason
  /** How the last reply ended. */
  readonly finishReason?: string
  /** In the form of the prompt's `outputSchema`. */
  readonly output?: Json
  readonly detail?: string
  readonly failure?: Failure
}

const nothing: Usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 }

export function createSummary(thread: string, run: string) {
  let tally: TurnSummary = { thread, run, text: '', steps: 0, usage: nothing, subtree: nothing, elapsedMs: 0 }
  let startedAt: number | undefined
  return {
    take(event: SkeinEvent): void {
      if (!('seq' in event)) return
      if (event.type === 'model.replied') tally = { ...tally, subtree: addedUsage(tally.subtree, event.usage) }
      if (event.thread !== thread) return
      startedAt ??= event.at
      tally = { ...tally, elapsedMs: event.at - startedAt, ...news(tally, event) }
    },
    sum: (halt?: StandstillEntry): TurnSummary => ({ ...tally, ...halt }),
  }
}

function news({ text, steps, usage }: TurnSummary, event: SkeinEvent): Partial<TurnSummary> {
  if (event.type === 'model.replied') {
    return {
      text: event.text || text,
      steps: steps + 1,
      usage: addedUsage(usage, event.usage),
      finishReason: event.finish,
    }
  }
  if (event.type === 'turn.ended') {
    const { run, reason, detail, failure, output, text: told = text } = event
    return { run, text: told, stopReason: reason, ...defined({ output, detail: detail || undefined, failure }) }
  }
  if (event.type === 'calls.made') return { steps: steps + 1 }
  if (event.type === 'turn.started') return { run: event.run }
  return event.type === 'thread.terminated' ? { stopReason: 'terminated' } : {}
}

export function exitOfSummary({ stopReason, standstill }: TurnSummary): ExitCode {
  if (standstill) return exitCode.waiting
  return stopReason ? exitOfStop(stopReason) : exitCode.failed
}

const standstillWords: Readonly<Record<Standstill, string>> = {
  paused: 'paused',
  awaiting_approval: 'waits for approval',
  awaiting_human: 'waits for an answer',
  awaiting_variables: 'waits for variables',
}

/** Children often spend more than the one who called them. */
function costs({ usage, subtree }: TurnSummary): string {
  const own =
    subtree.inputTokens === usage.inputTokens &&
    subtree.outputTokens === usage.outputTokens &&
    subtree.costUsd === usage.costUsd
  return own ? spent(usage) : `${spent(subtree)}, of which its own: ${spent(usage)}`
}

export function summaryLine(tally: TurnSummary): string {
  const { stopReason, standstill, detail, failure, steps, elapsedMs } = tally
  const how = stopReason ?? (standstill && standstillWords[standstill]) ?? 'unfinished'
  const why = failure ? failureLine(failure) : detail
  return [why ? `${how} (${why})` : how, counted(steps, 'step'), costs(tally), duration(elapsedMs)].join(' · ')
}
