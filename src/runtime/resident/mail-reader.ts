/**
 * Reads a thread's mail and hands it on as resolved commands; mail that may not be decided yet stays in the mailbox.
 *
 * - Mail is decided in order of arrival, once while the thread is awake. Exception: a command that needs an async
 *   callback of a definition (`needsApproval`, a hook) may be overtaken by later mail, but no message by another one,
 *   and the creation of a thread by nothing.
 * - Mail that is read and not decided when the thread is let go is still in the mailbox for the next residence.
 * - A parked thread decides nothing but its own end; earlier mail is decided after that.
 */
import { mailTurn } from '../../../actors/thread/children/reports.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Backend, StoredMail } from '../../backend/port.js'
import type { Answer, Command } from '../../core/records/command.js'
import { failure, toFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import { noItems, withItem } from '../../core/lists.js'
import { bringsKeys, openCommand, openMail } from '../journal/mail.js'
import { resolveCommand } from '../resolve/commands.js'
import type { CommandResolution } from '../resolve/hooked-mail.js'
import type { Services, HostSettings } from '../services.js'
import type { TakenMail } from './outbox.js'
import { needsNoDefinition, tellParked } from './parking.js'
import { resolveTravel, travels } from './resolve-travel.js'

/** The thread whose mail it is. */
export interface MailHandler {
  readonly state: ThreadState
  /** Whether it still takes mail. */
  readonly open: boolean
  /** Why it is parked, if it is. */
  readonly parked: Failure | undefined
  obey(mail: TakenMail, resolution: CommandResolution): void
  answer(mail: TakenMail, answer: Answer): void
  /** There is nothing more to read. */
  done(): void
  failed(thrown: unknown): void
}

interface MailReaderOptions {
  readonly backend: Backend
  readonly services: Services
  readonly settings: HostSettings
}

export class MailReader {
  readonly #options: MailReaderOptions
  readonly #handler: MailHandler
  /** The number of the last mail that was taken. */
  #last = 0
  #reading = false
  #more = false
  /** Mail for which a callback of a definition is awaited. */
  #pending = 0
  /** The mail whose hooks are asked, or whose past is read, where others must not overtake it. */
  #asking: 'create' | 'message' | 'rewind' | undefined
  /**
   * Mail that cannot be decided yet: a report of a child before its predecessors, mail of a parked thread, what
   * must not overtake another.
   */
  #early: StoredMail[] = noItems

  constructor(options: MailReaderOptions, handler: MailHandler) {
    this.#options = options
    this.#handler = handler
  }

  get busy(): boolean {
    return this.#reading || this.#pending > 0
  }

  /** Whether mail that is in no mailbox would be next, and can be decided at once. */
  mayTake(command: Command): boolean {
    const { state, parked } = this.#handler
    const isNext = !this.busy && !this.#more && this.#early.length === 0
    return isNext && !parked && mailTurn(state, command) !== 'early'
  }

  /** Decides about mail that it may take. What another thread here has sent needs no check: it was never text. */
  take(mail: TakenMail, command: Command): void {
    this.#take(mail, undefined, mail.handed ? undefined : command)
  }

  arrived(): void {
    this.#more = true
    if (!this.#reading && this.#handler.open) void this.#read()
  }

  async #read(): Promise<void> {
    const { mailbox } = this.#options.backend
    this.#reading = true
    try {
      while (this.#more && this.#handler.open) {
        this.#more = false
        for (const mail of await mailbox.read(this.#handler.state.id, this.#last)) {
          // Awaited here, so that later mail does not overtake one whose values must be unsealed first.
          const locked = bringsKeys(mail) ? await this.#unlock() : undefined
          // The thread may have left this host meanwhile: its next owner decides.
          if (!this.#handler.open) break
          this.#take(mail, locked)
        }
      }
    } catch (thrown) {
      this.#handler.failed(thrown)
    }
    this.#reading = false
    this.#handler.done()
  }

  /**
   * Why sealed values cannot be read here. That is a mistake of their sender, or of the operator of this host: the mail
   * is refused, and the thread continues without it.
   */
  async #unlock(): Promise<Failure | undefined> {
    try {
      await this.#options.services.envs.secrets.admit([])
      return undefined
    } catch (thrown) {
      const why = toFailure(thrown, 'SECRET_UNREADABLE')
      if (why.code !== 'BAD_OPTION' && why.code !== 'SECRET_UNREADABLE') throw thrown
      return failure('SECRET_UNREADABLE', `nothing was changed: the host cannot read these values. ${why.message}`)
    }
  }

  /** `locked`: why the values that it brings cannot be read. `known`: the command that the mail is. */
  #take(mail: TakenMail, locked?: Failure, known?: Command): void {
    const { backend, services, settings } = this.#options
    const { state, parked } = this.#handler
    this.#last = Math.max(this.#last, mail.number)
    const accepted = state.accepted.get(mail.id)
    if (accepted) {
      const { seq, run } = accepted
      return this.#handler.answer(mail, { ok: true, seq, ...(run && { run }) })
    }
    const opened = known ? openCommand(known, services.app) : openMail(mail, services.app)
    if (mail.damaged !== undefined)
      settings.warn(`mail ${mail.number} to thread ${state.id} is damaged and is refused`, mail.damaged)
    if (parked && !('command' in opened && needsNoDefinition(opened.command))) {
      tellParked(backend, { thread: state.id, mail, why: parked })
      return this.#keep(mail)
    }
    if ('refused' in opened) return this.#decide(mail, opened)
    if (this.#mustWait(opened.command)) return this.#keep(mail)
    const turn = mailTurn(state, opened.command)
    if (turn === 'early') return this.#keep(mail)
    if (turn === 'heard') return this.#handler.answer(mail, { ok: true, seq: state.seq })
    this.#decide(mail, locked ? { refused: locked } : this.#resolve(mail, opened.command), opened.command.kind)
  }

  #resolve({ id }: StoredMail, command: Command): CommandResolution | Promise<CommandResolution> {
    const { services } = this.#options
    const { state } = this.#handler
    return travels(command)
      ? resolveTravel(this.#options, state, command)
      : resolveCommand(services, state, { id, command })
  }

  #decide(mail: TakenMail, resolution: CommandResolution | Promise<CommandResolution>, kind?: Command['kind']): void {
    if (!(resolution instanceof Promise)) {
      this.#handler.obey(mail, resolution)
      return this.#takeEarly()
    }
    this.#pending++
    const keepsOrder = kind === 'create' || kind === 'message' || kind === 'rewind'
    if (keepsOrder) this.#asking = kind
    void resolution.then(
      (resolved) => {
        this.#pending--
        if (keepsOrder) this.#asking = undefined
        if (this.#handler.open) {
          this.#handler.obey(mail, resolved)
          this.#takeEarly()
        }
        this.#handler.done()
      },
      (thrown: unknown) => this.#failed(thrown),
    )
  }

  /** Only the store can fail here. */
  #failed(thrown: unknown): void {
    this.#pending--
    this.#asking = undefined
    this.#handler.failed(thrown)
  }

  #keep(mail: StoredMail): void {
    this.#early = withItem(this.#early, mail)
  }

  /** Messages keep their order, and nothing is said to a thread that is being created or goes back. */
  #mustWait({ kind }: Command): boolean {
    return this.#asking === 'create' || this.#asking === 'rewind' || (this.#asking === 'message' && kind === 'message')
  }

  /** A decision may have made earlier mail decidable. */
  #takeEarly(): void {
    if (this.#early.length === 0) return
    const early = this.#early
    this.#early = noItems
    for (const mail of early) this.#take(mail)
  }
}
