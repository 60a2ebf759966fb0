/**
 * Mail within one host: a command of a caller in this process, and what a thread sends to another one here, are handed
 * to the thread at once and pass no mailbox. Where that cannot be, mail goes through the mailbox as from any process.
 *
 * LM1 Mail of one sender is taken in the order in which it was sent: whoever may have mail in the mailbox that was not
 *     read yet is handed nothing.
 * LM2 Mail is taken once: what a thread decides about mail of another one is committed together with what sent it, all
 *     or nothing. A caller's mail that no commit is known to hold goes into the mailbox; the thread knows its id if it
 *     was taken.
 * LM3 Only what is decided at once is handed over: while a definition is asked, mail is safe in its mailbox.
 */
import { mailText } from '../../backend/checks.js'
import type { Backend, Send } from '../../backend/port.js'
import { isObject } from '../../core/json.js'
import type { Json } from '../../core/json.js'
import type { Command } from '../../core/records/command.js'
import { bringsKeys, commandIn } from '../journal/mail.js'
import type { HandedMail, Outbox, TakenMail } from '../resident/outbox.js'
import { travels } from '../resident/resolve-travel.js'
import type { Services } from '../services.js'
import type { HeldPartition } from './partition.js'

export interface LocalMailOptions {
  readonly backend: Backend
  readonly services: Services
  /** The partition of a thread, if this host holds it, and whether its threads may be handed mail now. */
  readonly partitionOf: (thread: string) => HeldPartition | undefined
}

/** LM3: of these no definition is asked, but for hooks. A command that is not listed goes through the mailbox. */
const decidedAtOnce: ReadonlySet<Command['kind']> = new Set<Command['kind']>([
  'create',
  'message',
  'report',
  'tell',
  'cancel',
  'pause',
  'resume',
  'terminate',
  'delete',
  'grant',
  'edit',
  'change',
  'decide',
  'answer',
  'resolve',
  'requeue',
  'drop',
])

/** As it would be read from a mailbox: a caller that changes its values later changes nothing here. */
function copyOf(send: Send): Send {
  return { to: send.to, id: send.id, body: copied(send.body) ?? JSON.parse(mailText(send)) }
}

/** Texts are not gone through, however long they are. Undefined: it has something that JSON writes in its own way. */
function copied(value: unknown): Json | undefined {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return value
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : undefined
  if (Array.isArray(value)) return copiedItems(value)
  if (!isObject(value) || Object.getPrototypeOf(value) !== Object.prototype || 'toJSON' in value) return undefined
  const copy: Record<string, Json> = {}
  for (const name of Object.keys(value)) {
    if (value[name] === undefined) continue
    const field = name === '__proto__' ? undefined : copied(value[name])
    if (field === undefined) return undefined
    copy[name] = field
  }
  return copy
}

function copiedItems(values: readonly unknown[]): Json | undefined {
  const copy: Json[] = []
  for (const value of values) {
    const item = copied(value)
    if (item === undefined) return undefined
    copy.push(item)
  }
  return copy
}

export class LocalMail {
  readonly #options: LocalMailOptions
  /** Threads that mail is being put for, and how many. */
  readonly #posting = new Map<string, number>()

  constructor(options: LocalMailOptions) {
    this.#options = options
  }

  /** Mail of a caller: resolves when it is in the mailbox, or when what it led to is durable. */
  post(send: Send): Promise<void> {
    return new Promise((resolve, reject) => {
      const post = (): void => void this.#put(send).then(resolve, reject)
      // LM1: earlier mail may be on its way.
      if (this.#posting.has(send.to) || !this.#take(copyOf(send), { durable: resolve, post })) post()
    })
  }

  /** Mail of a thread of this host. Gives the outbox of the thread that has taken it. */
  readonly take = (send: Send, from: string): Outbox | undefined => {
    const { partitionOf } = this.#options
    if (send.to === from || !partitionOf(from)?.isSound(from)) return undefined
    return this.#take(send)
  }

  #take(send: Send, handed?: HandedMail): Outbox | undefined {
    const { backend, partitionOf } = this.#options
    const command = backend.together && !bringsKeys(send) ? commandIn(send.body) : undefined
    if (!command || !this.#isDecidedAtOnce(command)) return undefined
    const { id, body } = send
    const mail: TakenMail = handed ? { id, body, number: 0, handed } : { id, body, number: 0 }
    return partitionOf(send.to)?.take(send.to, mail, command)?.outbox
  }

  /** LM3: a hook may take its time, and so may the reading of a past. */
  #isDecidedAtOnce(command: Command): boolean {
    if (!decidedAtOnce.has(command.kind) || travels(command)) return false
    const isAskedAbout = command.kind === 'create' || command.kind === 'message'
    return !isAskedAbout || this.#options.services.hooks === undefined
  }

  async #put(send: Send): Promise<void> {
    const { to } = send
    this.#posting.set(to, (this.#posting.get(to) ?? 0) + 1)
    try {
      await this.#options.backend.mailbox.put(send)
    } finally {
      const left = (this.#posting.get(to) ?? 1) - 1
      if (left > 0) this.#posting.set(to, left)
      else this.#posting.delete(to)
    }
  }
}
