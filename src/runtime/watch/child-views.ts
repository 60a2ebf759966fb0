/**
 * The children of a thread as a watcher sees them: the entries of `thread.children()`, and what each was asked, has
 * spent and why it failed, which is read off the records.
 *
 * - A record gives the rows that it changed and costs no look at the others: a parent may have thousands.
 */
import { childEntry, childrenInLine, childrenOf } from '../../../actors/thread/children/list.js'
import type { ChildEntry } from '../../../actors/thread/children/list.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import { defined } from '../../core/defined.js'
import type { Failure } from '../../core/failure.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { addUsage, noUsage, sumUsage } from '../../core/usage.js'
import type { Usage } from '../../core/usage.js'

export interface ChildView extends Omit<ChildEntry, 'status'> {
  /** As in `thread.children()`; `not started` is told once, of one that was in line and will not be called. */
  readonly status: ChildEntry['status'] | 'not started'
  /** The message that it was last called with. */
  readonly topic?: string
  /** What it and all threads below it have spent, as far as it has reported. */
  readonly usage: Usage
  /** Why its last answer is none; absent while it works on another. */
  readonly failure?: Failure
}

interface Details {
  topic?: string | undefined
  usage: Usage
  failure?: Failure | undefined
}

/** What must be known of the state before a record is folded into it. */
interface Before {
  readonly reference: string | undefined
  readonly usageBelow: Usage
}

const none: readonly ChildView[] = []

export class ChildViews {
  readonly #state: ThreadState
  readonly #details = new Map<string, Details>()
  /** Those in line, by reference, as they were told last. */
  #inLine = new Map<string, ChildEntry>()

  constructor(state: ThreadState) {
    this.#state = state
  }

  get all(): readonly ChildView[] {
    return childrenOf(this.#state).map((entry) => this.#view(entry))
  }

  /** Called before the record is folded; `after` takes what it gives. */
  before(record: ThreadRecord): Before {
    return { reference: this.#referenceOf(record), usageBelow: this.#state.usageBelow }
  }

  /** The rows that the record has changed. */
  after(record: ThreadRecord, { reference, usageBelow }: Before): readonly ChildView[] {
    this.#note(record, reference, this.#state.usageBelow !== usageBelow)
    if (record.type === 'model.replied' || record.type === 'calls.made') return this.#lineUp()
    const own = reference === undefined ? none : this.#changed(reference)
    return this.#inLine.size > 0 && !this.#state.turn ? [...own, ...this.#dissolveLine()] : own
  }

  #referenceOf(record: ThreadRecord): string | undefined {
    switch (record.type) {
      case 'child.called':
        return this.#state.slots.items[record.index]?.call.child?.reference
      case 'child.booted':
        return record.child.reference
      case 'child.restarted':
      case 'child.reported':
      case 'child.told':
        return record.reference
      default:
        return undefined
    }
  }

  #note(record: ThreadRecord, reference: string | undefined, counted: boolean): void {
    if (reference === undefined || !this.#state.children.has(reference)) return
    const details = this.#details.get(reference) ?? { usage: noUsage }
    this.#details.set(reference, details)
    switch (record.type) {
      case 'child.called':
        details.topic = this.#state.slots.items[record.index]?.call.child?.text
        details.failure = record.refused
        break
      case 'child.booted':
        details.topic = record.child.text
        details.failure = record.refused
        break
      case 'child.restarted':
        details.failure = record.refused
        break
      case 'child.reported':
        if (counted) details.usage = addUsage(details.usage, sumUsage(record.spent?.byModel ?? []))
        if (!record.unasked) details.failure = failureIn(record)
        break
      default:
    }
  }

  #changed(reference: string): readonly ChildView[] {
    const child = this.#state.children.get(reference)
    const waited = this.#inLine.get(reference)
    this.#inLine.delete(reference)
    if (child) return [this.#view(childEntry(reference, child))]
    return waited ? [this.#notStarted(waited)] : none
  }

  #lineUp(): readonly ChildView[] {
    const line = childrenInLine(this.#state)
    this.#inLine = new Map(line.map((entry) => [entry.reference, entry]))
    return line.map((entry) => this.#view(entry))
  }

  #dissolveLine(): readonly ChildView[] {
    const waited = [...this.#inLine.values()]
    this.#inLine.clear()
    return waited.map((entry) => this.#notStarted(entry))
  }

  #notStarted({ place: _, ...entry }: ChildEntry): ChildView {
    return { ...entry, status: 'not started', usage: noUsage }
  }

  #view(entry: ChildEntry): ChildView {
    const { usage = noUsage, topic, failure } = this.#details.get(entry.reference) ?? {}
    return { usage, ...entry, ...defined({ topic, failure }) }
  }
}

/** An attempt that is followed by another is no answer yet; a quiet one says that the child is over. */
function failureIn({ outcome, again, quiet }: Extract<ThreadRecord, { type: 'child.reported' }>): Failure | undefined {
  return outcome.ok || again || quiet ? undefined : outcome.failure
}
