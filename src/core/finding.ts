/** The result of one health check: what `skein doctor` and `diagnose` report. */
import { defined } from './defined.js'

export interface Finding {
  /** The name of the check, in one word. */
  readonly check: string
  /** `warn`: works, but an operator should know. `fail`: does not work. */
  readonly level: 'ok' | 'warn' | 'fail'
  readonly says: string
  /** What to do about it. */
  readonly advice?: string
}

export function finding(
  check: string,
  level: Finding['level'],
  ...[says, advice]: readonly [string, string?]
): Finding {
  return { check, level, says, ...defined({ advice }) }
}

/** The level for a resource of which this fraction is used. */
export function fullness(fraction: number): Finding['level'] {
  if (fraction >= 0.95) return 'fail'
  return fraction >= 0.8 ? 'warn' : 'ok'
}
