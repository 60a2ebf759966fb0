/**
 * What a command has of the process that it runs in. Nothing else in this folder but main.ts knows that there is one.
 */
import type { Readable, Writable } from 'node:stream'

export type StopSignal = 'SIGINT' | 'SIGTERM'

export interface Screen extends NodeJS.WritableStream {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

export interface CliProcess {
  readonly stdin: Readable
  /** Whether someone gives something on stdin. */
  piped(): boolean
  /** Whether a person sits there, who can be asked. */
  interactive(): boolean
  readonly stdout: Screen
  readonly stderr: Writable
  readonly env: Readonly<Record<string, string | undefined>>
  onSignal(heard: (signal: StopSignal) => void): void
  /** Ends the process at once. */
  exit(code: number): void
}
