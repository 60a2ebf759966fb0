/**
 * What a body says while it runs: progress, logs and preliminary events, on their way to whoever watches.
 *
 * - A line of a log is cut at 16 KB; past 1,000 lines and steps of progress, or 1 MB, in one second the rest of
 *   that second is dropped, and once per call it is said that something was. Preliminary events belong to the
 *   result: none is dropped.
 * - After the call is over nothing is said.
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
  log(what: readonly unknown[]): void
  /** Already JSON, and masked. */
  preliminary(event: Json): void
  close(): void
}

export interface ProgressOptions {
  readonly clock: Clock
  readonly redactor: Redactor | undefined
  emit(what: ToolOutput): void
}

export function createProgress({ clock, redactor, emit: said }: ProgressOptions): ToolProgress {
  let silent = false
  let second = -1
  let count = 0
  let chars = 0
  let noted = false
  const allowed = (size: number): boolean => {
    const now = Math.floor(clock.now() / 1_000)
    if (now !== second) {
      second = now
      count = 0
      chars = 0
    }
    count++
    chars += size
    if (count <= mostPerSecond && chars <= mostCharsPerSecond) return true
    if (!noted)
      said({
        type: 'log',
        text: `[this call says more than ${mostPerSecond} lines or 1 MB in a second: some of it is dropped]`,
      })
    noted = true
    return false
  }
  return {
    progress(event) {
      if (silent) return
      const json = toJson(event)
      const clean = redactor ? redactor.json(json) : json
      if (allowed(JSON.stringify(clean).length)) said({ type: 'progress', event: clean })
    },
    log(what) {
      if (silent) return
      const whole = what.map(spoken).join(' ')
      const clean = redactor ? redactor.text(whole) : whole
      const text = clean.length > longestLine ? `${clean.slice(0, longestLine)}… [${clean.length} characters]` : clean
      if (allowed(text.length)) said({ type: 'log', text })
    },
    preliminary(event) {
      if (!silent) said({ type: 'preliminary', event })
    },
    close() {
      silent = true
    },
  }
}

function spoken(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(toJson(value))
}
