/**
 * The verdict on a run: its status with a value or an error. Owns the wording for what the engine throws.
 *
 * - Memory is the cause only if the engine says so, or if it throws nothing at all after it was refused memory: then it
 *   had none left for an error.
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
  /** Thrown while source was compiled. */
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
/** How the loader's message about an unknown specifier begins. */
export const missingModule = 'the code imports '
const missingExport = /^Could not find export /

interface EngineState {
  readonly exhausted: boolean
  readonly memoryLimitBytes: number
  readonly sourceStack: (stack: string) => string
}

export function guestVerdict(thrown: GuestThrown | undefined, engine: EngineState): Verdict {
  if (!thrown) return engine.exhausted ? memoryError(engine.memoryLimitBytes) : stackError()
  const { name, message, compiling } = thrown
  if (name === 'InternalError' && outOfMemory.test(message)) return memoryError(engine.memoryLimitBytes)
  if (message.startsWith(missingModule) || (name === 'SyntaxError' && missingExport.test(message)))
    return linkError(message)
  const stack = engine.sourceStack(thrown.stack ?? '')
  const position = compiling ? /(\S+:\d+:\d+)/.exec(stack)?.[1] : undefined
  return {
    status: 'error',
    error: {
      name,
      message: position === undefined ? message : `${message} (${position})`,
      ...(stack !== '' && { stack }),
    },
  }
}
