/**
 * Definitions of prompts, models and agents: who speaks, with which model and tools, and how agents call agents.
 */
import type { Budget } from '../core/budget.js'
import type { Json } from '../core/json.js'
import type { Schema } from '../core/schema.js'
import type { Model } from '../models/port.js'
import type { NameOf, NameOr } from './naming.js'
import type { MaxToolRounds, PromptStopWhen } from './stop.js'

/** A variable whose value comes from the environment of the thread. */
export interface Variable {
  readonly name: string
  /** Default `secret`: only the body of a tool sees the value; it is masked everywhere else. */
  readonly type?: 'text' | 'secret'
  /** Default true. Without a value `state.env` returns '' for an optional variable. */
  readonly required?: boolean
  readonly default?: string
  /** A child does not inherit the value from its parent: it is given one of its own. */
  readonly scoped?: boolean
  readonly description?: string
}

/** What happens to a child whose turn failed. */
export interface Supervision {
  /** Only this child is restarted, as a new thread; its siblings continue. */
  readonly strategy: 'one_for_one'
  /** Restarts before its failure becomes the result of the call. */
  readonly maxRestarts: number
  /** Older failures do not count. Default: all count. */
  readonly withinMs?: number
}

/** An agent as a tool of a prompt: a call creates a child thread. */
export interface SubagentTool {
  /** Not a definition: those are given as they are. */
  readonly kind?: never
  /** Name of the agent. */
  readonly name: NameOf<'agent'>
  /** Default true: the call waits for the child's answer. False: it returns at once, and the child reports later. */
  readonly blocking?: boolean
  /** Default: that of the parent's agent, else a failure is the result. Not for resumable children. */
  readonly supervision?: Supervision
  /**
   * What the child and all threads below it may spend per message. Default: the budget of its agent, else a share of
   * what its parent has left.
   */
  readonly budget?: Budget
  /** A variable of the thread: unless its value is `true`, `1` or `yes`, the model is not offered this agent. */
  readonly optional?: string
  /**
   * The child is started before the first model call, once in the life of the thread, with the message that started
   * its first turn. With an object: one child for each instance of the values: `NAME`, `NAME__2`, `NAME__3`.
   */
  readonly immediate?:
    | boolean
    | {
        /** The variable that holds its name. Only this value and the next are shown to a model. */
        readonly nameEnv?: string
        /** The variable that holds its first message. */
        readonly descriptionEnv?: string
        /** Variables that it is given as its own: the second child gets the value of `TOKEN__2` as `TOKEN`. */
        readonly scopedEnv?: readonly string[]
      }
  /**
   * `fork`: the child works on a copy of the parent's files, which is merged back when it ends. Default: it gets none
   * of them.
   */
  readonly files?: 'fork'
  /**
   * The arg that is its message; what else was given follows as JSON. Default: `message`, or all args as JSON where
   * the agent's prompt has a `requiredSchema`.
   */
  readonly initUserMessageProperty?: string
  /**
   * The arg that names files of the caller that it gets. Default: `attachments`, or none where there is a
   * `requiredSchema`.
   */
  readonly initAttachmentsProperty?: string
  /** The arg that is its name, for people. */
  readonly initAgentNameProperty?: string
  /**
   * Default false: the child ends with its answer. Otherwise it stays; it is created with `subagent_create` and
   * receives further messages through `subagent_message`.
   */
  readonly resumable?:
    | false
    | {
        readonly receives_messages: 'side_a' | 'side_b'
        /** Children of this agent that may live at once. */
        readonly maxInstances?: number
        /** Default `implicit`: its answer is reported to the parent even if no call waits for it. */
        readonly parentCommunication?: 'implicit' | 'explicit'
      }
}

/**
 * A prompt as a tool of another: a call makes one model request with it, in a thread of its own, and runs the tools
 * that the reply calls.
 */
export interface SubpromptTool {
  /** Not a definition: those are given as they are. */
  readonly kind?: never
  /** Name of the prompt. */
  readonly name: NameOf<'prompt'>
  /** Default true: the result contains its text, or its output. */
  readonly includeTextResponse?: boolean
  /** Default false: the result contains its calls with their results. */
  readonly includeToolCalls?: boolean
  /** Default false: the result contains its failed calls with the reason. */
  readonly includeErrors?: boolean
  /**
   * The arg that is its message; what else was given follows as JSON. Default: `message`, or all args as JSON where
   * there is a `requiredSchema`.
   */
  readonly initUserMessageProperty?: string
  /**
   * The arg that names files of the caller that it gets. Default: `attachments`, or none where there is a
   * `requiredSchema`.
   */
  readonly initAttachmentsProperty?: string
}

export type PromptPart =
  | { readonly type: 'text'; readonly content: string }
  /** The text of another prompt, whole. */
  | { readonly type: 'include'; readonly prompt: NameOf<'prompt'> }
  /** The value of a text variable that the prompt declares, read when the model is called. */
  | { readonly type: 'env'; readonly property: string }

/** Settings of a model call. Those of a prompt take precedence over those of its model. */
export interface ModelSettings {
  readonly temperature?: number
  /** Tokens of one reply; a longer reply is cut, which the stop reason of the turn says. */
  readonly maxOutputTokens?: number
  /**
   * Default true: providers that need to be told (Anthropic) cache the conversation; reading it back costs a tenth.
   */
  readonly promptCache?: boolean
  /**
   * Settings of a single provider, under its name:
   * `{ anthropic: { thinking: { type: 'enabled', budgetTokens: 4000 } } }`.
   */
  readonly providerOptions?: { readonly [provider: string]: { readonly [setting: string]: Json } }
}

/** How a conversation is kept short enough for its model (L3). */
export interface ContextOptions {
  /** Tokens of a request at which it is reduced. Default 75 % of the model's `contextTokens`. */
  readonly triggerTokens?: number
  /** Tokens that a reduction leaves, about. Default 40 % of the model's `contextTokens`. */
  readonly targetTokens?: number
  /**
   * Who summarises what was said, and the message that asks for it. Default: the prompt's own model, whose cache of
   * the conversation is used. False: long results are archived, and nothing is summarised.
   */
  readonly summary?: SummaryOptions | false
}

export interface SummaryOptions {
  /** Name of a model. */
  readonly model?: string
  readonly prompt?: string
}

/** `Input` and `Output` are its schemas, from which types are inferred (D8). */
interface PromptFields<Input extends Schema = Schema, Output extends Schema = Schema> extends ModelSettings {
  /** May be left out in a file of a folder app, which names its definition. */
  readonly name?: string
  /** The system prompt: a text, or parts that are joined without a separator. */
  readonly prompt: string | readonly PromptPart[]
  /** Default true: the model reads the messages of earlier turns. */
  readonly includeChat?: boolean
  /** Default true: the model reads the calls of earlier turns and their results. */
  readonly includePastTools?: boolean
  /**
   * When the conversation becomes too long for its model, and what is done then. Default: on where its model says its
   * `contextTokens`; false: never.
   */
  readonly context?: ContextOptions | false
  readonly parallelToolCalls?: boolean
  readonly reasoning?: 'low' | 'medium' | 'high'
  /** Variables that must have a value before the model is called. */
  readonly variables?: readonly Variable[]
  /** Values for the tools of its threads, where neither the thread nor its agent has one. */
  readonly env?: Readonly<Record<string, string>>
  /** The turn ends with a value of this schema, which the model passes to the tool `response`. */
  readonly outputSchema?: Output
  /** Its turns stop after a reply that meets any of these, when the calls of that reply are answered. */
  readonly stopWhen?: PromptStopWhen
  /**
   * Rounds of calls in one turn: the calls of a further reply are not run, and the turn stops. 0: none is run, and the
   * caller reads them from `run.toolCalls()`. A function says of each reply with calls whether they may run.
   */
  readonly maxToolRounds?: MaxToolRounds
  /**
   * A turn that a rule stops (steps, calls, rounds, `stopWhen`, repetition) is asked once more without tools, for an
   * answer with what it has. A text: what the model is told then.
   */
  readonly lastAnswer?: true | string
  /** The args of a call of this prompt as a tool, or of an agent whose side A has it. Default: a message. */
  readonly requiredSchema?: Input
  /**
   * Agent Skills that it may use: those of these names, or all of the app. The model reads the name and description of
   * each, and asks for the rest with `load_skill` and `read_skill_file`. Default: none.
   */
  readonly skills?: boolean | readonly NameOf<'skill'>[]
  /** Prompts may name it among their tools. */
  readonly exposeAsTool?: boolean
  /** The description that a model which may call it reads. */
  readonly toolDescription?: string
}

/** The parameter of `definePrompt`. Other definitions are given by name or as they are. */
export interface Prompt<Input extends Schema = Schema, Output extends Schema = Schema> extends PromptFields<
  Input,
  Output
> {
  readonly model: NameOr<'model'>
  /**
   * Tools, prompts, and agents to hand the thread over to; as objects, agents and prompts that answer in a thread of
   * their own.
   */
  readonly tools?: readonly (NameOr<'tool' | 'prompt' | 'agent'> | SubagentTool | SubpromptTool)[]
  /** Hooks in the order in which they are asked, in place of those of its agent. */
  readonly hooks?: readonly NameOr<'hook'>[]
  readonly toolChoice?: ToolMode | { readonly tool: NameOr<'tool' | 'prompt' | 'agent'> }
}

type ToolMode = 'auto' | 'none' | 'required'
type ToolChoice = ToolMode | { readonly tool: string }

export interface PromptDefinition<Input extends Schema = Schema, Output extends Schema = Schema> extends PromptFields<
  Input,
  Output
> {
  readonly kind: 'prompt'
  readonly name: string
  /** Name of a model. */
  readonly model: string
  /**
   * Names of tools, of prompts, and of agents to hand the thread over to; as objects, agents and prompts that answer
   * in a thread of their own.
   */
  readonly tools?: readonly (string | SubagentTool | SubpromptTool)[]
  /** Names of hooks in the order in which they are asked, in place of those of its agent. */
  readonly hooks?: readonly string[]
  readonly toolChoice?: ToolChoice
}

/** A `Model` of Skein, an AI SDK language model, or a function that returns one of them. */
export type ModelSource = Model | { readonly specificationVersion: string } | (() => unknown)

interface ModelFields extends ModelSettings {
  /** May be left out in a file of a folder app, which names its definition. */
  readonly name?: string
  readonly model: ModelSource
  /** How many tokens a request and its reply may have; with it conversations are kept within that. */
  readonly contextTokens?: number
  /** Other names by which Markdown files may call it, such as `sonnet`; `inherit` is where they name none. */
  readonly aliases?: readonly string[]
  /** Retries after a rate limit, an outage or a broken stream, before the fallback. Default 4. */
  readonly maxRetries?: number
  /**
   * Whether the model accepts images and PDF files. Default: models of Anthropic, Google and OpenAI do; others read a
   * note in place of a file.
   */
  readonly media?: boolean
  /**
   * How it gives an output of an `outputSchema`. `tool` (default): as the args of the tool `response`. `native`: by its
   * provider's own mode, where the prompt has no other tools. `native_with_tools`: also beside other tools.
   */
  readonly structuredOutput?: 'tool' | 'native' | 'native_with_tools'
  /**
   * How long the provider may be silent (5 minutes), and how long a reply may take (30 minutes), before a retry or the
   * fallback.
   */
  readonly timeouts?: { readonly idleMs?: number; readonly totalMs?: number }
  /**
   * Used if the provider itself reports no cost. Without a price of their own, cached tokens cost as much as other
   * input.
   */
  readonly costPerMillion?: {
    readonly inputUsd: number
    readonly outputUsd: number
    readonly cachedInputUsd?: number
    readonly cacheWriteUsd?: number
  }
}

/** The parameter of `defineModel`. */
export interface ModelChoice extends ModelFields {
  /** Models to try when this one fails, by name or as definitions. */
  readonly fallback?: readonly NameOr<'model'>[]
}

export interface ModelDefinition extends ModelFields {
  readonly kind: 'model'
  readonly name: string
  /** Names of models to try when this one fails. */
  readonly fallback?: readonly string[]
}

/** A tool whose success has a role in the session; properties are looked up in its result, then in its args. */
export interface SessionTool {
  readonly name: NameOf<'tool' | 'prompt' | 'agent'>
  /** The property that holds its message. Default: the text of the reply that called it, else its whole result. */
  readonly messageProperty?: string
  /** The property that holds paths of attached files. */
  readonly attachmentsProperty?: string
}

interface SideFields {
  /** Its name for people. */
  readonly label?: string
  /** Default true: a reply without calls ends its turn. False: only one of the tools below does. */
  readonly stopOnResponse?: boolean
  /** The property of that tool's result (or args) that the other side reads. Default: as of `messageProperty`. */
  readonly stopToolResponseProperty?: string
  /** Model replies in one turn before it is stopped with `max_steps`. Default 100. */
  readonly maxSteps?: number
}

/** A side as `defineAgent` takes it: other definitions are given by name or as they are. */
export interface SideInput extends SideFields {
  readonly prompt: NameOr<'prompt'>
  /** A tool whose success ends its turn. */
  readonly stopTool?: NameOr<'tool'>
  /** A tool whose success ends the session. */
  readonly sessionStop?: NameOr<'tool'> | SessionTool
  /** A tool whose success ends the session as a failure. */
  readonly sessionFail?: NameOr<'tool'> | SessionTool
  /** A tool whose success tells the parent how far it is. */
  readonly sessionStatus?: NameOr<'tool'> | SessionTool
}

export interface Side extends SideFields {
  readonly prompt: string
  /** A tool whose success ends its turn. */
  readonly stopTool?: string
  /** A tool whose success ends the session. */
  readonly sessionStop?: string | SessionTool
  /** A tool whose success ends the session as a failure. */
  readonly sessionFail?: string | SessionTool
  /** A tool whose success tells the parent how far it is. */
  readonly sessionStatus?: string | SessionTool
}

interface AgentFields<S, H> {
  /** May be left out in a file of a folder app, which names its definition. */
  readonly name?: string
  readonly sideA: S
  /** Hooks in the order in which they are asked, unless the prompt has its own. */
  readonly hooks?: readonly H[]
  /** Variables that must have a value before its model is called. */
  readonly variables?: readonly Variable[]
  /** Values for the tools of its threads, where the thread itself has none. */
  readonly env?: Readonly<Record<string, string>>
  /** Prompts may name it among their tools. */
  readonly exposeAsTool?: boolean
  /** What happens to its children when they fail. */
  readonly supervision?: Supervision
  /** What a thread of this agent and all threads below it may spend; a child: per message. */
  readonly budget?: Budget
  /** The description that the model of a parent reads. */
  readonly toolDescription?: string
}

type AgentOf<S, H> =
  /** Side A is a model, side B a person. */
  | (AgentFields<S, H> & { readonly type: 'ai_human' })
  /** Both sides are models and take turns. */
  | (AgentFields<S, H> & {
      readonly type: 'dual_ai'
      readonly sideB: S
      /** Turns of each side before the session is stopped with `max_session_turns`. Default 100. */
      readonly maxSessionTurns?: number
    })

/** The parameter of `defineAgent`. */
export type Agent = AgentOf<SideInput, NameOr<'hook'>>

export type AgentDefinition = AgentOf<Side, string> & { readonly kind: 'agent'; readonly name: string }
