/** What a command may use of its process: streams, environment, signals. Only main.ts touches the real process. */
import type { Readable, Writable } from 'node:stream'

export type StopSignal = 'SIGINT' | 'SIGTERM'

export interface Screen extends NodeJS.WritableStream {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
}

export interface CliProcess {
  readonly stdin: Readable
  /** Whether stdin is a pipe, a file or a socket. */
  piped(): boolean
  /** Whether a person sits at a terminal and can be asked. */
  interactive(): boolean
  readonly stdout: Screen
  /** Stdout for one writer alone: what anything else writes there goes to stderr from now on. */
  ownStdout(): Writable
  readonly stderr: Writable
  readonly env: Readonly<Record<string, string | undefined>>
  onSignal(handler: (signal: StopSignal) => void): void
  /** Ends the process at once. */
  exit(code: number): void
}
