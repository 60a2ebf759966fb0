/**
 * Records one call: what its body, and the tools that it invokes, read, changed, queued and said. Each part is created
 * when it is first used; most calls use none.
 *
 * - The snapshot is opened once, by the first read. The time limit is paused meanwhile.
 * - Changes count with a result, and with an error that the body returned. A throw, a time-out and an abort leave only
 *   the reads: on another state the call might have succeeded (T3).
 * - Nothing that leaves the call contains a secret of its environment (F3), not even the bytes of files: a tool that
 *   needs the value declares the variable.
 */
import type { ToolDefinition } from '../../src/agent/define.js'
import type { Clock } from '../../src/core/clock.js'
import { defined } from '../../src/core/defined.js'
import type { Outcome } from '../../src/core/effect.js'
import type { Failure } from '../../src/core/failure.js'
import type { Json } from '../../src/core/json.js'
import type { ValueChange } from '../../src/core/records/change.js'
import type { Saying } from '../../src/core/records/record.js'
import { maskFailure, maskOutcome } from '../../src/core/redact/outcome.js'
import type { ScheduleChange } from '../../src/core/records/schedule.js'
import { createRedactor } from '../../src/core/redact/redact.js'
import type { Redactor } from '../../src/core/redact/redact.js'
import type { Files } from '../../src/files/port.js'
import { maskThrown, toThrown } from '../../src/core/thrown.js'
import type { Thrown } from '../../src/core/thrown.js'
import { createWorkingCopy } from '../../src/files/working-copy.js'
import type { WorkingCopy } from '../../src/files/working-copy.js'
import type { ToolJob, Returned, Snapshot } from '../../src/pool/port.js'
import type { FindTool } from '../../src/pool/find-tool.js'
import type { TimeLimit } from '../../src/pool/time-limit.js'
import type { RunCode } from '../../src/tools/code.js'
import { maskedFiles } from './files.js'
import { lazyRunCode } from './run-code.js'
import { createSchedules } from './schedules.js'
import type { Schedules } from './schedules.js'
import { createValues } from './values.js'
import type { Values } from './values.js'
import { createProgress } from './progress.js'
import type { ToolProgress } from './progress.js'

type Mutable<List> = List extends readonly (infer Item)[] ? Item[] : never

export interface RecorderServices {
  readonly find: FindTool
  readonly clock: Clock
  readonly limits: 'here' | 'elsewhere'
}

/** Whether the stacks of what bodies throw are logged. */
const isDebugging = (): boolean => process.env['SKEIN_DEBUG'] === '1'

export class CallRecorder {
  readonly job: ToolJob
  readonly find: FindTool
  readonly redactor: Redactor | undefined
  /** The body runs on the host, not in a worker. */
  readonly onHost: boolean
  readonly #clock: Clock
  #limit: TimeLimit | undefined
  #opening = false
  #snapshot: Promise<Snapshot> | undefined
  #copy: WorkingCopy | undefined
  #files: Files | undefined
  #values: Values | undefined
  #schedules: Schedules | undefined
  #progress: ToolProgress | undefined
  #runCode: RunCode | undefined
  #queued: Mutable<NonNullable<Returned['queued']>> | undefined
  #messages: Mutable<NonNullable<Returned['messages']>> | undefined
  #told: Mutable<NonNullable<Returned['told']>> | undefined
  #preliminaries: Json[] | undefined

  constructor(tool: ToolDefinition, job: ToolJob, services: RecorderServices) {
    this.job = job
    this.find = services.find
    this.onHost = services.limits === 'here'
    this.#clock = services.clock
    this.redactor = tool.variables || tool.uses ? createRedactor(job.secrets) : undefined
  }

  /** Nothing was used, and there is nothing to mask. */
  get isEmpty(): boolean {
    return (
      !this.#copy &&
      !this.#values &&
      !this.#queued &&
      !this.#messages &&
      !this.#told &&
      !this.#preliminaries &&
      !this.#progress &&
      !this.redactor
    )
  }

  get limit(): TimeLimit | undefined {
    return this.#limit
  }

  set limit(limit: TimeLimit | undefined) {
    this.#limit = limit
    if (this.#opening) limit?.pause()
  }

  /** A content by its hash, whether or not a file refers to it. */
  async content(hash: string): Promise<Uint8Array> {
    return (await this.#open()).files.bytes(hash)
  }

  #open(): Promise<Snapshot> {
    return (this.#snapshot ??= this.#openSnapshot())
  }

  async #openSnapshot(): Promise<Snapshot> {
    this.#opening = true
    this.#limit?.pause()
    try {
      return await this.job.snapshot.open()
    } finally {
      this.#opening = false
      this.#limit?.resume()
    }
  }

  get files(): Files {
    this.#copy ??= createWorkingCopy(async () => (await this.#open()).files)
    return (this.#files ??= this.redactor ? maskedFiles(this.#copy.files, this.redactor) : this.#copy.files)
  }

  get values(): Values {
    return (this.#values ??= createValues(this.job.snapshot, () => this.#open()))
  }

  get schedules(): Schedules {
    return (this.#schedules ??= createSchedules(this.values, this.#clock, this.job.idempotencyKey))
  }

  get progress(): ToolProgress {
    return (this.#progress ??= createProgress({
      clock: this.#clock,
      redactor: this.redactor,
      emit: (output) => this.job.emit(output),
    }))
  }

  get runCode(): RunCode {
    return (this.#runCode ??= lazyRunCode(() => this.job.cancel.signal))
  }

  queue(tool: string, args: Json): void {
    this.#queued ??= []
    this.#queued.push({ tool, args: this.#mask(args) })
  }

  message(text: string, silent: boolean): void {
    this.#messages ??= []
    this.#messages.push({
      text: this.text(text),
      ...defined({ silent: silent || undefined }),
    })
  }

  /** Sends a notice or a status to the parent of the thread. */
  tellParent(message: Saying): void {
    this.#told ??= []
    this.#told.push(
      'status' in message ? { status: this.text(message.status) } : { ...message, text: this.text(message.text) },
    )
  }

  preliminary(event: Json): void {
    const clean = this.#mask(event)
    this.#preliminaries ??= []
    this.#preliminaries.push(clean)
    this.progress.preliminary(clean)
  }

  /** The result of a body that returned, with everything it did. */
  async done(outcome: Outcome, also: Pick<Returned, 'text' | 'media' | 'held' | 'attached'> = {}): Promise<Returned> {
    this.#progress?.close()
    const clean = this.redactor ? maskOutcome(this.redactor, outcome) : outcome
    const files = await this.#copy?.done()
    const values = this.#values?.done()
    return {
      outcome: clean,
      ...also,
      ...readsOf(files?.reads, values?.reads),
      ...changesOf({
        files: files?.changes ?? [],
        values: values?.changes.map((change) => this.#maskValueChange(change)) ?? [],
        schedules: this.#schedules?.done().map((change) => this.#maskScheduleChange(change)) ?? [],
      }),
      ...contentsOf(files?.contents),
      ...defined({
        queued: this.#queued,
        messages: this.#messages,
        told: this.#told,
        preliminaries: this.#preliminaries,
      }),
    }
  }

  /** The result of a body that threw, was ended, or returned what does not fit. */
  async failed(failure: Failure, thrown?: unknown): Promise<Returned> {
    const cause = this.#maskThrown(thrown)
    if (cause?.stack !== undefined && isDebugging()) this.progress.log([cause.stack])
    this.#progress?.close()
    const outcome = { ok: false, failure: this.redactor ? maskFailure(this.redactor, failure) : failure } as const
    // A body that was ended during a read may not know its reads; nothing depends on them then.
    const files = await this.#copy?.done().catch(() => undefined)
    return {
      outcome,
      ...defined({ thrown: cause }),
      ...readsOf(files?.reads, this.#values?.done().reads),
      ...defined({ preliminaries: this.#preliminaries }),
    }
  }

  #maskThrown(value: unknown): Thrown | undefined {
    const thrown = toThrown(value, (text) => this.text(text))
    return thrown && this.redactor ? maskThrown(thrown, this.redactor) : thrown
  }

  /** The text without secrets. */
  text(text: string): string {
    return this.redactor ? this.redactor.text(text) : text
  }

  #mask(value: Json): Json {
    return this.redactor ? this.redactor.json(value) : value
  }

  #maskValueChange(change: ValueChange): ValueChange {
    return change.value === undefined ? change : { ...change, value: this.#mask(change.value) }
  }

  #maskScheduleChange(change: ScheduleChange): ScheduleChange {
    return change.op === 'add' ? { ...change, args: this.#mask(change.args) } : change
  }
}

type Reads = NonNullable<Returned['reads']>
type Changes = NonNullable<Returned['changes']>

function readsOf(files: Reads['files'] = [], values: Reads['values'] = []): Pick<Returned, 'reads'> {
  if (files.length + values.length === 0) return {}
  return { reads: defined({ files: unlessEmpty(files), values: unlessEmpty(values) }) }
}

function changesOf({ files, values, schedules }: Required<Changes>): Pick<Returned, 'changes'> {
  if (files.length + values.length + schedules.length === 0) return {}
  const changes = { files: unlessEmpty(files), values: unlessEmpty(values), schedules: unlessEmpty(schedules) }
  return { changes: defined(changes) }
}

function contentsOf(contents: ReadonlyMap<string, Uint8Array> = new Map()): Pick<Returned, 'contents'> {
  return contents.size === 0 ? {} : { contents: Array.from(contents, ([hash, bytes]) => ({ hash, bytes })) }
}

function unlessEmpty<Item>(items: readonly Item[]): readonly Item[] | undefined {
  return items.length > 0 ? items : undefined
}
