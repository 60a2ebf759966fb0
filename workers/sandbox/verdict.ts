/**
 * What became of a run: its status with a value or an error. Owns the words for what the engine throws.
 *
 * - Memory counts as the cause only where the engine says so, or where it throws nothing at all after having been
 *   refused memory: then it had none left to say it.
 */
import type { Json } from '../../src/core/json.js'
import type { CodeResult, CodeStatus } from '../../src/tools/code.js'

type CodeError = NonNullable<CodeResult['error']>

export type Verdict =
  | { readonly status: 'success'; readonly result: Json }
  | { readonly status: Exclude<CodeStatus, 'success'>; readonly error: CodeError }

/** What was thrown inside, as the prelude describes it. */
export interface GuestThrown {
  readonly name: string
  readonly message: string
  readonly stack?: string
  /** The engine was reading source. */
  readonly compiling?: boolean
}

export function linkError(message: string): Verdict {
  return { status: 'link_error', error: { name: 'LinkError', message } }
}

export function memoryError(limitBytes: number): Verdict {
  return {
    status: 'memory',
    error: { name: 'MemoryError', message: `the code needed more than its ${limitBytes} bytes of memory` },
  }
}

export function timeoutError(timeoutMs: number): Verdict {
  return { status: 'timeout', error: { name: 'TimeoutError', message: `the code did not end within ${timeoutMs} ms` } }
}

export function terminatedError(message: string): Verdict {
  return { status: 'terminated', error: { name: 'TerminatedError', message } }
}

export function stackError(): Verdict {
  return { status: 'error', error: { name: 'InternalError', message: 'stack overflow' } }
}

/** `string too long` is a text longer than any memory that may be asked for. */
const outOfMemory = /^(?:out of memory|string too long)$/
/** So the loader begins to say that a specifier is not there. */
export const missingModule = 'the code imports '
const missingExport = /^Could not find export /

interface Facts {
  readonly exhausted: boolean
  readonly memoryLimitBytes: number
  readonly written: (stack: string) => string
}

export function guestVerdict(thrown: GuestThrown | undefined, facts: Facts): Verdict {
  if (!thrown) return facts.exhausted ? memoryError(facts.memoryLimitBytes) : stackError()
  const { name, message, compiling } = thrown
  if (name === 'InternalError' && outOfMemory.test(message)) return memoryError(facts.memoryLimitBytes)
  if (message.startsWith(missingModule) || (name === 'SyntaxError' && missingExport.test(message)))
    return linkError(message)
  const stack = facts.written(thrown.stack ?? '')
  const place = compiling ? /(\S+:\d+:\d+)/.exec(stack)?.[1] : undefined
  return {
    status: 'error',
    error: { name, message: place === undefined ? message : `${message} (${place})`, ...(stack !== '' && { stack }) },
  }
}
