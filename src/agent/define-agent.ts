/**
 * What prompts, models and agents are told: who speaks, with which model and tools, and how agents call agents.
 */
import type { Budget } from '../core/budget.js'
import type { Json } from '../core/json.js'
import type { Schema } from '../core/schema.js'
import type { Model } from '../models/port.js'
import type { NameOr } from './naming.js'

/** A variable that a definition needs from outside. */
export interface Variable {
  readonly name: string
  /** Default `secret`: seen by the body alone, masked wherever else its value turns up. */
  readonly type?: 'text' | 'secret'
  /** Default true; of one that is not, `state.env` gives '' when it has no value. */
  readonly required?: boolean
  readonly default?: string
  /** A child whose definitions say so does not inherit it from its parent: it is given a value of its own. */
  readonly scoped?: boolean
  readonly description?: string
}

/** What becomes of a child whose turn failed. */
export interface Supervision {
  /** It alone is called again, as another thread; its siblings go on. */
  readonly strategy: 'one_for_one'
  /** How often, before its failure is the answer. */
  readonly maxRestarts: number
  /** Failures that are longer ago do not count. Default: all do. */
  readonly withinMs?: number
}

/** An agent as a tool of a prompt: calling it makes a child thread. */
export interface SubagentTool {
  /** Not a definition: those are given as they are. */
  readonly kind?: never
  /** Name of the agent. */
  readonly name: string
  /** Default true: the call waits for the child's answer. Else it is answered at once, and the child reports later. */
  readonly blocking?: boolean
  /** Default: what the agent of the parent says; else a failure is the answer. Not of children that stay. */
  readonly supervision?: Supervision
  /**
   * What the child may spend for each message, with all below it. Default: its agent's, else a share of what its
   * parent has left.
   */
  readonly budget?: Budget
  /** A variable of the thread: unless it is `true`, `1` or `yes`, there is no such agent for the model. */
  readonly optional?: string
  /**
   * Called before the model is first asked, once in the life of the thread, with what began its first turn. Or as
   * often as there are values: `NAME`, `NAME__2`, `NAME__3` start a child each.
   */
  readonly immediate?:
    | boolean
    | {
        /** The variable that holds its name. This and the next are the only values that a model gets to see. */
        readonly nameEnv?: string
        /** The variable that holds its first message. */
        readonly descriptionEnv?: string
        /** Variables that it is given as its own: to `TOKEN` the value of `TOKEN__2`, in the second. */
        readonly scopedEnv?: readonly string[]
      }
  /**
   * `fork`: the child works on a copy of the parent's files, and what it did there is merged when it ends. Default:
   * it has none of them.
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
   * Default false: the child ends with its answer. Else it stays, and is created and spoken to with `subagent_create`
   * and `subagent_message`.
   */
  readonly resumable?:
    | false
    | {
        readonly receives_messages: 'side_a' | 'side_b'
        /** Children of this agent that may live at once. */
        readonly maxInstances?: number
        /** Default `implicit`: what it answers to a message that nobody waits for is told to the parent. */
        readonly parentCommunication?: 'implicit' | 'explicit'
      }
}

/**
 * A prompt as a tool of another: calling it makes one request with it, in a thread of its own; its tools run, and
 * that is all.
 */
export interface SubpromptTool {
  /** Not a definition: those are given as they are. */
  readonly kind?: never
  /** Name of the prompt. */
  readonly name: string
  /** Default true: the result has what it said, or its output. */
  readonly includeTextResponse?: boolean
  /** Default false: the result has the calls that it made, with what they gave. */
  readonly includeToolCalls?: boolean
  /** Default false: the result has the calls that failed, with why. */
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
  | { readonly type: 'include'; readonly prompt: string }
  /** The value of a text variable that the prompt declares, as it is when the model is asked. */
  | { readonly type: 'env'; readonly property: string }

/** What a model is asked with. Of a prompt they are stronger than those of its model. */
export interface ModelSettings {
  readonly temperature?: number
  /** Tokens of one reply; a reply that would be longer is cut, and the turn says so. */
  readonly maxOutputTokens?: number
  /**
   * Default true: providers that must be told keep the conversation in their cache, where it costs a tenth (Anthropic).
   */
  readonly promptCache?: boolean
  /**
   * What only one provider knows, under its name: `{ anthropic: { thinking: { type: 'enabled', budgetTokens: 4000 } }
   * }`.
   */
  readonly providerOptions?: { readonly [provider: string]: { readonly [setting: string]: Json } }
}

/** `Input` and `Output` are its schemas: what is built from it knows their types (D8). */
interface PromptFields<Input extends Schema = Schema, Output extends Schema = Schema> extends ModelSettings {
  /** May be left out in a file of a folder app, which names its definition. */
  readonly name?: string
  /** What the model is told first: a text, or parts that make one, with nothing between them. */
  readonly prompt: string | readonly PromptPart[]
  /** Default true: the model reads what was said in earlier turns. */
  readonly includeChat?: boolean
  /** Default true: the model reads the calls of earlier turns, and their results. */
  readonly includePastTools?: boolean
  readonly parallelToolCalls?: boolean
  readonly reasoning?: 'low' | 'medium' | 'high'
  /** What must have a value before the model is asked. */
  readonly variables?: readonly Variable[]
  /** Values for the tools of its threads, where neither the thread nor its agent has one. */
  readonly env?: Readonly<Record<string, string>>
  /** With it the turn ends with a value of this form, which the model gives through the tool `response`. */
  readonly outputSchema?: Output
  /** What whoever calls it, or an agent whose side A it is, as a tool must give. Default: a message. */
  readonly requiredSchema?: Input
  /** Prompts may name it among their tools. */
  readonly exposeAsTool?: boolean
  /** What it is good for, as the model that may call it reads it. */
  readonly toolDescription?: string
}

/** What `definePrompt` is told. A name, or the definition that has it. */
export interface Prompt<Input extends Schema = Schema, Output extends Schema = Schema> extends PromptFields<
  Input,
  Output
> {
  readonly model: NameOr<'model'>
  /**
   * Tools, prompts, and agents that take over the thread; agents and prompts that answer in a thread of their own,
   * with how.
   */
  readonly tools?: readonly (NameOr<'tool' | 'prompt' | 'agent'> | SubagentTool | SubpromptTool)[]
  readonly toolChoice?: ToolChoice | { readonly tool: NameOr<'tool' | 'prompt' | 'agent'> }
}

type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string }

export interface PromptDefinition<Input extends Schema = Schema, Output extends Schema = Schema> extends PromptFields<
  Input,
  Output
> {
  readonly kind: 'prompt'
  readonly name: string
  /** Name of a model. */
  readonly model: string
  /**
   * Names of tools, of prompts, and of agents that take over the thread; agents and prompts that answer in a thread
   * of their own.
   */
  readonly tools?: readonly (string | SubagentTool | SubpromptTool)[]
  readonly toolChoice?: ToolChoice
}

/** A Model of Skein's own port, an AI SDK language model, or a function that gives one. */
export type ModelSource = Model | { readonly specificationVersion: string } | (() => unknown)

interface ModelFields extends ModelSettings {
  /** May be left out in a file of a folder app, which names its definition. */
  readonly name?: string
  readonly model: ModelSource
  /** How often a rate limit, an outage or a broken stream is tried again before the fallback. Default 4. */
  readonly maxRetries?: number
  /**
   * Whether it takes images and PDF files. Default: models of Anthropic, Google and OpenAI do; others are told what
   * they are not shown.
   */
  readonly media?: boolean
  /**
   * How long nothing may be heard of the provider (5 minutes), and how long a reply may take (30). Then it is tried
   * again, or the fallback is.
   */
  readonly timeouts?: { readonly idleMs?: number; readonly totalMs?: number }
  /**
   * Used where the provider itself reports no cost. Without prices of their own, tokens of its cache cost what others
   * do.
   */
  readonly costPerMillion?: {
    readonly inputUsd: number
    readonly outputUsd: number
    readonly cachedInputUsd?: number
    readonly cacheWriteUsd?: number
  }
}

/** What `defineModel` is told. */
export interface ModelChoice extends ModelFields {
  /** Models to try when this one fails: their names, or they themselves. */
  readonly fallback?: readonly NameOr<'model'>[]
}

export interface ModelDefinition extends ModelFields {
  readonly kind: 'model'
  readonly name: string
  /** Names of models to try when this one fails. */
  readonly fallback?: readonly string[]
}

/** A tool whose success means something for the session; properties are looked for in its result, then in its args. */
export interface SessionTool {
  readonly name: string
  /** What is said with it. Default: the text of the reply that called it, or else its whole result. */
  readonly messageProperty?: string
  /** Paths of files that go with it. */
  readonly attachmentsProperty?: string
}

interface SideFields {
  /** What people call it. */
  readonly label?: string
  /** Default true: a reply without calls ends its turn. Else only one of the tools below does. */
  readonly stopOnResponse?: boolean
  /** The property of that tool's result (or args) that the other side reads. Default: as of `messageProperty`. */
  readonly stopToolResponseProperty?: string
  /** Model replies in one turn before it is stopped with `max_steps`. Default 100. */
  readonly maxSteps?: number
}

/** A side as `defineAgent` is told of it. A name, or the definition that has it. */
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

interface AgentFields<S> {
  /** May be left out in a file of a folder app, which names its definition. */
  readonly name?: string
  readonly sideA: S
  /** What must have a value before its model is asked. */
  readonly variables?: readonly Variable[]
  /** Values for the tools of its threads, where the thread itself has none. */
  readonly env?: Readonly<Record<string, string>>
  /** Prompts may name it among their tools. */
  readonly exposeAsTool?: boolean
  /** What becomes of its children when they fail. */
  readonly supervision?: Supervision
  /** What a thread of it may spend, with all below it. Of a child: for each message. */
  readonly budget?: Budget
  /** What it is good for, as the model of a parent reads it. */
  readonly toolDescription?: string
}

type AgentOf<S> =
  /** Side A is a model, side B a person. */
  | (AgentFields<S> & { readonly type: 'ai_human' })
  /** Both are models, and speak by turns. */
  | (AgentFields<S> & {
      readonly type: 'dual_ai'
      readonly sideB: S
      /** Turns of each side before the session is stopped with `max_session_turns`. Default 100. */
      readonly maxSessionTurns?: number
    })

/** What `defineAgent` is told. */
export type Agent = AgentOf<SideInput>

export type AgentDefinition = AgentOf<Side> & { readonly kind: 'agent'; readonly name: string }
