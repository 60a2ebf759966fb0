/**
 * What code in a worker prints. It must not reach the host's stdout, which belongs to the host.
 *
 * - What a body prints is a line of its call's log, masked and bounded like any other. What is printed for no known
 *   call, or after the call is over (by an import, by code that a body left behind), goes to the host's stderr.
 * - `console`, `process.stdout` and `process.stderr` are redirected; writes to a file descriptor, and child processes
 *   that inherit one, are not.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { CallPort } from './host-port.js'
import type { ToolProgress } from '../body/progress.js'
import type { CallRecorder } from '../body/call-recorder.js'

/** The call that code runs for. */
interface RunningCall {
  readonly port: CallPort
  readonly recorder: CallRecorder
}

const calls = new AsyncLocalStorage<RunningCall>()

/** Code that runs from here on, also later, runs for this call. */
export function runForCall<Result>(call: RunningCall, run: () => Result): Result {
  return calls.run(call, run)
}

/** The call that the current code runs for. It may be over. */
export function currentCall(): { readonly call: number; readonly tool: string } | undefined {
  const current = calls.getStore()
  return current && { call: current.port.call, tool: current.recorder.job.tool }
}

/** `fallback` logs what is printed for no running call. */
export function redirectOutput(fallback: ToolProgress): void {
  const print = (text: string): void => {
    const current = calls.getStore()
    const log = current && !current.port.closed ? current.recorder.progress : fallback
    const line = text.replace(/\n$/, '')
    if (line !== '') log.log([line])
  }
  for (const stream of [process.stdout, process.stderr]) {
    const write = (chunk: unknown, ...rest: readonly unknown[]): boolean => {
      print(textOf(chunk, rest[0]))
      const callback = rest.find((argument) => typeof argument === 'function')
      if (callback) queueMicrotask(() => void Reflect.apply(callback, undefined, []))
      return true
    }
    Object.defineProperty(stream, 'write', { value: write, configurable: true, writable: true })
  }
}

function textOf(chunk: unknown, encoding: unknown): string {
  if (typeof chunk === 'string')
    return typeof encoding === 'string' && Buffer.isEncoding(encoding) ? Buffer.from(chunk, encoding).toString() : chunk
  return chunk instanceof Uint8Array ? Buffer.from(chunk).toString() : String(chunk)
}
