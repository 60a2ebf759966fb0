/**
 * Definitions: plain data that says what a tool, prompt, model or agent is. Nothing happens when one is made;
 * everything is checked when an app is loaded (app.ts). The type parameters of a tool are its schemas: what its body
 * sees and gives follows from them (D8; infer.ts reads it off again).
 *
 * DE1 A definition is known by its `kind`, never by its class, so it may come from another copy of the package.
 */
import type { z } from 'zod'
import type { Json } from '../core/json.js'
import type { Scheduled } from '../core/schedule.js'
import type { Files } from '../files/port.js'
import type { RunCode } from '../tools/code.js'
import type { McpDefinition } from '../tools/foreign/server.js'
import type { Agent, AgentDefinition, ModelChoice, ModelDefinition, Prompt, PromptDefinition, Variable } from './define-agent.js'

export type { Agent, AgentDefinition, ModelChoice, ModelDefinition, ModelSource, Prompt, PromptDefinition, PromptPart, SessionTool, Side, SubagentTool, SubpromptTool, Supervision, Variable } from './define-agent.js'

/** A value by key, kept with the thread; a change counts when its call does. */
export interface KeyValues {
  get(key: string): Promise<Json | undefined>
  set(key: string, value: Json): Promise<void>
  delete(key: string): Promise<void>
}

/** What a tool's body may use. What it changes through here counts when its call is settled, in call order (T3). */
export interface ToolState<Local = unknown, Shared = unknown> {
  readonly threadId: string
  /** Stable over retries and resume; different for every call. */
  readonly idempotencyKey: string
  /** Aborted when the call is no longer wanted: cancel, deadline, time-out. */
  readonly signal: AbortSignal
  /** The value of a variable that the tool declares. */
  env(name: string): Promise<string>
  /** The thread's own files. */
  readonly files: Files
  /** The thread's own key-value store. */
  readonly kv: KeyValues
  /** This tool's context, typed by `contextSchema`. Always the latest value. */
  readonly local: Local
  /** Merges into `local`; checked by `contextSchema`. */
  setContext(part: Partial<Local>): void
  /** The context that all tools of the thread share, typed by `sharedSchema`. */
  readonly shared: Shared
  setShared(part: Partial<Shared>): void
  /** Tells watchers how far the call is. */
  progress(event: unknown): void
  log(...what: readonly unknown[]): void
  /** Runs code of a model or a user in a sandbox. */
  readonly runCode: RunCode
  /** Runs another tool now, as part of this call; nothing of it is stored. The tool must be named in `uses`. */
  invokeTool(name: string, args: unknown): Promise<unknown>
  /** Has another tool called after the calls of this step. The tool must be named in `uses`. */
  queueTool(name: string, args: unknown): void
  /** Has a tool called after `delayMs`, once, also when the process ended in between: this tool itself, or one that is named in `uses`. Gives the id of the schedule. */
  schedule(name: string, args: unknown, delayMs: number): string
  /** What is scheduled in this thread, in order of time. */
  schedules(): Promise<readonly Scheduled[]>
  /** Takes a schedule back. False when its call was queued already, or there is none. */
  unschedule(id: string): Promise<boolean>
  /** Says something to the thread after the calls of this step. */
  queueMessage(text: string, options?: { readonly silent?: boolean }): void
  /**
   * Says something to the thread that called this one. Attachments are paths of this thread's files and directories, which it
   * finds in its own `/attachments`; one that is not there is an error, and nothing is sent.
   */
  notifyParent(text: string, options?: { readonly attachments?: readonly string[] }): Promise<void>
  /** What this thread is doing, as the list of its parent's children shows it. */
  setStatus(text: string): void
}

export interface CachePolicy<Args = unknown> {
  /** What makes two calls equal; default: their args. */
  keyFn?(args: Args): string
  readonly ttlMs?: number
}

export interface RetryPolicy {
  readonly maxRetries: number
  /** Before the first retry; doubles with each. Default 0. */
  readonly backoffMs?: number
  shouldRetry?(error: Error): boolean
  /** Calls in a row that failed for good, after which the tool is not run any more in this run. */
  readonly circuitBreakerThreshold?: number
}

/** A body may say how it went; any other value is the result itself (T2). */
export type Reported<Value = unknown> =
  | { readonly status: 'success'; readonly result?: Value; readonly content?: unknown; readonly attachments?: unknown }
  | { readonly status: 'error'; readonly error?: unknown; readonly result?: unknown; readonly content?: unknown; readonly attachments?: unknown }

/** What a body may return where `outputSchema` says what comes of it; without one, anything. */
type Returnable<Output extends z.ZodType> = z.input<Output> | Reported<z.input<Output>>

/** What comes of a body that returns `Result`. */
export type OutputOf<Result, Output extends z.ZodType> = unknown extends z.output<Output> ? ResultOf<Result> : z.output<Output>
type ResultOf<Result> = Result extends { readonly status: 'error' } ? never : Result extends { readonly status: 'success'; readonly result: infer Value } ? Value : Result

/** A method: a tool of precise args is a tool (parameters compare both ways). */
type Body<State, Input, Result> = { body(state: State, input: Input): Result }['body']

/**
 * `Type`, once `Output` is known. The condition always holds; it has the compiler infer `outputSchema` before it looks at a
 * body, so that a literal in what the body returns is taken for one of the schema's.
 */
type Once<Output extends z.ZodType, Type> = Output extends z.ZodType ? Type : never

/**
 * What `defineTool` is told. `Result` is what the body returns; where a schema is not given, its type parameter is
 * `z.ZodNever` for a tool that `defineTool` made (so `setContext` does not compile without a `contextSchema`).
 */
export interface Tool<
  Args extends z.ZodType = z.ZodType,
  Result = unknown,
  Event extends z.ZodType = z.ZodType,
  Local extends z.ZodType = z.ZodType,
  Shared extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
  Name extends string = string,
> {
  /** May be left out in a file of a folder app, which names its definition. */
  readonly name?: Name
  readonly description: string
  readonly args: Args
  /** JSON Schema of the args as the model is told them, where `args` cannot say it. Default: made of `args`. */
  readonly parameters?: { readonly [key: string]: Json }
  /**
   * A function, or an async generator whose yields are events (`eventSchema`) and whose return is the result. `false`: the
   * caller answers (`skein.inbox.answer`).
   */
  readonly execute?: Once<Output, false | Body<ToolState<z.output<Local>, z.output<Shared>>, z.output<Args>, Result | Promise<Result> | AsyncGenerator<z.input<Event>, Result | void, undefined>>>
  /** In place of `execute`: a value is the result, null asks a person. */
  readonly onToolCalled?: Once<Output, Body<ToolState<z.output<Local>, z.output<Shared>>, z.output<Args>, Result | null | Promise<Result | null>>>
  /** Makes the result of what the person answered. */
  readonly onResponseReceived?: Once<Output, Body<ToolState<z.output<Local>, z.output<Shared>>, Json, Result | Promise<Result>>>
  readonly outputSchema?: Output
  readonly eventSchema?: Event
  readonly contextSchema?: Local
  readonly sharedSchema?: Shared
  readonly variables?: readonly Variable[]
  /** Someone must agree before the body runs. */
  readonly needsApproval?: boolean | Body<z.output<Args>, { readonly threadId: string }, boolean | Promise<boolean>>
  readonly approvalPrompt?: string
  /** Handed to whoever decides, to fill in a form. */
  readonly approvalDefaults?: Json
  /** What is decided when nobody did in time. Default: it waits for ever. */
  readonly approvalDeadline?: { readonly afterMs: number; readonly decision: 'approve' | 'reject' }
  /** Successes in one run; null: any number. */
  readonly maxExecutionsPerRun?: number | null
  /** Equal calls of one run are run once. */
  readonly cache?: boolean | CachePolicy<z.output<Args>>
  readonly retry?: RetryPolicy
  /** After this long the call is aborted and the model reads TOOL_TIMED_OUT. */
  readonly timeoutMs?: number
  /**
   * True: the body changes the world outside the thread; it runs alone, in call order, after its intent is durable. False: it
   * may run ahead of earlier calls, and once more if what it read was changed by them. Not given: it runs once, and what it
   * reads waits for the calls before it.
   */
  readonly sideEffect?: boolean
  /** With `sideEffect`: order and company do not matter; it runs beside other calls. */
  readonly commutes?: boolean
  /** Doing it twice with one `idempotencyKey` is doing it once: after a crash it simply runs again. */
  readonly idempotent?: boolean
  /**
   * Asks the world whether the effect of this key happened: its result if it did, null if it did not. Asked after a crash
   * between the start of the body and the record of its result.
   */
  readonly probe?: Body<ToolState<z.output<Local>, z.output<Shared>>, z.output<Args>, unknown>
  /** Without `idempotent` and `probe`: the model is told that it may have happened (default), a person is asked, or the body runs again. */
  readonly onUnknown?: 'tell' | 'ask' | 'retry'
  /** Undoes the effect, when history is rewound over it. */
  readonly revert?: Body<ToolState<z.output<Local>, z.output<Shared>>, z.output<Args>, unknown>
  /** `keep`: the model always reads the whole result. Default `archive`: a long one is cut, the whole kept for `get_tool_response`. */
  readonly retention?: 'keep' | 'archive'
  /** What the model reads of a result; `args` are as the model gave them. */
  readonly toModelOutput?: { speak(output: OutputOf<Result, Output>, args: Json): string | Promise<string> }['speak']
  /** Tools that the body may invoke or queue. */
  readonly uses?: readonly string[]
  /** The body computes for long: it has a worker thread to itself. */
  readonly cpu?: boolean
  /** `host`: the body closes over live objects of the host's process and runs there. Default `worker`. */
  readonly where?: 'worker' | 'host'
}

export interface ToolDefinition<
  Args extends z.ZodType = z.ZodType,
  Result = unknown,
  Event extends z.ZodType = z.ZodType,
  Local extends z.ZodType = z.ZodType,
  Shared extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
  Name extends string = string,
> extends Tool<Args, Result, Event, Local, Shared, Output, Name> {
  readonly kind: 'tool'
  readonly name: Name
}

/** A server (`mcp`) gives its tools when the app is loaded. */
export type Definition = ToolDefinition | PromptDefinition | ModelDefinition | AgentDefinition | McpDefinition

export function defineTool<
  Args extends z.ZodType,
  Output extends z.ZodType = z.ZodType,
  Result extends Returnable<Output> = Returnable<Output>,
  Event extends z.ZodType = z.ZodNever,
  Local extends z.ZodType = z.ZodNever,
  Shared extends z.ZodType = z.ZodNever,
  Name extends string = string,
>(tool: Tool<Args, Result, Event, Local, Shared, Output, Name>): ToolDefinition<Args, Result, Event, Local, Shared, Output, Name>
export function defineTool(tool: Tool): ToolDefinition {
  return { kind: 'tool', name: '', ...tool }
}

export function definePrompt<Input extends z.ZodType = z.ZodType, Output extends z.ZodType = z.ZodType>(prompt: Prompt<Input, Output>): PromptDefinition<Input, Output> {
  return { kind: 'prompt', name: '', ...prompt }
}

export function defineModel(model: ModelChoice): ModelDefinition {
  return { kind: 'model', name: '', ...model }
}

export function defineAgent(agent: Agent): AgentDefinition {
  return { kind: 'agent', name: '', ...agent }
}
