/**
 * The output of a body while it runs: progress, logs and preliminary events, for whoever watches.
 *
 * - A log line is cut at 16 KB. Past 1,000 lines and progress events, or 1 MB, in one second the rest of that second
 *   is dropped, and a line says so once per call. Preliminary events belong to the result and are never dropped.
 * - After `close` nothing is emitted.
 */
import type { Clock } from '../../src/core/clock.js'
import { toJson } from '../../src/core/json.js'
import type { Json } from '../../src/core/json.js'
import type { Redactor } from '../../src/core/redact/redact.js'
import type { ToolOutput } from '../../src/pool/port.js'

const longestLine = 16_384
const mostPerSecond = 1_000
const mostCharsPerSecond = 1_048_576

export interface ToolProgress {
  progress(event: unknown): void
  log(values: readonly unknown[]): void
  /** The event must be masked already. */
  preliminary(event: Json): void
  close(): void
}

export interface ProgressOptions {
  readonly clock: Clock
  readonly redactor: Redactor | undefined
  emit(output: ToolOutput): void
}

export function createProgress({ clock, redactor, emit }: ProgressOptions): ToolProgress {
  let closed = false
  let second = -1
  let count = 0
  let chars = 0
  let dropReported = false
  const isAllowed = (size: number): boolean => {
    const now = Math.floor(clock.now() / 1_000)
    if (now !== second) {
      second = now
      count = 0
      chars = 0
    }
    count++
    chars += size
    if (count <= mostPerSecond && chars <= mostCharsPerSecond) return true
    if (!dropReported)
      emit({
        type: 'log',
        text: `[this call says more than ${mostPerSecond} lines or 1 MB in a second: some of it is dropped]`,
      })
    dropReported = true
    return false
  }
  return {
    progress(event) {
      if (closed) return
      const json = toJson(event)
      const clean = redactor ? redactor.json(json) : json
      if (isAllowed(JSON.stringify(clean).length)) emit({ type: 'progress', event: clean })
    },
    log(values) {
      if (closed) return
      const whole = values.map(logText).join(' ')
      const clean = redactor ? redactor.text(whole) : whole
      const text = clean.length > longestLine ? `${clean.slice(0, longestLine)}… [${clean.length} characters]` : clean
      if (isAllowed(text.length)) emit({ type: 'log', text })
    },
    preliminary(event) {
      if (!closed) emit({ type: 'preliminary', event })
    },
    close() {
      closed = true
    },
  }
}

function logText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(toJson(value))
}
