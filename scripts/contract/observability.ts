/** O · Observability. What an operator sees. */
import { item, open, proved } from './clause.js'
import type { Section } from './clause.js'

export const observability: Section = {
  O1: item(
    'Traces, metrics and logs, redacted',
    open('OpenTelemetry spans by the GenAI conventions'),
    open('One trace through parent, children and workers, over NATS too'),
    open('Metrics as Prometheus text'),
    open('Structured logs'),
    open('All of it redacted'),
  ),
  O2: item(
    'Usage and cost per step, thread, subtree and model',
    proved(
      'Per thread, subtree and model',
      'O2: per step, thread, subtree and model; what each child and all below it spent is told with its answer',
      'O2: what a child that stays did for others comes up too, when it rests',
    ),
    open('Per step', 'the record of each reply has it; no test reads it there'),
    proved(
      'Cost as the provider says it, or by the prices of the definition',
      'O2: %s: cached tokens are counted, and cost what they cost',
      'O2: what the provider says that it cost is what it cost',
      'what the provider does not price is priced by the definition',
    ),
  ),
}
