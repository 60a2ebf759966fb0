/** O · Observability. What an operator sees. */
import { item, proved } from './clause.js'
import type { Section } from './clause.js'

export const observability: Section = {
  O1: item(
    'Traces, metrics and logs, redacted',
    proved(
      'OpenTelemetry spans by the GenAI conventions, with errors, retries, restarts and usage',
      'O1: one trace from the request of a client over HTTP through a thread, its tools and its children',
      'O1: a turn that failed and is resumed stays in its trace; retries, waiting for people and errors are on their spans',
      'C1, O1: run --otlp sends the trace of its turn to a collector; env takes the standard variables',
    ),
    proved(
      'One trace through parent, children and workers, over NATS too',
      'O1: one trace from the request of a client over HTTP through a thread, its tools and its children',
      'O1: of a parent and its children on two hosts is one trace, and each span comes of one host',
      'O1: a body on a worker runs in the span of its call; its record says what it took, in line apart from at work',
      "O1: spans of the app's own SDK are in the same trace: above a turn that is sent in one, below models and tools",
    ),
    proved(
      'A crash and a take-over give the same ids, and no span twice',
      'O1: cut off after every commit and gone on with, a tree has the same spans, each once, and all parents are there',
      'TC1: an id is a function of thread and key; a context that is none is no trace, and one that is not sampled is not recorded',
    ),
    proved(
      'Metrics as Prometheus text, of bounded labels',
      'O1: metrics count turns, steps, tokens, cost and calls by names of definitions, for keys that are bound to nothing',
      'O1: a host that counts nothing has no metrics, and says how to have them',
      'RG1: names past the limit of a metric count as other',
    ),
    proved(
      'Structured logs',
      'O1: a secret that bodies return and throw, and models say, is in no byte of traces, metrics, logs and answers',
      'C1, H1: serve answers HTTP with the keys of the environment; SIGTERM ends streams and hands over',
    ),
    proved(
      'All of it redacted',
      'O1: a secret that bodies return and throw, and models say, is in no byte of traces, metrics, logs and answers',
    ),
    proved(
      'Where nobody observes it costs nothing; what observes costs no thread anything',
      'O1: without a trace no byte of a journal changes, whatever a client sends; with one, only the trace is there',
      'O1: where nobody observes, nothing of tracing, metrics and logs is loaded',
      'O1: an observer that throws, and a collector that is away or refuses, cost no thread anything and are told of once',
      'O1: wrong options of observers are refused, and the environment says where spans go',
    ),
  ),
  O2: item(
    'Usage and cost per step, thread, subtree and model',
    proved(
      'Per thread, subtree and model',
      'O2: per step, thread, subtree and model; what each child and all below it spent is told with its answer',
      'O2: what a child that stays did for others comes up too, when it rests',
    ),
    proved('Per step', 'O2: the record of each reply has what that step used and cost'),
    proved(
      'Cost as the provider says it, or by the prices of the definition',
      'O2: %s: cached tokens are counted, and cost what they cost',
      'O2: what the provider says that it cost is what it cost',
      'what the provider does not price is priced by the definition',
    ),
  ),
}
