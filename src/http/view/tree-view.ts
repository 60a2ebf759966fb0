/**
 * The view of one tree: its threads as the directory has them, and the spans of their work, with a number for every
 * change. One per tree and server, shared by all who look at it; made when the first one does, and kept for a while
 * after the last one has gone.
 *
 * TW1 The snapshot at a number, and what `since` that number gives, are the state: nothing between the two is lost.
 * - It has no bodies. What a model says at this time is kept for who watches a thread, and is no part of the state.
 */
import { gzipSync } from 'node:zlib'
import { SkeinError } from '../../index.js'
import type { SkeinEvent, ThreadDirectory } from '../../index.js'
import type { Clock } from '../../core/clock.js'
import type { ServedSkein } from '../route.js'
import { ChangeList } from './change-list.js'
import { ColumnWriter } from './columns.js'
import type { Columns } from './columns.js'
import { SpanFold } from './spans.js'
import type { WorkSpan } from './spans.js'
import { toThreadRow } from './tree-rows.js'
import type { ThreadRow } from './tree-rows.js'

export interface TreeSnapshot {
  readonly root: string
  /** Another one: numbers begin anew. */
  readonly epoch: string
  readonly threadsSeq: number
  readonly spansSeq: number
  readonly now: number
  readonly base: number
  readonly words: readonly string[]
  readonly threads: Columns
  readonly spans: Columns
}

/** What has changed between two states of one epoch. */
export interface TreeChanges {
  readonly epoch: string
  /** Numbers of threads and of spans, before and after. */
  readonly from: readonly [number, number]
  readonly to: readonly [number, number]
  readonly threads: readonly (ThreadRow & { readonly n: number })[]
  readonly spans: readonly (WorkSpan & { readonly n: number })[]
}

/** What a model has said so far, in the step that it is in. */
export interface LiveText {
  readonly thread: string
  readonly step: number
  readonly attempt: number
  readonly text: string
  readonly reasoning: string
}

interface Packed {
  readonly seq: string
  readonly text: string
  gzip?: Buffer
}

const longestText = 65_536
const mostBuffered = 100_000

export class TreeView {
  readonly root: string
  readonly epoch: string
  readonly #clock: Clock
  readonly #threads = new ChangeList<ThreadRow>()
  readonly #spans = new ChangeList<WorkSpan>()
  readonly #fold = new SpanFold(this.#spans)
  readonly #texts = new Map<string, LiveText>()
  readonly #listeners = new Set<() => void>()
  readonly #stopped = new AbortController()
  readonly #ready: Promise<void>
  #failure: unknown
  #packed: Packed | undefined

  constructor(skein: ServedSkein, root: string, { clock, epoch }: { readonly clock: Clock; readonly epoch: string }) {
    this.root = root
    this.epoch = epoch
    this.#clock = clock
    this.#ready = this.#begin(skein)
    this.#ready.catch((thrown: unknown) => this.#fail(thrown))
  }

  /** Why it goes on no more. */
  get failure(): unknown {
    return this.#failure
  }

  get ready(): Promise<void> {
    return this.#ready
  }

  get position(): readonly [number, number] {
    return [this.#threads.seq, this.#spans.seq]
  }

  since(from: readonly [number, number]): TreeChanges {
    const [threads, spans] = from
    const to = this.position
    return { epoch: this.epoch, from, to, threads: this.#threads.since(threads), spans: this.#spans.since(spans) }
  }

  textOf(thread: string): LiveText | undefined {
    return this.#texts.get(thread)
  }

  /** Returns what ends it. */
  listen(listener: () => void): () => void {
    const own = (): void => listener()
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  stop(): void {
    this.#stopped.abort()
  }

  /** The same text for all who ask before something changes. */
  snapshotText(): string {
    return this.#pack().text
  }

  snapshotGzip(): Uint8Array<ArrayBuffer> {
    const packed = this.#pack()
    packed.gzip ??= gzipSync(packed.text, { level: 5 })
    return new Uint8Array(packed.gzip)
  }

  #pack(): Packed {
    const seq = this.position.join('.')
    if (this.#packed?.seq === seq) return this.#packed
    const writer = new ColumnWriter(this.#threads.first?.createdAt ?? 0)
    const snapshot: TreeSnapshot = {
      root: this.root,
      epoch: this.epoch,
      threadsSeq: this.#threads.seq,
      spansSeq: this.#spans.seq,
      now: this.#clock.now(),
      base: writer.base,
      threads: writer.write(this.#threads),
      spans: writer.write(shortSpans(this.#spans)),
      words: writer.words,
    }
    this.#packed = { seq, text: JSON.stringify(snapshot) }
    return this.#packed
  }

  async #begin(skein: ServedSkein): Promise<void> {
    const { signal } = this.#stopped
    const { root } = this
    let cursor: string | undefined
    for await (const event of skein.events({ root, until: 'now', signal, maxBuffered: mostBuffered })) {
      this.#take(event)
      if ('cursor' in event) ({ cursor } = event)
    }
    const directory = skein.directory()
    await directory.ready()
    const { threads } = await directory.list({ root, limit: Number.MAX_SAFE_INTEGER })
    for (const info of threads) this.#takeRow(toThreadRow(info))
    void this.#followRows(directory).catch((thrown: unknown) => this.#fail(thrown))
    void this.#followEvents(skein, cursor).catch((thrown: unknown) => this.#fail(thrown))
  }

  async #followRows(directory: ThreadDirectory): Promise<void> {
    for await (const change of directory.watch({ root: this.root, signal: this.#stopped.signal })) {
      if ('left' in change) this.#fail(new SkeinError('UNKNOWN_THREAD', 'the tree was deleted'))
      else {
        this.#takeRow(toThreadRow(change.thread))
        this.#tell()
      }
    }
  }

  async #followEvents(skein: ServedSkein, from: string | undefined): Promise<void> {
    const { signal } = this.#stopped
    const start = from === undefined ? {} : { from }
    for await (const event of skein.events({ root: this.root, ...start, signal, maxBuffered: mostBuffered })) {
      if (event.type === 'tree.reset') return this.#fail(new SkeinError('UNKNOWN_THREAD', 'the tree was deleted'))
      this.#take(event)
      this.#tell()
    }
  }

  #takeRow(row: ThreadRow): void {
    const before = this.#threads.get(row.thread)
    if (before && before.seq >= row.seq && before.status === row.status && before.updatedAt >= row.updatedAt) return
    this.#threads.set(row.thread, row)
    this.#fold.thinks(row.thread, row.status === 'thinking')
  }

  #take(event: SkeinEvent): void {
    this.#fold.take(event, this.#clock.now())
    if (event.type === 'model.replied' || event.type === 'turn.ended') this.#texts.delete(event.thread)
    else if (event.type === 'text.delta' || event.type === 'reasoning.delta') this.#hear(event)
    else if (event.type === 'stream.reset') {
      const { thread, step, attempt, text } = event
      this.#texts.set(thread, { thread, step, attempt, text, reasoning: '' })
    }
  }

  #hear({ type, thread, step, attempt, text }: Extract<SkeinEvent, { type: 'text.delta' | 'reasoning.delta' }>): void {
    const before = this.#texts.get(thread)
    const isSame = before?.step === step && before.attempt === attempt
    const known = isSame ? before : { thread, step, attempt, text: '', reasoning: '' }
    const field = type === 'text.delta' ? 'text' : 'reasoning'
    this.#texts.set(thread, { ...known, [field]: (known[field] + text).slice(0, longestText) })
  }

  #tell(): void {
    for (const listener of this.#listeners) listener()
  }

  #fail(thrown: unknown): void {
    this.#failure ??= thrown
    this.#stopped.abort()
    this.#tell()
  }
}

/** The thread is in a column of its own, so the ids of its spans begin after it. */
function* shortSpans(spans: Iterable<WorkSpan & { n: number }>): Generator<WorkSpan> {
  for (const span of spans) yield Object.assign(span, { id: span.id.slice(span.thread.length) })
}
