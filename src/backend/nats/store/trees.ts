/**
 * Removing trees and collecting what they leave. Owns the removal and where this process is in its sweep.
 *
 * - The root's last message says that the tree is being removed; from then on nobody writes to the root. Then one
 *   purge takes all messages of the tree, that one too: up to there readers see all of it. Whoever would write to
 *   it before, or takes over its partition, finishes the removal first (J9).
 * - The blobs that a removed tree named are listed before the purge. A sweep looks for them in all mail, then in
 *   all journals: what leaves a mailbox is in a journal by then. What nobody names goes, if nobody has put it again
 *   since the sweep began (J10).
 */
import { nuid } from '@nats-io/transport-node'
import { z } from 'zod'
import { systemClock } from '../../../core/clock.js'
import { blobsNamedIn, clientMayNot } from '../../checks.js'
import type { Removal, Trees } from '../../trees.js'
import type { Commits } from './commits.js'
import type { NatsContext } from '../context.js'
import type { NatsMailbox } from './mailbox.js'
import { idIn } from '../subjects.js'
import { publish } from '../connection/publish.js'
import type { StreamMessage, Scan } from '../connection/read.js'
import { blobHeader } from './commit-message.js'

interface Sweep {
  /** Lists that are done with it, by their sequence. */
  readonly lists: readonly number[]
  /** Blobs in question and the message of each. */
  readonly doomed: Map<string, number>
  /** The next message of the journals to look at. */
  from: number
}

/** Messages that one slice of a sweep reads. */
const slice = 500
const listSchema = z.array(z.string())

export class NatsTrees implements Trees {
  readonly #ground: NatsContext
  readonly #commits: Commits
  readonly #mailbox: NatsMailbox
  #sweep: Sweep | undefined

  constructor(ground: NatsContext, { commits, mailbox }: { readonly commits: Commits; readonly mailbox: NatsMailbox }) {
    this.#ground = ground
    this.#commits = commits
    this.#mailbox = mailbox
  }

  async remove(removal: Removal): ReturnType<Trees['remove']> {
    this.#hostOnly('remove a tree')
    const buried = await this.#commits.bury(removal)
    if (!buried.ok) return buried
    await this.finish(removal.root)
    return { ok: true }
  }

  /** RM1; twice does no harm. */
  async finish(root: string): Promise<void> {
    const { link, reads, names, spill } = this.#ground
    const threads = new Set<string>()
    const named = new Set<string>()
    const tree = { stream: names.streams.log, filter: names.logOfTree(root) }
    await this.#scan(tree, (message, text) => {
      threads.add(idIn(message.subject))
      for (const hash of namedIn(message, text)) named.add(hash)
    })
    if (named.size > 0) {
      const list = await spill(Buffer.from(JSON.stringify([...named])), 0)
      await publish(link, reads, { stream: names.streams.meta, subject: names.doomed(nuid.next()), ...list })
    }
    await this.#mailbox.discard(threads)
    await link.persist('removing snapshots', () =>
      link.jsm.streams.purge(names.streams.snapshots, { filter: names.snapshotsOfTree(root) }),
    )
    await link.persist('removing a tree', () =>
      link.jsm.streams.purge(names.streams.log, { filter: names.logOfTree(root) }),
    )
    this.#commits.forget(threads)
  }

  async sweep({ olderThanMs }: { readonly olderThanMs: number }): Promise<{ readonly more: boolean }> {
    this.#hostOnly('sweep')
    this.#sweep ??= await this.#begin(systemClock.now() - olderThanMs)
    const sweep = this.#sweep
    if (!sweep) return { more: false }
    if (sweep.doomed.size > 0 && (await this.#slice(sweep))) return { more: true }
    this.#sweep = undefined
    await this.#collect(sweep)
    return { more: false }
  }

  /** Undefined: there is nothing to do. */
  async #begin(before: number): Promise<Sweep | undefined> {
    const { reads, names, payloadOf } = this.#ground
    const found: StreamMessage[] = []
    await reads.scan({ stream: names.streams.meta, filter: names.doomedLists }, (message) => void found.push(message))
    if (found.length === 0) return undefined
    const doomed = new Map<string, number>()
    const lists: number[] = []
    for (const message of found) {
      const hashes = listSchema.parse(JSON.parse(Buffer.from(await payloadOf(message)).toString()))
      const young = await this.#addOld(doomed, hashes, before)
      // A list with a blob that is too young is gone through again another time.
      if (!young) lists.push(message.seq)
    }
    await this.#scan({ stream: names.streams.mail, filter: names.mails }, (message, text) =>
      spare(doomed, message, text),
    )
    await this.#scan(
      { stream: names.streams.snapshots, filter: `${names.namespace}.snapshot.>`, headersOnly: true },
      (message) => spare(doomed, message, ''),
    )
    return { lists, doomed, from: 1 }
  }

  /** Whether one of them is too young. */
  async #addOld(doomed: Map<string, number>, hashes: readonly string[], before: number): Promise<boolean> {
    const { reads, names } = this.#ground
    let young = false
    for (const hash of hashes) {
      const blob = await reads.last(names.streams.blobs, names.blob(hash))
      if (blob && blob.at < before) doomed.set(hash, blob.seq)
      else if (blob) young = true
    }
    return young
  }

  /** Whether there are more journals to look at. */
  async #slice(sweep: Sweep): Promise<boolean> {
    const { names } = this.#ground
    let looked = 0
    await this.#scan(
      { stream: names.streams.log, filter: names.logs, from: sweep.from, about: slice },
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
    const { link, names, blobs } = this.#ground
    for (const [hash, seq] of doomed) await blobs.remove(hash, seq)
    for (const seq of lists)
      await link.persist('sweeping', () =>
        link.jsm.streams.deleteMessage(names.streams.meta, seq, false).catch(() => undefined),
      )
  }

  /** With the text of each message; those whose text lies elsewhere come last. */
  async #scan(scan: Scan, each: (message: StreamMessage, text: string) => boolean | void): Promise<void> {
    const { reads, payloadOf } = this.#ground
    const elsewhere: StreamMessage[] = []
    await reads.scan(scan, (message) => {
      if (!scan.headersOnly && message.headers.has(blobHeader)) elsewhere.push(message)
      return each(message, Buffer.from(message.data).toString())
    })
    for (const message of elsewhere) each(message, Buffer.from(await payloadOf(message)).toString())
  }

  #hostOnly(what: string): void {
    const { live, role } = this.#ground
    live()
    if (role === 'client') throw clientMayNot(what)
  }
}

function* namedIn({ headers }: StreamMessage, text: string): Generator<string> {
  const spilt = headers.get(blobHeader)
  if (spilt !== '') yield spilt
  yield* blobsNamedIn(text)
}

function spare(doomed: Map<string, number>, message: StreamMessage, text: string): void {
  for (const hash of namedIn(message, text)) doomed.delete(hash)
}
