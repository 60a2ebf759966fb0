/**
 * Reads a thread's mail in order of arrival and hands each on as an order; what may not be decided yet stays in the
 * box.
 *
 * - Mail is taken once while the thread is awake, in order of arrival, but for what asks a definition's own
 *   function: that takes its time, and other mail is not kept waiting.
 * - Mail that is read and not decided when the thread is let go is still in the box for whoever wakes it.
 * - Of a thread that is parked nothing is taken but its end; what came before that is decided after it.
 */
import { mailTurn } from '../../../actors/thread/children/reports.js'
import type { ThreadState } from '../../../actors/thread/state.js'
import type { Backend, StoredMail } from '../../backend/port.js'
import type { Answer } from '../../core/records/command.js'
import { failure, toFailure } from '../../core/failure.js'
import type { Failure } from '../../core/failure.js'
import type { Services } from '../effects/model-call.js'
import { bringsKeys, openMail } from '../journal/mail.js'
import { resolveCommand } from '../resolve/commands.js'
import type { CommandResolution } from '../resolve/commands.js'
import { needsNoDefinition, tellParked } from './parking.js'

/** The thread whose mail it is. */
export interface MailHandler {
  readonly state: ThreadState
  /** It still takes mail. */
  readonly open: boolean
  /** Why it is parked, if it is. */
  readonly parked: Failure | undefined
  obey(mail: StoredMail, ordered: CommandResolution): void
  answer(mail: StoredMail, answer: Answer): void
  /** There is nothing more to read. */
  done(): void
  failed(thrown: unknown): void
}

interface MailMeans {
  readonly backend: Backend
  readonly means: Services
  readonly warn: (what: string, thrown: unknown) => void
}

export class MailReader {
  readonly #backend: Backend
  readonly #means: Services
  readonly #warn: MailMeans['warn']
  readonly #to: MailHandler
  #last = 0
  #reading = false
  #more = false
  /** Mail that a definition's function is asked about. */
  #aside = 0
  /** Mail whose turn has not come: of children, and of a thread that is parked. */
  #early: StoredMail[] = []

  constructor({ backend, means, warn }: MailMeans, to: MailHandler) {
    this.#backend = backend
    this.#warn = warn
    this.#means = means
    this.#to = to
  }

  get busy(): boolean {
    return this.#reading || this.#aside > 0
  }

  arrived(): void {
    this.#more = true
    if (!this.#reading && this.#to.open) void this.#read()
  }

  async #read(): Promise<void> {
    this.#reading = true
    try {
      while (this.#more && this.#to.open) {
        this.#more = false
        for (const mail of await this.#backend.mailbox.read(this.#to.state.id, this.#last)) {
          // In order of arrival: what is sealed is not overtaken by what comes after it.
          this.#take(mail, bringsKeys(mail) ? await this.#unlock() : undefined)
        }
      }
    } catch (thrown) {
      this.#to.failed(thrown)
    }
    this.#reading = false
    this.#to.done()
  }

  /**
   * Why what it brings cannot be read here. That is a mistake of its sender, or of who runs this host: the thread
   * goes on without it.
   */
  async #unlock(): Promise<Failure | undefined> {
    try {
      await this.#means.envs.secrets.admit([])
      return undefined
    } catch (thrown) {
      const why = toFailure(thrown, 'SECRET_UNREADABLE')
      if (why.code !== 'BAD_OPTION' && why.code !== 'SECRET_UNREADABLE') throw thrown
      return failure('SECRET_UNREADABLE', `nothing was changed: the host cannot read these values. ${why.message}`)
    }
  }

  #take(mail: StoredMail, locked?: Failure): void {
    this.#last = Math.max(this.#last, mail.number)
    const { state } = this.#to
    const known = state.accepted.get(mail.id)
    if (known) return this.#to.answer(mail, { ok: true, seq: known.seq, ...(known.run && { run: known.run }) })
    const opened = openMail(mail, this.#means.app)
    if (mail.damaged !== undefined)
      this.#warn(`mail ${mail.number} to thread ${state.id} is damaged and is refused`, mail.damaged)
    const parked = this.#to.parked
    if (parked && !('command' in opened && needsNoDefinition(opened.command))) {
      tellParked(this.#backend, { thread: state.id, mail, why: parked })
      return void this.#early.push(mail)
    }
    const turn = 'command' in opened ? mailTurn(state, opened.command) : 'now'
    if (turn === 'early') return void this.#early.push(mail)
    if (turn === 'heard') return this.#to.answer(mail, { ok: true, seq: state.seq })
    const ordered =
      'refused' in opened ? opened : locked ? { refused: locked } : resolveCommand(this.#means, state, opened.command)
    if (!(ordered instanceof Promise)) {
      this.#to.obey(mail, ordered)
      return this.#takeEarly()
    }
    this.#aside++
    void ordered.then((given) => {
      this.#aside--
      if (this.#to.open) this.#to.obey(mail, given)
      this.#to.done()
    })
  }

  #takeEarly(): void {
    if (this.#early.length === 0) return
    const early = this.#early
    this.#early = []
    for (const mail of early) this.#take(mail)
  }
}
