/**
 * What a turn came to, for those who wait for that alone. Its host has folded every record and says so with the commit
 * that ends the turn (`results`): then nothing is folded a second time.
 *
 * - Records of the journal are folded, as far as no commit was only told: a turn that is over is read once.
 * - `untold`: the turn has ended, and neither its end was told nor all of it folded: a signal was lost, or another host
 *   took over. It is read from the journal then, by a reader that folds everything.
 */
import type { ThreadRecord } from '../../core/records/record.js'
import type { RunResult } from './projection.js'
import { beginsRun } from './run-streams.js'
import type { RunLocation } from './run-streams.js'
import type { CommitSignal, TurnResult } from './topics.js'
import { TurnView, endsThread, neverBegun } from './turn-view.js'

export class ResultReader {
  readonly #location: RunLocation
  readonly #isTold: boolean
  /** Undefined as soon as a commit was not folded. */
  #view: TurnView | undefined
  #begun = false

  /** `isTold`: whether it relies on what hosts tell. */
  constructor(location: RunLocation, { isTold = true }: { readonly isTold?: boolean } = {}) {
    this.#location = location
    this.#isTold = isTold
    this.#view = new TurnView((record) => beginsRun(record, location))
  }

  /** The result, if the turn has ended with this commit. */
  take({ records, results }: CommitSignal): RunResult | 'untold' | undefined {
    const told = this.#isTold ? results : undefined
    if (told) this.#view = undefined
    for (const record of records) {
      this.#begun ||= beginsRun(record, this.#location)
      const result = told?.find((each) => this.#isOwn(each, record))?.result ?? this.#resultAt(record)
      if (result) return result
    }
    return undefined
  }

  /** A run may have had a turn before: the record tells them apart. */
  #isOwn({ run, seq }: TurnResult, record: ThreadRecord): boolean {
    return this.#begun && run === this.#location.run && seq === record.seq
  }

  #resultAt(record: ThreadRecord): RunResult | 'untold' | undefined {
    return this.#view ? this.#view.take(record).result : this.#endOf(record)
  }

  /** Without a fold: whether the turn is over. */
  #endOf(record: ThreadRecord): RunResult | 'untold' | undefined {
    if (!this.#begun) return endsThread(record) ? neverBegun : undefined
    return mayEndTurn(record, this.#location.run) ? 'untold' : undefined
  }
}

function mayEndTurn(record: ThreadRecord, run: string): boolean {
  return record.type === 'thread.rewound' || (record.type === 'turn.ended' && record.run === run)
}
