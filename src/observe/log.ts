/**
 * Structured logs: a line for each turn, and for what an operator should know. To a logger of the app (`info`, `warn`,
 * `error`, as pino has them), or as lines of JSON.
 *
 * - A line has ids, names, codes and amounts. It has no message, args or result of a thread.
 */
import { z } from 'zod'
import { systemClock } from '../core/clock.js'
import { defined } from '../core/defined.js'
import { isObject, textOf } from '../core/json.js'
import { checkOptions } from '../core/options.js'
import { readTrace, spanIdOf } from '../core/trace/trace.js'
import type { Observation, Observer } from './port.js'
import { spanErrorOf } from './span.js'

export interface Logger {
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}

export interface LogOptions {
  /** Where lines go: a logger, or a function that takes a line of JSON. Default: lines on stderr. */
  readonly to?: Logger | ((line: string) => void)
}

const schema = z.strictObject({
  to: z
    .custom<Logger | ((line: string) => void)>(
      (value) => typeof value === 'function' || isLogger(value),
      'must be a logger with info, warn and error, or a function that takes a line',
    )
    .optional(),
})

function isLogger(value: unknown): boolean {
  return isObject(value) && ['info', 'warn', 'error'].every((level) => typeof value[level] === 'function')
}

/** Writes a line for each turn that ends here, and for each warning. */
export function log(options: LogOptions = {}): Observer {
  checkOptions(schema, options, 'log')
  const { to = (line: string) => void process.stderr.write(`${line}\n`) } = options
  const logger = typeof to === 'function' ? jsonLogger(to) : to
  return {
    observed(observation) {
      if (observation.kind === 'turn') logTurn(logger, observation)
      else if (observation.kind === 'hook' && observation.failure)
        logger.warn(fieldsOf(observation), `a hook failed: ${observation.name}`)
    },
    warned(what, thrown) {
      const error = thrown instanceof Error ? thrown.message : textOf(thrown)
      logger.warn(thrown === undefined ? {} : { error }, what)
      return true
    },
    happened(event) {
      // Turns are told by their observation, which has more of them.
      if (event.type !== 'turn') logger.info({ ...event }, `host: ${event.type}`)
    },
  }
}

function logTurn(logger: Logger, observation: Observation): void {
  const text = `turn of ${observation.agent}: ${observation.reason ?? ''}`
  if (spanErrorOf(observation)) logger.error(fieldsOf(observation), text)
  else logger.info(fieldsOf(observation), text)
}

function fieldsOf(observation: Observation): object {
  const { thread, root, agent, run, step, reason, usage, startedAt, endedAt, key } = observation
  const trace = readTrace(observation.trace)
  return {
    thread,
    root,
    agent,
    run,
    ...defined({ step, reason }),
    durationMs: endedAt - startedAt,
    ...(usage && { inputTokens: usage.inputTokens, outputTokens: usage.outputTokens, costUsd: usage.costUsd }),
    ...defined({ error: spanErrorOf(observation)?.type }),
    ...(trace && { trace_id: trace.trace, span_id: spanIdOf(thread, key) }),
  }
}

function jsonLogger(write: (line: string) => void): Logger {
  const line =
    (level: string) =>
    (fields: object, message: string): void =>
      write(JSON.stringify({ time: new Date(systemClock.now()).toISOString(), level, msg: message, ...fields }))
  return { info: line('info'), warn: line('warn'), error: line('error') }
}
