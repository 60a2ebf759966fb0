/**
 * Definitions: plain data that says what a tool, prompt, model or agent is. Nothing happens when one is made;
 * everything is checked when an app is loaded (app.ts). The type parameters of a tool are its schemas: what its body
 * sees and gives follows from them (D8; infer.ts reads it off again).
 *
 * DE1 A definition is known by its `kind`, never by its class, so it may come from another copy of the package.
 */
import { defined } from '../core/defined.js'
import type { Json } from '../core/json.js'
import type { ScheduleTime, Scheduled } from '../core/records/schedule.js'
import type { InputOf, NoSchema, OutputOf as ParsedOf, Plain, Schema } from '../core/schema.js'
import type { Files } from '../files/port.js'
import type { RunCode } from '../tools/code.js'
import type { McpDefinition } from '../tools/foreign/server.js'
import type {
  Agent,
  AgentDefinition,
  SideInput,
  ModelChoice,
  ModelDefinition,
  Prompt,
  PromptDefinition,
  SessionTool,
  Side,
  Variable,
} from './define-agent.js'
import { isNamed, nameOf, namesOfDefinitions } from './naming.js'
import type { NameOr } from './naming.js'

export type {
  Agent,
  AgentDefinition,
  ModelChoice,
  ModelDefinition,
  ModelSource,
  Prompt,
  PromptDefinition,
  PromptPart,
  SessionTool,
  Side,
  SubagentTool,
  SubpromptTool,
  Supervision,
  Variable,
} from './define-agent.js'

/** A value by key, kept with the thread; a change counts when its call does. */
export interface KeyValues {
  get(key: string): Promise<Json | undefined>
  set(key: string, value: Json): Promise<void>
  delete(key: string): Promise<void>
  /** In order of their keys; all of them, or those that begin with `prefix`. */
  list(prefix?: string): Promise<readonly { readonly key: string; readonly value: Json }[]>
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
  /**
   * Has a tool called at a later time, once, also when the process ended in between: this tool itself, or one that is
   * named in `uses`. Gives the id of the schedule.
   */
  schedule(name: string, args: unknown, time: ScheduleTime): string
  /** What is scheduled in this thread, in order of time. */
  schedules(): Promise<readonly Scheduled[]>
  /** Takes a schedule back. False when its call was queued already, or there is none. */
  unschedule(id: string): Promise<boolean>
  /** Says something to the thread after the calls of this step. */
  queueMessage(text: string, options?: { readonly silent?: boolean }): void
  /**
   * Says something to the thread that called this one. Attachments are paths of this thread's files and directories,
   * which it finds in its own `/attachments`; one that is not there is an error, and nothing is sent.
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
  /** Default 2; 0 where nothing but a breaker is asked for. */
  readonly maxRetries?: number
  /** Before the first retry; doubles with each. Default 0. */
  readonly backoffMs?: number
  /**
   * Given what the body threw, as far as it can travel: name, message, cause and its own fields (code, status, …)
   * that are JSON.
   */
  shouldRetry?(error: Error & { readonly code?: unknown; readonly status?: unknown }): boolean
  /** Calls in a row that failed for good, after which the tool is not run any more in this run. */
  readonly circuitBreakerThreshold?: number
}

/** A body may say how it went; any other value is the result itself (T2). */
export type ReportedResult<Value = unknown> =
  | { readonly status: 'success'; readonly result?: Value; readonly content?: unknown; readonly attachments?: unknown }
  | {
      readonly status: 'error'
      readonly error?: unknown
      readonly result?: unknown
      readonly content?: unknown
      readonly attachments?: unknown
    }

/** What a body may return where `outputSchema` says what comes of it; without one, anything. */
type Returnable<Output extends Schema> = InputOf<Output> | ReportedResult<InputOf<Output>>

/** What comes of a body that returns `Result`. */
export type ToolOutputOf<Result, Output extends Schema> =
  unknown extends ParsedOf<Output> ? ResultOf<Result> : ParsedOf<Output>
type ResultOf<Result> = Result extends { readonly status: 'error' }
  ? never
  : Result extends { readonly status: 'success'; readonly result: infer Value }
    ? Value
    : Result

/** A method: a tool of precise args is a tool (parameters compare both ways). */
type Body<State, Input, Result> = { body(state: State, input: Input): Result }['body']

/** The bodies of a tool, by their types. */
type Execute<Args extends Schema, Result, Event extends Schema, Local extends Schema, Shared extends Schema> =
  | false
  | Body<
      StateOf<Local, Shared>,
      ParsedOf<Args>,
      Result | Promise<Result> | AsyncGenerator<InputOf<Event>, Result | void, undefined>
    >
type OnCalled<Args extends Schema, Result, Local extends Schema, Shared extends Schema> = Body<
  StateOf<Local, Shared>,
  ParsedOf<Args>,
  Result | null | Promise<Result | null>
>
type OnResponse<Result, Local extends Schema, Shared extends Schema> = Body<
  StateOf<Local, Shared>,
  Json,
  Result | Promise<Result>
>
type Speak<Value> = { speak(output: Value, args: Json): string | Promise<string> }['speak']
type StateOf<Local extends Schema, Shared extends Schema> = ToolState<ParsedOf<Local>, ParsedOf<Shared>>

/**
 * All of a tool but what depends on what its bodies return. Where a schema is not given, its type parameter is
 * `NoSchema` for a tool that `defineTool` made (so `setContext` does not compile without a `contextSchema`).
 */
interface ToolFields<
  Args extends Schema = Schema,
  Event extends Schema = Schema,
  Local extends Schema = Schema,
  Shared extends Schema = Schema,
  Output extends Schema = Schema,
  Name extends string = string,
> {
  /** May be left out in a file of a folder app, which names its definition. */
  readonly name?: Name
  /** What a model is told of it; without one, its name and args must do. */
  readonly description?: string
  readonly args: Args
  /** JSON Schema of the args as the model is told them, where `args` cannot say it. Default: made of `args`. */
  readonly parameters?: { readonly [key: string]: Json }
  readonly outputSchema?: Output
  readonly eventSchema?: Event
  readonly contextSchema?: Local
  readonly sharedSchema?: Shared
  readonly variables?: readonly Variable[]
  /** Someone must agree before the body runs. */
  readonly needsApproval?: boolean | Body<ParsedOf<Args>, { readonly threadId: string }, boolean | Promise<boolean>>
  readonly approvalPrompt?: string
  /** Handed to whoever decides, to fill in a form. */
  readonly approvalDefaults?: Json
  /** What is decided when nobody did in time. Default: it waits for ever. */
  readonly approvalDeadline?: { readonly afterMs: number; readonly decision: 'approve' | 'reject' }
  /** Successes in one run; null: any number. */
  readonly maxExecutionsPerRun?: number | null
  /** Equal calls of one run are run once. */
  readonly cache?: boolean | CachePolicy<ParsedOf<Args>>
  readonly retry?: RetryPolicy
  /** After this long the call is aborted and the model reads TOOL_TIMED_OUT. */
  readonly timeoutMs?: number
  /**
   * True: the body changes the world outside the thread; it runs alone, in call order, after its intent is durable.
   * False: it may run ahead of earlier calls, and once more if what it read was changed by them. Not given: it runs
   * once, and what it reads waits for the calls before it.
   */
  readonly sideEffect?: boolean
  /** With `sideEffect`: order and company do not matter; it runs beside other calls. */
  readonly commutes?: boolean
  /** Doing it twice with one `idempotencyKey` is doing it once: after a crash it simply runs again. */
  readonly idempotent?: boolean
  /**
   * Asks the world whether the effect of this key happened: its result if it did, null if it did not. Asked after a
   * crash between the start of the body and the record of its result.
   */
  readonly probe?: Body<StateOf<Local, Shared>, ParsedOf<Args>, unknown>
  /**
   * Without `idempotent` and `probe`: the model is told that it may have happened (default), a person is asked, or
   * the body runs again.
   */
  readonly onUnknown?: 'tell' | 'ask' | 'retry'
  /** Undoes the effect, when history is rewound over it. */
  readonly revert?: Body<StateOf<Local, Shared>, ParsedOf<Args>, unknown>
  /**
   * `keep`: the model always reads the whole result. Default `archive`: a long one is cut, the whole kept for
   * `get_tool_response`.
   */
  readonly retention?: 'keep' | 'archive'
  /** The body computes for long: it has a worker thread to itself. */
  readonly cpu?: boolean
  /** `host`: the body closes over live objects of the host's process and runs there. Default `worker`. */
  readonly where?: 'worker' | 'host'
}

/**
 * `Type`, once `Output` is known. The condition always holds; it has the compiler infer `outputSchema` before it
 * looks at a body, so that a literal in what the body returns is taken for one of the schema's. Only what
 * `defineTool` is told is written so: up to TypeScript 5.9 two types with such a condition are compared by their type
 * parameters alone, and no definition would be a `ToolDefinition`.
 */
type Once<Output extends Schema, Type> = Output extends Schema ? Type : never

/** What `defineTool` is told. */
export interface Tool<
  Args extends Schema = Schema,
  Result = unknown,
  Event extends Schema = Schema,
  Local extends Schema = Schema,
  Shared extends Schema = Schema,
  Output extends Schema = Schema,
  Name extends string = string,
> extends ToolFields<Args, Event, Local, Shared, Output, Name> {
  /**
   * A function, or an async generator whose yields are events (`eventSchema`) and whose return is the result.
   * `false`: the caller answers (`skein.inbox.answer`).
   */
  readonly execute?: Once<Output, Execute<Args, Result, Event, Local, Shared>>
  /** In place of `execute`: a value is the result, null asks a person. */
  readonly onToolCalled?: Once<Output, OnCalled<Args, Result, Local, Shared>>
  /** Makes the result of what the person answered. */
  readonly onResponseReceived?: Once<Output, OnResponse<Result, Local, Shared>>
  /** What the model reads of a result; `args` are as the model gave them. */
  readonly toModelOutput?: Speak<ToolOutputOf<Result, Output>>
  /** Tools that the body may invoke or queue: their names, or they themselves. */
  readonly uses?: readonly NameOr<'tool'>[]
}

export interface ToolDefinition<
  Args extends Schema = Schema,
  Result = unknown,
  Event extends Schema = Schema,
  Local extends Schema = Schema,
  Shared extends Schema = Schema,
  Output extends Schema = Schema,
  Name extends string = string,
> extends ToolFields<Args, Event, Local, Shared, Output, Name> {
  readonly kind: 'tool'
  readonly name: Name
  /**
   * A function, or an async generator whose yields are events (`eventSchema`) and whose return is the result.
   * `false`: the caller answers (`skein.inbox.answer`).
   */
  readonly execute?: Execute<Args, Result, Event, Local, Shared>
  /** In place of `execute`: a value is the result, null asks a person. */
  readonly onToolCalled?: OnCalled<Args, Result, Local, Shared>
  /** Makes the result of what the person answered. */
  readonly onResponseReceived?: OnResponse<Result, Local, Shared>
  /** What the model reads of a result; `args` are as the model gave them. */
  readonly toModelOutput?: Speak<ParsedOf<Output>>
  /** Tools that the body may invoke or queue. */
  readonly uses?: readonly string[]
}

/** A server (`mcp`) gives its tools when the app is loaded. */
export type Definition = ToolDefinition | PromptDefinition | ModelDefinition | AgentDefinition | McpDefinition

export function defineTool<
  Args extends Schema,
  Output extends Schema = Schema,
  Result extends Returnable<Output> = Returnable<Output>,
  Event extends Schema = NoSchema,
  Local extends Schema = NoSchema,
  Shared extends Schema = NoSchema,
  Name extends string = string,
>(
  tool: Tool<Args, Result, Event, Local, Shared, Output, Name>,
): ToolDefinition<Plain<Args>, Result, Plain<Event>, Plain<Local>, Plain<Shared>, Plain<Output>, Name>
export function defineTool({ uses, ...tool }: Tool): ToolDefinition {
  return { kind: 'tool', name: '', ...tool, ...(uses !== undefined && { uses: namesOfDefinitions<never>(uses) }) }
}

export function definePrompt<Input extends Schema = Schema, Output extends Schema = Schema>(
  prompt: Prompt<Input, Output>,
): PromptDefinition<Plain<Input>, Plain<Output>>
export function definePrompt({ model, tools, toolChoice, ...prompt }: Prompt): PromptDefinition {
  const choice =
    typeof toolChoice === 'object' && toolChoice !== null
      ? { ...toolChoice, tool: nameOf(toolChoice.tool) }
      : toolChoice
  return {
    kind: 'prompt',
    name: '',
    ...prompt,
    model: nameOf(model),
    ...(tools !== undefined && { tools: namesOfDefinitions(tools) }),
    ...defined({ toolChoice: choice }),
  }
}

export function defineModel({ fallback, ...model }: ModelChoice): ModelDefinition {
  return {
    kind: 'model',
    name: '',
    ...model,
    ...(fallback !== undefined && { fallback: namesOfDefinitions<never>(fallback) }),
  }
}

export function defineAgent(agent: Agent): AgentDefinition {
  const sideA = sideOf(agent.sideA)
  return agent.type === 'dual_ai'
    ? { kind: 'agent', name: '', ...agent, sideA, sideB: sideOf(agent.sideB) }
    : { kind: 'agent', name: '', ...agent, sideA }
}

function sideOf(given: SideInput): Side {
  if (typeof given !== 'object' || given === null) return given
  const { prompt, stopTool, sessionStop, sessionFail, sessionStatus, ...side } = given
  return {
    ...side,
    prompt: nameOf(prompt),
    ...(stopTool !== undefined && { stopTool: nameOf(stopTool) }),
    ...(sessionStop !== undefined && { sessionStop: sessionTool(sessionStop) }),
    ...(sessionFail !== undefined && { sessionFail: sessionTool(sessionFail) }),
    ...(sessionStatus !== undefined && { sessionStatus: sessionTool(sessionStatus) }),
  }
}

function sessionTool(given: NameOr<'tool'> | SessionTool): string | SessionTool {
  return isNamed(given) ? given.name : given
}
