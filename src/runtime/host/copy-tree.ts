/**
 * Copying a tree at a cut: an effect of the new root. All commits of the source up to one position are a consistent
 * cut (J5), so what is copied is what a crash of everything at that position would leave, under other names.
 *
 * CT1 All names are functions of the new root and the old names, and all mail has the id of its sender's record: doing
 *     it twice is doing it once, and a crash in the middle costs nothing.
 * - Threads that were over at the cut are not copied: their parents have their answers, or these are on their way.
 * - One journal is in memory at a time.
 */
import { fold } from '../../../actors/thread/fold.js'
import { createState, hasEnded } from '../../../actors/thread/state.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Copying } from '../../../actors/thread/travel/lineage.js'
import type { Backend, Send, StoredEntry } from '../../backend/port.js'
import { defined } from '../../core/defined.js'
import type { Command } from '../../core/records/command.js'
import type { ThreadRecord } from '../../core/records/record.js'
import { renamedThread } from '../../core/records/travel.js'
import type { TreeCopied } from '../../core/records/travel.js'
import { eachHead } from '../journal/heads.js'
import { chainStart, createEntryReader } from '../journal/journal.js'
import { readMail, sealMail } from '../journal/mail.js'
import { packPast } from '../journal/past.js'
import { sendsOf } from '../resident/outgoing-mail.js'
import type { EffectOwner, RunningEffect } from '../services.js'
import { renamedMail } from './renamed-mail.js'

export function copyTree(backend: Backend, owner: EffectOwner): RunningEffect {
  const { lineage } = owner.state
  const { copying, from, guard } = lineage
  let isAborted = false
  if (copying && from)
    new TreeCopy(backend, { ...copying, seq: from.seq, ...defined({ guard }) }, () => isAborted).run().then(
      (copied) => copied && owner.land({ kind: 'copied', copied }),
      (thrown: unknown) => owner.storeFailed(thrown),
    )
  return {
    abort() {
      isAborted = true
    },
  }
}

interface CopyTerms extends Copying {
  /** The last record of the top that the fork has. */
  readonly seq: number
  readonly guard?: 'ask' | 'refuse'
}

/** What a thread had at the cut. */
interface ThreadAtCut {
  readonly state: ThreadState
  readonly entries: readonly StoredEntry[]
  readonly last: number
}

class TreeCopy {
  readonly #backend: Backend
  readonly #terms: CopyTerms
  readonly #isAborted: () => boolean
  readonly #sent: Send[] = []
  /** Mail that was taken, by its receiver and id; of what children say, the last number by parent and child. */
  readonly #taken = new Set<string>()
  readonly #heard = new Map<string, number>()
  /** Threads of the cut, and whether they are paused or over. */
  readonly #known = new Map<string, 'open' | 'paused' | 'over'>()
  #threads = 0

  constructor(backend: Backend, terms: CopyTerms, isAborted: () => boolean) {
    this.#backend = backend
    this.#terms = terms
    this.#isAborted = isAborted
  }

  /** Undefined: it was aborted. */
  async run(): Promise<Omit<TreeCopied, 'type'> | { readonly failure: string } | undefined> {
    const { root, tree } = this.#terms
    for await (const { thread, path } of eachHead(this.#backend, { root })) {
      if (this.#isAborted()) return undefined
      if (path.includes(tree.top)) await this.#copy(thread)
    }
    if (!this.#known.has(tree.top))
      return { failure: `${tree.top} was deleted before its tree was copied; fork another one` }
    const mail = this.#sent.filter((send) => this.#isOnItsWay(send))
    for (const send of mail) await this.#backend.mailbox.put(renamedMail(this.#terms, send))
    return { threads: this.#threads, mail: mail.length }
  }

  async #copy(thread: string): Promise<void> {
    const cut = await this.#readTo(thread)
    if (!cut) return
    const { state } = cut
    const isOver = hasEnded(state)
    this.#known.set(thread, isOver ? 'over' : state.position.gate)
    if (isOver || thread === this.#terms.tree.top) return
    await this.#backend.mailbox.put(await this.#creation(cut))
    this.#threads++
  }

  /** Undefined where it was not there yet. */
  async #readTo(thread: string): Promise<ThreadAtCut | undefined> {
    const { position, seq, tree } = this.#terms
    const all = await this.#backend.journal.read(thread)
    const entries = all.filter((entry) => entry.position <= position)
    if (entries.length === 0) return undefined
    const last = thread === tree.top ? seq : Infinity
    const state = createState(thread)
    const reader = createEntryReader(thread, { seq: 0, chain: chainStart })
    for (const entry of entries)
      for (const record of reader.unpack(entry))
        if (record.seq <= last) {
          fold(state, record)
          this.#note(state, record)
        }
    return { state, entries, last: state.seq }
  }

  #note(state: ThreadState, record: ThreadRecord): void {
    const { id } = state
    if (record.by !== undefined) this.#taken.add(`${id} ${record.by}`)
    if ((record.type === 'child.reported' || record.type === 'child.told') && record.number !== undefined)
      this.#heard.set(`${id} ${record.child}`, record.number)
    for (const send of sendsOf(state, record)) this.#sent.push(send)
  }

  async #creation({ state, entries, last }: ThreadAtCut): Promise<Send> {
    const { tree, position, drops, root: sourceRoot, guard, roots } = this.#terms
    const id = renamedThread(tree, state.id)
    const { past, blobs } = await packPast(this.#backend.blobs, entries)
    const path = state.path.slice(state.path.indexOf(tree.top)).map((each) => renamedThread(tree, each))
    const entry = entries.at(-1)
    const command: Command = {
      kind: 'create',
      agent: state.agent,
      tags: [...state.tags],
      path,
      ...defined({ parent: path.at(-2), guard }),
      ...(state.child && { child: { ...state.child } }),
      based: {
        from: { thread: state.id, root: sourceRoot, seq: last, chain: entry?.hash ?? '', position },
        past: 'parts' in past ? { parts: [...past.parts] } : { entries: [...past.entries] },
        blobs: [...blobs],
        roots: [...roots],
        keys: drops?.includes('env') ? [] : [...state.env.keys],
        tree: { ...tree },
        paused: `forked from ${tree.top}`,
        ...(drops && { drops: [...drops] }),
      },
    }
    return { to: id, id: `${tree.root}/copy/${id}`, body: sealMail(command) }
  }

  /** It was sent before the cut, within the tree, and not taken before it. */
  #isOnItsWay({ to, id, body }: Send): boolean {
    const command = readMail(body)
    const isWithin = this.#known.has(to) || command?.kind === 'create'
    if (!command || !isWithin || this.#taken.has(`${to} ${id}`)) return false
    if ((command.kind === 'report' || command.kind === 'tell') && command.number !== undefined)
      return command.number > (this.#heard.get(`${to} ${command.child}`) ?? 0)
    // It was refused, and its sender was told.
    if ('replyTo' in command && command.replyTo && this.#taken.has(`${command.replyTo.thread} ${id}/refused`))
      return false
    return this.#wouldChange(to, command)
  }

  /** What a parent passes on and changes nothing is finished without a record. */
  #wouldChange(to: string, { kind }: Command): boolean {
    const stands = this.#known.get(to)
    if (stands === 'over') return kind === 'message' || kind === 'grant'
    if (kind === 'pause') return stands !== 'paused'
    return kind === 'resume' ? stands !== 'open' : true
  }
}
