/**
 * Mailboxes: a stream with a subject per thread. A host follows the mail of the partitions that it holds and has it in
 * memory; everyone else reads it from the stream. Owns that memory.
 *
 * - Mail stays in the stream until a commit that names it is durable (J4); its removal is then retried to the end.
 * - What one commit sends to one thread is one message: it arrives whole and in order.
 * - Mail of a partition is forgotten with its lease: the next holder reads it from the stream.
 * - What this process puts for a thread arrives in the order of the calls, whatever its length and however often a
 *   write is retried. (Mail of commits has the order of its sender's commits: NC2 in commits.ts.)
 */
import { z } from 'zod'
import type { Json } from '../../../core/json.js'
import { isSkeinError } from '../../../core/failure.js'
import type { Mail, Mailbox, Send, StoredMail } from '../../port.js'
import { tell } from '../../topics.js'
import { sleep } from '../connection/timers.js'
import { SerialQueues } from '../../../core/async/serial.js'
import { MailIndex, mailsPerMessage } from './mail-index.js'
import { idIn, partitionOf } from '../subjects.js'
import { publish } from '../connection/publish.js'
import type { StreamMessage } from '../connection/read.js'
import { blobHeader, serializeMail } from './commit-message.js'
import type { SerializedMail } from './commit-message.js'
import type { NatsContext } from '../context.js'
import { StreamTail } from '../connection/tail.js'

/** The mail of a partition that is held here. */
interface FollowedPartition {
  readonly boxes: Map<string, MailIndex>
  tail?: StreamTail
  /** Messages whose text is still being read from a blob, and those that wait behind them. */
  loading: number
  loaded: Promise<void>
}

const retryMs = 200
const mailSchema = z.array(z.object({ id: z.string(), body: z.custom<Json>() }))

export class NatsMailbox implements Mailbox {
  readonly #context: NatsContext
  readonly #followed = new Map<number, FollowedPartition>()
  /** Mailboxes of partitions that are not held here, as they were when they were last read. */
  readonly #read = new Map<string, MailIndex>()
  readonly #watchers = new Set<(thread: string) => void>()
  /** Removals under way, and the partition of each. */
  readonly #removing = new Map<Promise<void>, number>()
  readonly #puts = new SerialQueues()

  constructor(context: NatsContext) {
    this.#context = context
  }

  readonly put = async (send: Send): Promise<void> => {
    this.#context.assertOpen()
    const mail = serializeMail(send)
    await this.#puts.run(send.to, () => this.post([mail]))
  }

  /** In order, all of them durable when it resolves. */
  async post(sends: readonly SerializedMail[]): Promise<void> {
    const [only, another] = sends
    if (only && !another) return this.#postTo(only.to, [only.mail])
    const receivers = new Map<string, string[]>()
    for (const { to, mail } of sends) {
      const mails = receivers.get(to) ?? []
      receivers.set(to, mails)
      mails.push(mail)
    }
    await Promise.all([...receivers].map(([to, mails]) => this.#postTo(to, mails)))
  }

  async #postTo(to: string, mails: readonly string[]): Promise<void> {
    const { connection, reader, subjects, partitions, spill } = this.#context
    for (let at = 0; at < mails.length; at += mailsPerMessage) {
      const spilling = spill(`[${mails.slice(at, at + mailsPerMessage).join(',')}]`, 0)
      const { payload, headers } = spilling instanceof Promise ? await spilling : spilling
      await publish(connection, reader, {
        stream: subjects.streams.mail,
        subject: subjects.mail(partitionOf(to, partitions), to),
        payload,
        headers,
      })
    }
  }

  readonly read = async (thread: string, after: number): Promise<readonly StoredMail[]> => {
    this.#context.assertOpen()
    const followed = this.#followed.get(partitionOf(thread, this.#context.partitions))
    const box = followed ? followed.boxes.get(thread) : await this.#readBox(thread)
    return box?.after(after) ?? []
  }

  async #readBox(thread: string): Promise<MailIndex> {
    const { reader, subjects, partitions, payloadOf } = this.#context
    const subject = subjects.mail(partitionOf(thread, partitions), thread)
    const box = new MailIndex()
    for (let from = 1; ;) {
      const message = await reader.get(subjects.streams.mail, { seq: from, next_by_subj: subject })
      if (!message) break
      box.add(message.seq, mailsIn(message, await payloadOf(message)))
      from = message.seq + 1
    }
    if (this.#context.role === 'host') this.#read.set(thread, box)
    return box
  }

  readonly waiting = async (partition?: number): Promise<readonly string[]> => {
    const { connection, subjects, assertOpen } = this.#context
    assertOpen()
    const followed = partition === undefined ? undefined : this.#followed.get(partition)
    if (followed) return [...followed.boxes].flatMap(([thread, box]) => (box.empty ? [] : [thread]))
    const filter = partition === undefined ? subjects.mails : subjects.mailOfPartition(partition)
    const { state } = await connection.persist('listing mail', () =>
      connection.jsm.streams.info(subjects.streams.mail, { subjects_filter: filter }),
    )
    return Object.keys(state.subjects ?? {}).map(idIn)
  }

  readonly watch = (arrived: (thread: string) => void): (() => void) => {
    this.#context.assertOpen()
    const watcher = (thread: string): void => arrived(thread)
    this.#watchers.add(watcher)
    return () => void this.#watchers.delete(watcher)
  }

  /** Follows a partition until its lease is lost; resolves when the mail that is there has been read. */
  async follow(partition: number, lost: AbortSignal): Promise<void> {
    const { connection, subjects } = this.#context
    if (lost.aborted) return
    this.#followed.get(partition)?.tail?.stop()
    const followed: FollowedPartition = { boxes: new Map(), loading: 0, loaded: Promise.resolve() }
    this.#followed.set(partition, followed)
    lost.addEventListener('abort', () => {
      followed.tail?.stop()
      if (this.#followed.get(partition) === followed) this.#followed.delete(partition)
    })
    const tail = await StreamTail.open(connection, {
      stream: subjects.streams.mail,
      filter: subjects.mailOfPartition(partition),
      each: (message) => this.#arrived(followed, message),
    })
    if (lost.aborted) return tail.stop() // the listener came before there was a tail to stop
    followed.tail = tail
    await followed.loaded
  }

  #arrived(followed: FollowedPartition, message: StreamMessage): void {
    if (followed.loading === 0 && !message.headers.has(blobHeader)) return this.#take(followed, message, message.data)
    followed.loading++
    followed.loaded = followed.loaded
      .then(() => this.#load(followed, message))
      .then((payload) => payload && this.#take(followed, message, payload))
      .finally(() => followed.loading--)
  }

  /** Retried until it succeeds; undefined when the partition is not followed any more. */
  async #load(followed: FollowedPartition, message: StreamMessage): Promise<Uint8Array | undefined> {
    while ([...this.#followed.values()].includes(followed)) {
      try {
        return await this.#context.payloadOf(message)
      } catch (thrown) {
        // Without its text it cannot be understood: the thread refuses it, and tells its sender.
        if (isSkeinError(thrown) && thrown.code === 'BLOB_MISSING') return new Uint8Array()
        await sleep(retryMs)
      }
    }
    return undefined
  }

  #take({ boxes }: FollowedPartition, message: StreamMessage, payload: Uint8Array): void {
    const thread = idIn(message.subject)
    const box = boxes.get(thread) ?? new MailIndex()
    boxes.set(thread, box)
    if (!box.add(message.seq, mailsIn(message, payload))) return
    for (const watcher of [...this.#watchers]) tell(() => watcher(thread))
  }

  /** Removes all mail of threads that are no more. */
  async discard(threads: ReadonlySet<string>): Promise<void> {
    const { connection, subjects, partitions } = this.#context
    for (const { boxes } of this.#followed.values()) for (const thread of threads) boxes.delete(thread)
    for (const thread of await this.waiting()) {
      if (!threads.has(thread)) continue
      await connection.persist('removing mail', () =>
        connection.jsm.streams.purge(subjects.streams.mail, {
          filter: subjects.mail(partitionOf(thread, partitions), thread),
        }),
      )
    }
  }

  /**
   * Removes mail after the commit that names it. Where the mail is followed nobody need wait for the removal: it is
   * given as `finished`.
   */
  async finish(thread: string, numbers: readonly number[]): Promise<{ readonly finished?: Promise<void> }> {
    if (numbers.length === 0) return {}
    const partition = partitionOf(thread, this.#context.partitions)
    const followed = this.#followed.get(partition)
    const boxes = followed?.boxes ?? this.#read
    const box = boxes.get(thread)
    const { seqs, all } = box?.done(numbers) ?? { seqs: [], all: false }
    if (box?.empty) boxes.delete(thread)
    if (seqs.length === 0) return {}
    const finished = this.#remove(() => (all ? this.#purge(thread, Math.max(...seqs)) : this.#delete(seqs)))
    if (!followed) {
      await finished
      return {}
    }
    this.#removing.set(finished, partition)
    const end = (): void => void this.#removing.delete(finished)
    finished.then(end, end)
    return { finished }
  }

  /** All mail of a thread up to a message. */
  #purge(thread: string, last: number): Promise<unknown> {
    const { connection, subjects, partitions } = this.#context
    const filter = subjects.mail(partitionOf(thread, partitions), thread)
    return connection.request({
      subject: `$JS.API.STREAM.PURGE.${subjects.streams.mail}`,
      payload: JSON.stringify({ filter, seq: last + 1 }),
    })
  }

  #delete(seqs: readonly number[]): Promise<unknown> {
    const [only, another] = seqs
    return only !== undefined && another === undefined
      ? this.#deleteOne(only)
      : Promise.all(seqs.map((seq) => this.#deleteOne(seq)))
  }

  async #deleteOne(seq: number): Promise<void> {
    const { connection, subjects } = this.#context
    const subject = `$JS.API.STREAM.MSG.DELETE.${subjects.streams.mail}`
    try {
      await connection.request({ subject, payload: `{"seq":${seq},"no_erase":true}` })
    } catch (thrown) {
      if (!isNotFound(thrown)) throw thrown
    }
  }

  /** Retried for as long as the store is open. */
  async #remove(attempt: () => Promise<unknown>): Promise<void> {
    const { connection, assertOpen } = this.#context
    try {
      await attempt()
      return
    } catch {
      assertOpen() // else again, below: there errors are told apart
    }
    for (;;) {
      try {
        await connection.persist('removing mail', attempt)
        return
      } catch (thrown) {
        assertOpen() // closed: the next holder finds the mail, and its thread knows that it is finished
        if (!isSkeinError(thrown) || !thrown.retry) throw thrown
      }
    }
  }

  /** Resolves when all puts and removals under way have ended. */
  async settled(): Promise<void> {
    await this.#puts.settled()
    await Promise.allSettled(this.#removing.keys())
  }

  /** Resolves when the removals under way in a partition have ended. */
  async removed(partition: number): Promise<void> {
    await Promise.allSettled([...this.#removing].map(([removing, of]) => of === partition && removing))
  }
}

function isNotFound(thrown: unknown): boolean {
  return thrown instanceof Error && /no message found|message not found/.test(thrown.message)
}

function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString()
}

/** As the schema says, which is for all others: this is asked of every mail. */
function areMails(given: unknown): given is Mail[] {
  return (
    Array.isArray(given) &&
    given.every((mail: unknown) => {
      if (typeof mail !== 'object' || mail === null || !('id' in mail) || typeof mail.id !== 'string') return false
      return 'body' in mail
    })
  )
}

/** A message that is no mail, or has lost its text, is one mail that its thread will refuse. */
function mailsIn({ seq }: StreamMessage, payload: Uint8Array): Mail[] {
  try {
    const given: unknown = JSON.parse(textOf(payload))
    return areMails(given) ? given : mailSchema.parse(given)
  } catch {
    return [{ id: `lost-${seq}`, body: null }]
  }
}
