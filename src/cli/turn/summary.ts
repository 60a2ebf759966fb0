/**
 * What a turn came to: the summary that a person reads and a program gets. Steps and usage are counted from what was
 * shown, so that a turn that stands still has a summary too, and the children that have not reported count.
 */
import { defined } from '../../core/defined.js'
import type { RemoteThreadChange } from '../../client.js'
import type { DurableEvent, Failure, Json, RunResult, StopReason, Usage } from '../../index.js'
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
  let summary: TurnSummary = { thread, run, text: '', steps: 0, usage: nothing, subtree: nothing, elapsedMs: 0 }
  let startedAt: number | undefined
  return {
    take({ event, result }: RemoteThreadChange): void {
      if (!event || !('seq' in event)) return
      if (event.type === 'model.replied') summary = { ...summary, subtree: addedUsage(summary.subtree, event.usage) }
      if (event.thread !== thread) return
      startedAt ??= event.at
      summary = { ...summary, elapsedMs: event.at - startedAt, ...progressOf(summary, event) }
      if (result) summary = { ...summary, ...endOf(summary, result) }
    },
    sum: (standstill?: StandstillEntry): TurnSummary => ({ ...summary, ...standstill }),
  }
}

function progressOf({ text, steps, usage }: TurnSummary, event: DurableEvent): Partial<TurnSummary> {
  switch (event.type) {
    case 'turn.started':
      return { run: event.run }
    case 'model.replied':
      return {
        text: event.text || text,
        steps: steps + 1,
        usage: addedUsage(usage, event.usage),
        finishReason: event.finish,
      }
    case 'calls.made':
      return { steps: steps + 1 }
    case 'thread.terminated':
      return { stopReason: 'terminated' }
    default:
      return {}
  }
}

function endOf({ text }: TurnSummary, result: RunResult): Partial<TurnSummary> {
  const { stopReason, output, detail, failure } = result
  return { text: result.text || text, stopReason, ...defined({ output, detail, failure }) }
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

export function summaryLine(summary: TurnSummary): string {
  const { stopReason, standstill, detail, failure, steps, elapsedMs } = summary
  const how = stopReason ?? (standstill && standstillWords[standstill]) ?? 'unfinished'
  const why = failure ? failureLine(failure) : detail
  return [why ? `${how} (${why})` : how, counted(steps, 'step'), costs(summary), duration(elapsedMs)].join(' · ')
}
