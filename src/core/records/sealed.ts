/**
 * Sealed values in records: where they are, and how a record reads without them. A journal that leaves its store takes
 * none along; whoever reads it elsewhere puts others in their place.
 */
import type { Env } from '../env.js'
import type { ChildCall, SealedValues } from './child.js'
import type { RecordedCall } from './call.js'
import type { ThreadRecord } from './record.js'
import { pastKey, standingOn } from './travel.js'
import type { ThreadBased } from './travel.js'

/** What stands in place of sealed values. */
export interface SealedReplacement {
  readonly keys: readonly string[]
  value(name: string): string
}

/** The record with other sealed values; the record itself where it holds none. */
export function replaceSealed(record: ThreadRecord, replacement: SealedReplacement): ThreadRecord {
  switch (record.type) {
    case 'thread.created':
      return record.env ? { ...record, env: inEnv(record.env, replacement) } : record
    case 'thread.based':
      return inFork(record, replacement)
    case 'env.changed':
      return {
        ...record,
        keys: replacement.keys,
        set: mapped(record.set, (name, value) => (value === null ? null : replacement.value(name))),
      }
    case 'variables.provided':
      return { ...record, ...inValues(record, replacement) }
    case 'child.booted':
      return record.child.own ? { ...record, child: inChild(record.child, replacement) } : record
    case 'model.replied':
    case 'calls.made':
      return record.calls.some(holdsSealed)
        ? { ...record, calls: record.calls.map((call) => inCall(call, replacement)) }
        : record
    default:
      return record
  }
}

/** What stands in the record itself is left out; the records that it stands on are as others. */
function inFork(record: ThreadRecord & ThreadBased, replacement: SealedReplacement): ThreadRecord {
  const { past, [pastKey]: on } = record
  const shown = 'entries' in past ? { ...record, past: { entries: [] } } : record
  if (!on) return shown
  const records = on.records.map((each) => replaceSealed(each, replacement))
  return standingOn(shown, { thread: on.thread, records })
}

function inEnv({ own, inherited }: Env, { keys, value }: SealedReplacement): Env {
  return { keys, own: mapped(own, value), inherited: mapped(inherited, value) }
}

function inValues({ set }: SealedValues, { keys, value }: SealedReplacement): SealedValues {
  return { keys, set: mapped(set, value) }
}

function inChild(child: ChildCall, replacement: SealedReplacement): ChildCall {
  return child.own ? { ...child, own: inValues(child.own, replacement) } : child
}

function holdsSealed({ child, deferred }: RecordedCall): boolean {
  return child?.own !== undefined || deferred?.child.own !== undefined
}

function inCall(call: RecordedCall, replacement: SealedReplacement): RecordedCall {
  const { child, deferred } = call
  return {
    ...call,
    ...(child && { child: inChild(child, replacement) }),
    ...(deferred && { deferred: { ...deferred, child: inChild(deferred.child, replacement) } }),
  }
}

function mapped<Before, After>(
  values: Readonly<Record<string, Before>>,
  change: (name: string, value: Before) => After,
): Readonly<Record<string, After>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, change(name, value)]))
}
