/**
 * `state.runCode`: what a body may ask of the sandbox, and what it gets back (X1). The sandbox itself is in
 * workers/sandbox; docs/sandbox.md says what it promises.
 */
import type { Json } from '../core/json.js'

/**
 * A function of the body that the code may call. Its arguments and its value cross as JSON; what it throws is an Error
 * inside, with the same name and message. If it gives a promise, the code gets one.
 */
export type HostFunction = (...args: readonly Json[]) => unknown

export interface CodeOptions {
  /** Default `js`. In `ts` the types of the code and of `modules` are stripped, not checked. */
  readonly language?: 'js' | 'ts'
  /** Name of an exported function to call, with its arguments; without it the value is that of the default export. */
  readonly execute?: string | { readonly name: string; readonly args?: readonly Json[] }
  /** Functions of the body, by the name under which the code imports them: `import { fetchPage } from 'host'`. */
  readonly imports?: Readonly<Record<string, HostFunction>>
  /** Values that the code finds under these names. */
  readonly globals?: Readonly<Record<string, Json>>
  /** Sources that the code may import, by exactly this specifier. Not free: `host`, `code`, `skein:…`. */
  readonly modules?: Readonly<Record<string, string>>
  /** What the code's values may take: 1 MB to 1 GB, default 64 MB. */
  readonly memoryLimitBytes?: number
  /** From the call of `runCode` on, waiting for host functions included: up to an hour, default 5,000. */
  readonly timeoutMs?: number
}

/**
 * `error`: the code threw, or is not JavaScript. `link_error`: the options, or what the code imports or should export,
 * do not fit. `memory`, `timeout`: it went past a limit. `terminated`: by `terminate`, or by the end of the call.
 */
export type CodeStatus = 'success' | 'error' | 'link_error' | 'memory' | 'terminated' | 'timeout'

export interface CodeResult {
  readonly status: CodeStatus
  /** Of `success`; null where the code came to nothing. */
  readonly result?: Json
  /** Of everything else. Lines and columns are those of what was written, also in `ts`. */
  readonly error?: { readonly name: string; readonly message: string; readonly stack?: string }
  /** What `console` was told; the first 1,000. */
  readonly logs: readonly { readonly level: 'log' | 'info' | 'warn' | 'error' | 'debug'; readonly text: string }[]
  /** What `report(value)` was given; it throws past 1,000. */
  readonly reports: readonly Json[]
  readonly durationMs: number
}

/** Await it for the result. It never rejects. */
export interface CodeRun extends PromiseLike<CodeResult> {
  /** Ends the code whatever it does, also in a loop; the result says `terminated` and why. */
  terminate(reason?: string): void
}

/** Starts at once. */
export type RunCode = (source: string, options?: CodeOptions) => CodeRun
