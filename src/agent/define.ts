/**
 * Definitions: plain data that describes a tool, prompt, model or agent. Making one has no effect; everything is
 * checked when an app is loaded (app.ts). The type parameters of a tool are its schemas, from which the types of its
 * body follow (D8; infer.ts reads them off again).
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
import type { EndpointDefinition } from './endpoints/define-endpoint.js'
import type { HookDefinition } from './define-hook.js'
import { providerArgs } from './provider-tool.js'
import type { ProviderRun, ProviderTool } from './provider-tool.js'
import { isNamed, nameOf, namesOfDefinitions } from './naming.js'
import type { NameOr } from './naming.js'
import type { SkillsetDefinition } from './skills.js'

export type {
  Agent,
  AgentDefinition,
  ContextOptions,
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

/** The key-value store of a thread; a change takes effect when its call is settled. */
export interface KeyValues {
  get(key: string): Promise<Json | undefined>
  set(key: string, value: Json): Promise<void>
  delete(key: string): Promise<void>
  /** In the order of keys: all entries, or those whose key begins with `prefix`. */
  list(prefix?: string): Promise<readonly { readonly key: string; readonly value: Json }[]>
}

/** What the body of a tool may use. Changes take effect when its call is settled, in call order (T3). */
export interface ToolState<Local = unknown, Shared = unknown> {
  readonly threadId: string
  /** Stable across retries and resume; unique to the call. */
  readonly idempotencyKey: string
  /** Aborted when the call is cancelled, or its deadline or time-out has passed. */
  readonly signal: AbortSignal
  /** The value of a variable that the tool declares. */
  env(name: string): Promise<string>
  /** The thread's own files. */
  readonly files: Files
  /** The thread's own key-value store. */
  readonly kv: KeyValues
  /** The context of this tool, typed by `contextSchema`. Always the latest value. */
  readonly local: Local
  /** Merges into `local`; checked by `contextSchema`. */
  setContext(part: Partial<Local>): void
  /** The context that all tools of the thread share, typed by `sharedSchema`. */
  readonly shared: Shared
  setShared(part: Partial<Shared>): void
  /** Reports progress of the call to watchers. */
  progress(event: unknown): void
  log(...what: readonly unknown[]): void
  /** Runs code of a model or a user in a sandbox. */
  readonly runCode: RunCode
  /** Runs another tool now, as part of this call; it is not recorded by itself. The tool must be named in `uses`. */
  invokeTool(name: string, args: unknown): Promise<unknown>
  /** Queues a call of another tool after the calls of this step. The tool must be named in `uses`. */
  queueTool(name: string, args: unknown): void
  /**
   * Schedules one call of a tool; it survives a restart. The tool is this one, or one that is
   * named in `uses`. Returns the id of the schedule.
   */
  schedule(name: string, args: unknown, time: ScheduleTime): string
  /** What is scheduled in this thread, in order of time. */
  schedules(): Promise<readonly Scheduled[]>
  /** Removes a schedule. False if its call was queued already, or there is none of this id. */
  unschedule(id: string): Promise<boolean>
  /** Adds a message to the thread after the calls of this step. */
  queueMessage(text: string, options?: { readonly silent?: boolean }): void
  /**
   * Sends a message to the parent thread. Attachments are paths of files and directories of this thread, which the
   * parent finds in its own `/attachments`; if one does not exist, that is an error, and nothing is sent.
   */
  notifyParent(text: string, options?: { readonly attachments?: readonly string[] }): Promise<void>
  /** Sets the status text that the parent sees in its list of children. */
  setStatus(text: string): void
}

export interface CachePolicy<Args = unknown> {
  /** Calls with equal keys are equal. Default: the args. */
  keyFn?(args: Args): string
  readonly ttlMs?: number
}

export interface RetryPolicy {
  /** Default 2; 0 for a circuit breaker without retries. */
  readonly maxRetries?: number
  /** Before the first retry; doubles with each. Default 0. */
  readonly backoffMs?: number
  /**
   * Called with the error of the body as far as it can be serialised: name, message, cause and its own JSON fields
   * (code, status, …).
   */
  shouldRetry?(error: Error & { readonly code?: unknown; readonly status?: unknown }): boolean
  /** After this many failed calls in a row, retries included, the tool is refused for the rest of the run. */
  readonly circuitBreakerThreshold?: number
}

/** A body may return a status; any other value is the result itself (T2). */
export type ReportedResult<Value = unknown> =
  | { readonly status: 'success'; readonly result?: Value; readonly content?: unknown; readonly attachments?: unknown }
  | {
      readonly status: 'error'
      readonly error?: unknown
      readonly result?: unknown
      readonly content?: unknown
      readonly attachments?: unknown
    }

/** What a body may return: the input of `outputSchema`; without one, anything. */
type Returnable<Output extends Schema> = InputOf<Output> | ReportedResult<InputOf<Output>>

/** The result of a call whose body returns `Result`. */
export type ToolOutputOf<Result, Output extends Schema> =
  unknown extends ParsedOf<Output> ? ResultOf<Result> : ParsedOf<Output>
type ResultOf<Result> = Result extends { readonly status: 'error' }
  ? never
  : Result extends { readonly status: 'success'; readonly result: infer Value }
    ? Value
    : Result

/** As a method, because its parameters are compared both ways: a tool with precise args is still a `ToolDefinition`. */
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
 * The fields of a tool that do not depend on what its bodies return. The type parameter of a missing schema is
 * `NoSchema` in a tool made by `defineTool`, so that `setContext` does not compile without a `contextSchema`.
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
  /** What the model reads about the tool, beside its name and args. */
  readonly description?: string
  readonly args: Args
  /** The JSON Schema of the args that the model is shown. Default: derived from `args`. */
  readonly parameters?: { readonly [key: string]: Json }
  readonly outputSchema?: Output
  readonly eventSchema?: Event
  readonly contextSchema?: Local
  readonly sharedSchema?: Shared
  readonly variables?: readonly Variable[]
  /** A person must approve the call before it runs. A function reads the contexts as they are before the step. */
  readonly needsApproval?:
    | boolean
    | Body<ParsedOf<Args>, Pick<StateOf<Local, Shared>, 'threadId' | 'local' | 'shared'>, boolean | Promise<boolean>>
  readonly approvalPrompt?: string
  /** Passed to the approver, for instance to fill in a form. */
  readonly approvalDefaults?: Json
  /** The decision when nobody decides in time. Default: the call waits without limit. */
  readonly approvalDeadline?: { readonly afterMs: number; readonly decision: 'approve' | 'reject' }
  /** Successful executions in one run; null: unlimited. */
  readonly maxExecutionsPerRun?: number | null
  /** Equal calls within a run are executed once. */
  readonly cache?: boolean | CachePolicy<ParsedOf<Args>>
  readonly retry?: RetryPolicy
  /** It is meant to be called again and again, as a tool that polls: `limits.repetition` does not count it. */
  readonly repeats?: boolean
  /** After this long the call is aborted and the model reads TOOL_TIMED_OUT. */
  readonly timeoutMs?: number
  /**
   * True: the body acts on the world outside the thread; it runs alone, in call order, after its intent is durable.
   * False: it may run before earlier calls are settled, and again if they changed what it read. Not set: it runs once,
   * and its reads wait for the calls before it.
   */
  readonly sideEffect?: boolean
  /** With `sideEffect`: order does not matter, so it may run in parallel with other calls. */
  readonly commutes?: boolean
  /** A repetition with the same `idempotencyKey` has no further effect: after a crash the body simply runs again. */
  readonly idempotent?: boolean
  /**
   * Finds out whether the effect of this `idempotencyKey` has happened: returns its result, or null if it has not.
   * Called after a crash between the start of the body and the record of its result.
   */
  readonly probe?: Body<StateOf<Local, Shared>, ParsedOf<Args>, unknown>
  /**
   * After such a crash, without `idempotent` and `probe`: the model is told that it may have happened (default), a
   * person is asked, or the body runs again.
   */
  readonly onUnknown?: 'tell' | 'ask' | 'retry'
  /** Undoes the effect when history is rewound past it. */
  readonly revert?: Body<StateOf<Local, Shared>, ParsedOf<Args>, unknown>
  /**
   * `keep`: the model always reads the whole result. Default `archive`: a long result is cut, and `get_tool_response`
   * gives the rest.
   */
  readonly retention?: 'keep' | 'archive'
  /** The body computes for a long time: it gets a worker thread of its own. */
  readonly cpu?: boolean
  /** `host`: the body closes over live objects of the host's process and runs there. Default `worker`. */
  readonly where?: 'worker' | 'host'
}

/**
 * `Type`, once `Output` is known. The condition always holds; it makes the compiler infer `outputSchema` before it
 * looks at a body, so that a literal returned by the body is typed as one of the schema. Only the parameter of
 * `defineTool` is written like this: up to TypeScript 5.9 two types with such a condition are compared by their type
 * parameters alone, and no definition would be a `ToolDefinition`.
 */
type Once<Output extends Schema, Type> = Output extends Schema ? Type : never

/** The parameter of `defineTool`. */
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
  /** The model's provider runs it: it has no body. */
  readonly provider?: ProviderRun
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

/** An MCP server (`mcp`) contributes its tools when the app is loaded, a folder of skills (`skillset`) its skills. */
export type Definition =
  | ToolDefinition
  | PromptDefinition
  | ModelDefinition
  | AgentDefinition
  | HookDefinition
  | EndpointDefinition
  | McpDefinition
  | SkillsetDefinition

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
  return { kind: 'tool', name: '', ...tool, ...defined({ uses: uses && namesOfDefinitions<never>(uses) }) }
}

/** A tool that the provider of a model runs. Not an overload of `defineTool`: a mistake there is told at its field. */
export function defineProviderTool(tool: ProviderTool): ToolDefinition {
  return { kind: 'tool', name: '', args: providerArgs, ...tool }
}

export function definePrompt<Input extends Schema = Schema, Output extends Schema = Schema>(
  prompt: Prompt<Input, Output>,
): PromptDefinition<Plain<Input>, Plain<Output>>
export function definePrompt({ model, tools, toolChoice, hooks, ...prompt }: Prompt): PromptDefinition {
  const choice =
    typeof toolChoice === 'object' && toolChoice !== null
      ? { ...toolChoice, tool: nameOf(toolChoice.tool) }
      : toolChoice
  return {
    kind: 'prompt',
    name: '',
    ...prompt,
    model: nameOf(model),
    ...defined({
      tools: tools && namesOfDefinitions(tools),
      toolChoice: choice,
      hooks: hooks && namesOfDefinitions<never>(hooks),
    }),
  }
}

export function defineModel({ fallback, ...model }: ModelChoice): ModelDefinition {
  return {
    kind: 'model',
    name: '',
    ...model,
    ...defined({ fallback: fallback && namesOfDefinitions<never>(fallback) }),
  }
}

export function defineAgent({ hooks: given, ...agent }: Agent): AgentDefinition {
  const sideA = sideOf(agent.sideA)
  const hooks = defined({ hooks: given && namesOfDefinitions<never>(given) })
  return agent.type === 'dual_ai'
    ? { kind: 'agent', name: '', ...agent, ...hooks, sideA, sideB: sideOf(agent.sideB) }
    : { kind: 'agent', name: '', ...agent, ...hooks, sideA }
}

function sideOf(input: SideInput): Side {
  if (typeof input !== 'object' || input === null) return input
  const { prompt, stopTool, sessionStop, sessionFail, sessionStatus, ...side } = input
  return {
    ...side,
    prompt: nameOf(prompt),
    ...defined({
      stopTool: stopTool && nameOf(stopTool),
      sessionStop: sessionStop && sessionTool(sessionStop),
      sessionFail: sessionFail && sessionTool(sessionFail),
      sessionStatus: sessionStatus && sessionTool(sessionStatus),
    }),
  }
}

function sessionTool(tool: NameOr<'tool'> | SessionTool): string | SessionTool {
  return isNamed(tool) ? tool.name : tool
}
