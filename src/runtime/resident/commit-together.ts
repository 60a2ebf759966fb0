/**
 * Commits what several threads have decided: all of it or nothing. Knows the outboxes while the store has it, and tells
 * each what became of it.
 *
 * - No promise but that of the store, and no async function: every step of every thread is a commit.
 */
import type { Commit, CommitResult } from '../../backend/port.js'
import { broken, SkeinError, toFailure } from '../../core/failure.js'
import { noItems, withItem } from '../../core/lists.js'
import type { Services } from '../services.js'
import type { Outbox, OutboxOptions, Part } from './outbox.js'

/** Commits what was decided in these outboxes since their last commits: all of it, or nothing. */
export function commitTogether(
  { backend, services }: Pick<OutboxOptions, 'backend' | 'services'>,
  outboxes: readonly Outbox[],
): void {
  let parts: Part[] = noItems
  for (const outbox of outboxes) {
    const part = outbox.begin()
    if (part) parts = withItem(parts, part)
  }
  const [first] = parts
  if (!first) return
  if (parts.length < outboxes.length && outboxes.length > 1) {
    const why = broken('LM2', `${outboxes.length} threads were to be written together, and ${parts.length} can be`)
    return parts.forEach((part) => part.outbox.failed(part, why))
  }
  const commit = new CommitUnderWay(parts, services)
  backend.commit(withOthers(first, parts)).then(commit.written, commit.failed)
}

function withOthers({ commit }: Part, parts: readonly Part[]): Commit {
  if (parts.length === 1) return commit
  const { thread, expected, epoch, sends, done, ...rest } = commit
  return { thread, expected, epoch, sends, done, also: parts.slice(1).map((part) => part.commit), ...rest }
}

/** What was handed to the store, of one thread or of several. */
class CommitUnderWay {
  readonly #parts: readonly Part[]
  readonly #services: Services
  readonly #since: number | undefined

  constructor(parts: readonly Part[], services: Services) {
    this.#parts = parts
    this.#services = services
    this.#since = services.observing && services.clock.now()
  }

  readonly written = (result: CommitResult): void => {
    try {
      this.#tell(result)
    } catch (thrown) {
      this.failed(thrown)
    }
  }

  readonly failed = (thrown: unknown): void => {
    const parts = this.#parts
    for (const { outbox } of parts) outbox.over()
    // Which of several the failure is about is not known: each is tried alone, and none is given up for another.
    const why = parts.length > 1 ? failedTogether(parts.length, thrown) : thrown
    for (const part of parts) part.outbox.failed(part, why)
  }

  #tell(result: CommitResult): void {
    const parts = this.#parts
    for (const { outbox } of parts) outbox.over()
    if (!result.ok) return parts.forEach((part) => part.outbox.refused(part, result))
    const { observing, clock } = this.#services
    if (this.#since !== undefined)
      for (const { batch } of parts) observing?.committed(clock.now() - this.#since, batch.records.length)
    parts.forEach((part, index) => {
      const placed = index === 0 ? result : result.also?.[index - 1]
      part.outbox.committed(part, placed ?? { position: result.position })
    })
  }
}

function failedTogether(count: number, cause: unknown): SkeinError {
  const why = toFailure(cause, 'STORE_FAILED').message
  return new SkeinError('STORE_FAILED', `a commit of ${count} threads failed: ${why}`, { retry: true, cause })
}
