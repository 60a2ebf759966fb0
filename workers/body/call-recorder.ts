/**
 * The worksheet of one call: what its body, and the tools that it invokes, have seen, changed, asked for and said.
 * Everything on it is made when it is first used; most calls use nothing.
 *
 * - The snapshot is opened once, when the body first looks at something.
 * - What the body did counts with a result and with an error that it returned; a throw, a time-out and an abort
 *   leave only what it saw, for on another state it might have gone well (T3).
 * - Nothing that leaves the call holds a secret of its environment (F3), the bytes of files not excepted: whoever
 *   needs the value declares it.
 */
import type { ToolDefinition } from '../../src/agent/define.js'
import type { Clock } from '../../src/core/clock.js'
import { defined } from '../../src/core/defined.js'
import type { Outcome } from '../../src/core/effect.js'
import type { Failure } from '../../src/core/failure.js'
import { toJson } from '../../src/core/json.js'
import type { Json } from '../../src/core/json.js'
import type { Saying } from '../../src/core/records/record.js'
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

/** Stacks of what bodies throw are part of their log. */
const isDebugging = (): boolean => process.env['SKEIN_DEBUG'] === '1'

export class CallRecorder {
  readonly job: ToolJob
  readonly find: FindTool
  readonly redactor: Redactor | undefined
  /** On the host. */
  readonly onHost: boolean
  readonly #clock: Clock
  #limit: TimeLimit | undefined
  #waits = false
  #snapshot: Promise<Snapshot> | undefined
  #copy: WorkingCopy | undefined
  #files: Files | undefined
  #values: Values | undefined
  #schedules: Schedules | undefined
  #voice: ToolProgress | undefined
  #runCode: RunCode | undefined
  #queued: Mutable<NonNullable<Returned['queued']>> | undefined
  #messages: Mutable<NonNullable<Returned['messages']>> | undefined
  #told: Mutable<NonNullable<Returned['told']>> | undefined
  #preliminaries: Json[] | undefined

  constructor(tool: ToolDefinition, job: ToolJob, means: RecorderServices) {
    this.job = job
    this.find = means.find
    this.onHost = means.limits === 'here'
    this.#clock = means.clock
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
      !this.#voice &&
      !this.redactor
    )
  }

  get limit(): TimeLimit | undefined {
    return this.#limit
  }

  set limit(limit: TimeLimit | undefined) {
    this.#limit = limit
    if (this.#waits) limit?.pause()
  }

  /** A content by its hash, whether or not a file has it. */
  async content(hash: string): Promise<Uint8Array> {
    return (await this.#open()).files.bytes(hash)
  }

  #open(): Promise<Snapshot> {
    return (this.#snapshot ??= this.#opened())
  }

  /** WS1. Its time stands still while it waits for others. */
  async #opened(): Promise<Snapshot> {
    this.#waits = true
    this.#limit?.pause()
    try {
      return await this.job.snapshot.open()
    } finally {
      this.#waits = false
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
    return (this.#voice ??= createProgress({
      clock: this.#clock,
      redactor: this.redactor,
      emit: (what) => this.job.emit(what),
    }))
  }

  get runCode(): RunCode {
    return (this.#runCode ??= lazyRunCode(() => this.job.cancel.signal))
  }

  queue(tool: string, args: Json): void {
    this.#queued ??= []
    this.#queued.push({ tool, args: this.#clean(args) })
  }

  message(text: string, silent: boolean): void {
    this.#messages ??= []
    this.#messages.push({
      text: this.redactor ? this.redactor.text(text) : text,
      ...defined({ silent: silent || undefined }),
    })
  }

  tell(saying: Saying): void {
    this.#told ??= []
    this.#told.push(
      'status' in saying ? { status: this.text(saying.status) } : { ...saying, text: this.text(saying.text) },
    )
  }

  preliminary(event: Json): void {
    const clean = this.#clean(event)
    this.#preliminaries ??= []
    this.#preliminaries.push(clean)
    this.progress.preliminary(clean)
  }

  /** All that came of it. */
  async done(outcome: Outcome, also: Pick<Returned, 'text' | 'media' | 'held' | 'attached'> = {}): Promise<Returned> {
    this.#voice?.close()
    const clean = this.redactor ? this.#cleanOutcome(outcome) : outcome
    const files = await this.#copy?.done()
    const values = this.#values?.done()
    return {
      outcome: clean,
      ...also,
      ...seen(files?.reads, values?.reads),
      ...changed({
        files: files?.changes ?? [],
        values:
          values?.changes.map((change) =>
            change.value === undefined ? change : { ...change, value: this.#clean(change.value) },
          ) ?? [],
        schedules:
          this.#schedules
            ?.done()
            .map((change) => (change.op === 'add' ? { ...change, args: this.#clean(change.args) } : change)) ?? [],
      }),
      ...(files &&
        files.contents.size > 0 && { contents: Array.from(files.contents, ([hash, bytes]) => ({ hash, bytes })) }),
      ...(this.#queued && { queued: this.#queued }),
      ...(this.#messages && { messages: this.#messages }),
      ...(this.#told && { told: this.#told }),
      ...(this.#preliminaries && { preliminaries: this.#preliminaries }),
    }
  }

  /** It came to nothing. */
  async failed(failure: Failure, thrown?: unknown): Promise<Returned> {
    const told = this.#thrown(thrown)
    if (told?.stack !== undefined && isDebugging()) this.progress.log([told.stack])
    this.#voice?.close()
    const outcome = { ok: false, failure: this.redactor ? this.#cleanFailure(failure) : failure } as const
    // A body that was ended in the middle of a look may not be able to say what it saw; nothing depends on it then.
    const files = await this.#copy?.done().catch(() => undefined)
    return {
      outcome,
      ...defined({ thrown: told }),
      ...seen(files?.reads, this.#values?.done().reads),
      ...(this.#preliminaries && { preliminaries: this.#preliminaries }),
    }
  }

  #thrown(value: unknown): Thrown | undefined {
    const thrown = toThrown(value, (text) => this.text(text))
    return thrown && this.redactor ? maskThrown(thrown, this.redactor) : thrown
  }

  text(text: string): string {
    return this.redactor ? this.redactor.text(text) : text
  }

  #clean(value: Json): Json {
    return this.redactor ? this.redactor.json(value) : value
  }

  #cleanOutcome(outcome: Outcome): Outcome {
    return outcome.ok
      ? { ...outcome, value: this.#clean(outcome.value) }
      : { ok: false, failure: this.#cleanFailure(outcome.failure) }
  }

  #cleanFailure({ message, data, cause, ...rest }: Failure): Failure {
    return {
      ...rest,
      message: this.text(message),
      ...(data && { data: this.#clean(toJson(data)) as NonNullable<Failure['data']> }),
      ...(cause && { cause: this.#cleanFailure(cause) }),
    }
  }
}

type Reads = NonNullable<Returned['reads']>
type Changes = NonNullable<Returned['changes']>

function seen(files: Reads['files'] = [], values: Reads['values'] = []): Pick<Returned, 'reads'> {
  if (files.length + values.length === 0) return {}
  return { reads: { ...(files.length > 0 && { files }), ...(values.length > 0 && { values }) } }
}

function changed({ files, values, schedules }: Required<Changes>): Pick<Returned, 'changes'> {
  if (files.length + values.length + schedules.length === 0) return {}
  return {
    changes: {
      ...(files.length > 0 && { files }),
      ...(values.length > 0 && { values }),
      ...(schedules.length > 0 && { schedules }),
    },
  }
}
