/** What a check of a Skein found: for `skein doctor`, and for whoever wants to ask the same. */
import { defined } from './defined.js'
export interface Finding {
  /** What was looked at, in a word. */
  readonly check: string
  /** `warn`: it works, and someone should know. `fail`: it does not. */
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

/** The level of a part of something that is used up: full is a failure. */
export function fullness(part: number): Finding['level'] {
  return part >= 0.95 ? 'fail' : part >= 0.8 ? 'warn' : 'ok'
}
