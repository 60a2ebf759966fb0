/**
 * What code in a worker thread prints: the host's stdout is the host's own.
 *
 * - What a body prints is a line of its call's log, masked and bounded like any other. What is printed when no call
 *   is known, or when the call is over (by an import, by what a body left behind), goes to the host for its stderr.
 * - `console`, `process.stdout` and `process.stderr` are caught; a file descriptor and a child process that
 *   inherits one are not.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { CallPort } from './host-port.js'
import type { ToolProgress } from '../body/progress.js'
import type { CallRecorder } from '../body/call-recorder.js'

interface Speaker {
  readonly line: CallPort
  readonly sheet: CallRecorder
}

const speakers = new AsyncLocalStorage<Speaker>()

/** What is printed from here on, also later, is said by the speaker. */
export function runAsSpeaker<Given>(speaker: Speaker, run: () => Given): Given {
  return speakers.run(speaker, run)
}

/** The tool whose body, or what it left behind, runs now. */
export function speakingTool(): string | undefined {
  return speakers.getStore()?.sheet.job.tool
}

/** `nobody` says what has no speaker. */
export function catchOutput(nobody: ToolProgress): void {
  const print = (text: string): void => {
    const speaker = speakers.getStore()
    const voice = speaker && !speaker.line.closed ? speaker.sheet.progress : nobody
    const line = text.replace(/\n$/, '')
    if (line !== '') voice.log([line])
  }
  for (const stream of [process.stdout, process.stderr]) {
    const write = (chunk: unknown, ...rest: readonly unknown[]): boolean => {
      print(textOf(chunk, rest[0]))
      const written = rest.find((each) => typeof each === 'function')
      if (written) queueMicrotask(() => void Reflect.apply(written, undefined, []))
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
