/**
 * Removing trees, and the sweep of the blobs that they leave. Owns where this process is in its sweep.
 *
 * - The root's last message says that the tree is being removed; from then on nobody writes to the root. Whoever would
 *   write to it, or takes over its partition, finishes the removal first (erase-tree.ts).
 * - The blobs that a removed tree named are candidates. A sweep looks for them in all mail, then in all journals: what
 *   leaves a mailbox is in a journal by then. A candidate that nobody names is collected, unless it was put again since
 *   the sweep began (J10).
 */
import { z } from 'zod'
import { systemClock } from '../../../core/clock.js'
import { clientMayNot } from '../../checks.js'
import type { Removal, RemovalResult, Trees } from '../../port.js'
import type { StreamMessage } from '../connection/read.js'
import type { NatsContext } from '../context.js'
import type { Commits } from './commits.js'
import { blobsNamedBy, scanTexts } from './erase-tree.js'

interface Sweep {
  /** Sequences of the lists of candidates that this sweep completes. */
  readonly lists: readonly number[]
  /** The candidates, and the sequence of each one's message. */
  readonly doomed: Map<string, number>
  /** The next message of the journals to look at. */
  from: number
}

/** Messages that one slice of a sweep reads. */
const slice = 500
const listSchema = z.array(z.string())

export class NatsTrees implements Trees {
  readonly #context: NatsContext
  readonly #commits: Commits
  #sweep: Sweep | undefined

  constructor(context: NatsContext, commits: Commits) {
    this.#context = context
    this.#commits = commits
  }

  readonly remove = async (removal: Removal): Promise<RemovalResult> => {
    this.#assertHost('remove a tree')
    return this.#commits.removeTree(removal)
  }

  readonly sweep = async ({ olderThanMs }: { readonly olderThanMs: number }): Promise<{ readonly more: boolean }> => {
    this.#assertHost('sweep')
    this.#sweep ??= await this.#begin(systemClock.now() - olderThanMs)
    const sweep = this.#sweep
    if (!sweep) return { more: false }
    if (sweep.doomed.size > 0 && (await this.#spareNamed(sweep))) return { more: true }
    this.#sweep = undefined
    await this.#collect(sweep)
    return { more: false }
  }

  /** Undefined: there is nothing to do. */
  async #begin(before: number): Promise<Sweep | undefined> {
    const { reader, subjects, payloadOf } = this.#context
    const found: StreamMessage[] = []
    await reader.scan(
      { stream: subjects.streams.meta, filter: subjects.doomedLists },
      (message) => void found.push(message),
    )
    if (found.length === 0) return undefined
    const doomed = new Map<string, number>()
    const lists: number[] = []
    for (const message of found) {
      const hashes = listSchema.parse(JSON.parse(Buffer.from(await payloadOf(message)).toString()))
      const young = await this.#addOld(doomed, hashes, before)
      // A list with a blob that is too young is kept for a later sweep.
      if (!young) lists.push(message.seq)
    }
    await scanTexts(this.#context, { stream: subjects.streams.mail, filter: subjects.mails }, (message, text) =>
      spare(doomed, message, text),
    )
    await reader.scan(
      { stream: subjects.streams.snapshots, filter: subjects.snapshots, headersOnly: true },
      (message) => spare(doomed, message, ''),
    )
    return { lists, doomed, from: 1 }
  }

  /** Whether one of them is too young. */
  async #addOld(doomed: Map<string, number>, hashes: readonly string[], before: number): Promise<boolean> {
    const { reader, subjects } = this.#context
    let young = false
    for (const hash of hashes) {
      const blob = await reader.last(subjects.streams.blobs, subjects.blob(hash))
      if (blob && blob.at < before) doomed.set(hash, blob.seq)
      else if (blob) young = true
    }
    return young
  }

  /** Spares what a slice of the journals names; whether there are more journals to look at. */
  async #spareNamed(sweep: Sweep): Promise<boolean> {
    const { subjects } = this.#context
    let looked = 0
    await scanTexts(
      this.#context,
      { stream: subjects.streams.log, filter: subjects.logs, from: sweep.from, about: slice },
      (message, text) => {
        spare(sweep.doomed, message, text)
        if (message.seq < sweep.from) return true
        sweep.from = message.seq + 1
        return ++looked < slice
      },
    )
    return looked === slice
  }

  async #collect({ lists, doomed }: Sweep): Promise<void> {
    const { connection, subjects, blobs } = this.#context
    for (const [hash, seq] of doomed) await blobs.remove(hash, seq)
    for (const seq of lists)
      await connection.persist('sweeping', () =>
        connection.jsm.streams.deleteMessage(subjects.streams.meta, seq, false).catch(() => undefined),
      )
  }

  #assertHost(action: string): void {
    const { assertOpen, role } = this.#context
    assertOpen()
    if (role === 'client') throw clientMayNot(action)
  }
}

function spare(doomed: Map<string, number>, message: StreamMessage, text: string): void {
  for (const hash of blobsNamedBy(message, text)) doomed.delete(hash)
}
