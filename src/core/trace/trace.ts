/**
 * Traces: how the spans of threads are named. A trace context is a W3C `traceparent` (`00-<trace>-<span>-<flags>`).
 *
 * TC1 The id of a span is a function of its thread and the key of its effect: a crash, a take-over and a replay give
 *     the same ids, and the parent of a span is computed, not carried.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'

export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly trace: string
  /** 16 hexadecimal digits: the span above; undefined where there is none. */
  readonly parent?: string
  /** False: whoever began the trace does not want it recorded. */
  readonly sampled: boolean
}

const noSpan = '0'.repeat(16)
const form = /^00-(?!0{32})([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

export const traceSchema = z.string().regex(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/, {
  error: 'must be a W3C traceparent, as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
})

/** Undefined where it is none: a sender's mistake must not cost its message. */
export function readTrace(text: string | null | undefined): TraceContext | undefined {
  const [, trace, span, flags] = form.exec(text ?? '') ?? []
  if (trace === undefined || span === undefined || flags === undefined) return undefined
  return { trace, sampled: (parseInt(flags, 16) & 1) === 1, ...(span !== noSpan && { parent: span }) }
}

/** The trace of a turn whose sender gave none. */
export function ownTrace(root: string, run: string): string {
  return `00-${digest(`${root}\n${run}`, 32)}-${noSpan}-01`
}

/** The same trace, below the span of an effect: what travels with whatever the effect begins. */
export function traceBelow(trace: string, thread: string, key: string): string {
  return `${trace.slice(0, 36)}${spanIdOf(thread, key)}${trace.slice(52)}`
}

export function spanIdOf(thread: string, key: string): string {
  return digest(`${thread}/${key}`, 16)
}

function digest(text: string, digits: number): string {
  return hash('sha256', text, 'hex').slice(0, digits)
}
