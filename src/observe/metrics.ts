/**
 * Metrics of a host in Prometheus text. Counted from observations, so a turn counts on the host that ended it, once;
 * the sum over all hosts is the sum of what happened while they observed.
 *
 * - Labels are names of definitions (agents, models, tools) and codes of Skein, never ids or texts. A tool that is not
 *   defined counts as `unknown`: its name is the model's invention.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { z } from 'zod'
import { checkOptions } from '../core/options.js'
import type { HostGauges, Observation, Observer } from './port.js'
import { MetricRegistry, gaugeText } from './registry.js'
import { spanErrorOf } from './span.js'

export interface MetricsOptions {
  /** Series of one metric; further names count as `other`. Default 1,000. */
  readonly maxSeries?: number
}

const schema = z.strictObject({ maxSeries: z.number().int().positive().optional() })

const metricsOf = {
  skein_turns_total: ['counter', 'Turns that ended, by agent and reason.'],
  skein_turn_seconds: ['histogram', 'From the start of a turn to its end.'],
  skein_model_calls_total: ['counter', 'Steps of models, by model and outcome (ok, or a failure code).'],
  skein_model_seconds: ['histogram', 'What models took, without waiting in line.'],
  skein_model_wait_seconds: ['histogram', 'What steps waited for a rate limit.'],
  skein_tokens_total: ['counter', 'Tokens, by model and type (input, cached_input, output).'],
  skein_cost_usd_total: ['counter', 'Cost in US dollars, by model.'],
  skein_tool_calls_total: ['counter', 'Calls that were answered, by tool and outcome (ok, or a failure code).'],
  skein_tool_seconds: ['histogram', 'What calls took, without waiting for a worker or their turn.'],
  skein_tool_wait_seconds: ['histogram', 'What calls waited for a worker or their turn.'],
  skein_person_wait_seconds: ['histogram', 'What calls and turns waited for people, by what for.'],
  skein_context_reductions_total: ['counter', 'Conversations that were made shorter, by outcome.'],
  skein_hooks_total: ['counter', 'Effects that asked hooks, by point and outcome.'],
  skein_commit_seconds: ['histogram', 'What commits to the store took.'],
  skein_records_total: ['counter', 'Records that were committed.'],
  skein_warnings_total: ['counter', 'Warnings to the operator.'],
} as const

/** Counts what threads of the host do: read with `skein.metrics()` or `GET /metrics`. */
export function metrics(options: MetricsOptions = {}): Observer {
  checkOptions(schema, options, 'metrics')
  const registry = new MetricRegistry(options.maxSeries)
  for (const [name, [type, help]] of Object.entries(metricsOf)) registry.define(name, type, help)
  const lag = monitorEventLoopDelay({ resolution: 20 })
  return {
    begin: () => void lag.enable(),
    observed: (observation) => counters[observation.kind](registry, observation),
    committed(ms, records) {
      registry.observe('skein_commit_seconds', {}, ms / 1_000)
      registry.add('skein_records_total', {}, records)
    },
    warned() {
      registry.add('skein_warnings_total', {})
      return false
    },
    metrics(gauges) {
      const text = registry.text() + gaugesText(gauges, lag.percentile(99) / 1e9)
      lag.reset()
      return text
    },
    close: async () => void lag.disable(),
  }
}

type Count = (registry: MetricRegistry, observation: Observation) => void

const counters: Readonly<Record<Observation['kind'], Count>> = {
  turn(registry, { agent, reason = '', startedAt, endedAt }) {
    registry.add('skein_turns_total', { agent, reason })
    registry.observe('skein_turn_seconds', { agent }, (endedAt - startedAt) / 1_000)
  },
  model(registry, observation) {
    const { took } = observation
    const model = observation.name || 'unknown'
    registry.add('skein_model_calls_total', { model, outcome: outcomeOf(observation) })
    registry.observe('skein_model_seconds', { model }, ranSeconds(observation))
    registry.observe('skein_model_wait_seconds', { model }, (took?.waitedMs ?? 0) / 1_000)
    countUsage(registry, model, observation)
  },
  call(registry, observation) {
    const { took, failure } = observation
    const tool = failure?.code === 'UNKNOWN_TOOL' ? 'unknown' : observation.name
    registry.add('skein_tool_calls_total', { tool, outcome: outcomeOf(observation) })
    registry.observe('skein_tool_seconds', { tool }, ranSeconds(observation))
    registry.observe('skein_tool_wait_seconds', { tool }, (took?.waitedMs ?? 0) / 1_000)
  },
  wait(registry, { name, startedAt, endedAt }) {
    registry.observe('skein_person_wait_seconds', { for: name }, (endedAt - startedAt) / 1_000)
  },
  context(registry, observation) {
    registry.add('skein_context_reductions_total', { outcome: outcomeOf(observation) })
    countUsage(registry, observation.name, observation)
  },
  hook(registry, observation) {
    registry.add('skein_hooks_total', { point: observation.name, outcome: outcomeOf(observation) })
  },
}

function outcomeOf(observation: Observation): string {
  return spanErrorOf(observation)?.type ?? 'ok'
}

function ranSeconds({ took, startedAt, endedAt }: Observation): number {
  return (took ? took.ranMs : endedAt - startedAt) / 1_000
}

function countUsage(registry: MetricRegistry, model: string, { usage }: Observation): void {
  if (!usage) return
  const { inputTokens, outputTokens, cachedInputTokens = 0, costUsd } = usage
  registry.add('skein_tokens_total', { model, type: 'input' }, inputTokens)
  registry.add('skein_tokens_total', { model, type: 'cached_input' }, cachedInputTokens)
  registry.add('skein_tokens_total', { model, type: 'output' }, outputTokens)
  registry.add('skein_cost_usd_total', { model }, costUsd)
}

function gaugesText({ threadsAwake, threadsBusy, modelWaits = {} }: HostGauges, lagSeconds: number): string {
  const waits = Object.entries(modelWaits).map(([model, count]) => [{ model }, count] as const)
  return [
    gaugeText('skein_threads_awake', 'Threads in memory on this host.', [[{}, threadsAwake]]),
    gaugeText('skein_threads_busy', 'Of these, those at work.', [[{}, threadsBusy]]),
    gaugeText('skein_model_waiting', 'Steps that wait in line for a rate limit, by model.', waits),
    gaugeText('skein_event_loop_lag_seconds', 'The 99th percentile since the last read.', [
      [{}, Number.isFinite(lagSeconds) ? lagSeconds : 0],
    ]),
  ].join('')
}
