/**
 * Definitions: plain data that says what a tool, prompt, model or agent is. Nothing happens when one is made;
 * everything is checked when an app is loaded (app.ts).
 *
 * DE1 A definition is known by its `kind`, never by its class, so it may come from another copy of the package.
 */
import type { z } from 'zod'
import type { Model } from '../models/port.js'

/** What a tool's body may use. */
export interface ToolState {
  readonly threadId: string
  /** Stable over retries and resume; different for every call. */
  readonly idempotencyKey: string
  /** Aborted when the call is no longer wanted: cancel, deadline, time-out. */
  readonly signal: AbortSignal
}

export interface Tool<Args extends z.ZodType = z.ZodType, Output = unknown> {
  readonly name: string
  readonly description: string
  readonly args: Args
  execute(state: ToolState, args: z.output<Args>): Output | Promise<Output>
  readonly outputSchema?: z.ZodType
  /** After this long the call is aborted and the model reads TOOL_TIMED_OUT. */
  readonly timeoutMs?: number
  /** The body changes the world outside the thread: it runs alone, in call order, after its intent is durable. */
  readonly sideEffect?: boolean
  /** Doing it twice with one `idempotencyKey` is doing it once: after a crash it simply runs again. */
  readonly idempotent?: boolean
  /**
   * Asks the world whether the effect of this key happened: its result if it did, null if it did not. Asked after a crash
   * between the start of the body and the record of its result.
   */
  probe?(state: ToolState, args: z.output<Args>): unknown
  /** Without `idempotent` and `probe`: the model is told that it may have happened (default), or the body runs again. */
  readonly onUnknown?: 'tell' | 'retry'
  /** The body computes for long: it has a worker thread to itself. */
  readonly cpu?: boolean
  /** `host`: the body closes over live objects of the host's process and runs there. Default `worker`. */
  readonly where?: 'worker' | 'host'
}

export interface ToolDefinition<Args extends z.ZodType = z.ZodType, Output = unknown> extends Tool<Args, Output> {
  readonly kind: 'tool'
}

export interface Prompt {
  readonly name: string
  readonly prompt: string
  /** Name of a model. */
  readonly model: string
  readonly tools?: readonly string[]
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string }
  readonly parallelToolCalls?: boolean
  readonly reasoning?: 'low' | 'medium' | 'high'
}

export interface PromptDefinition extends Prompt {
  readonly kind: 'prompt'
}

/** A Model of Skein's own port, an AI SDK language model, or a function that gives one. */
export type ModelSource = Model | { readonly specificationVersion: string } | (() => unknown)

export interface ModelChoice {
  readonly name: string
  readonly model: ModelSource
  /** Names of models to try when this one fails. */
  readonly fallback?: readonly string[]
  /** How often a rate limit, an outage or a broken stream is tried again before the fallback. Default 4. */
  readonly maxRetries?: number
  readonly costPerMillion?: { readonly inputUsd: number; readonly outputUsd: number }
}

export interface ModelDefinition extends ModelChoice {
  readonly kind: 'model'
}

export interface Side {
  readonly prompt: string
  readonly label?: string
  /** Model replies in one turn before it is stopped with `max_steps`. Default 100. */
  readonly maxSteps?: number
}

export interface Agent {
  readonly name: string
  /** Side A is the model, side B a person. */
  readonly type: 'ai_human'
  readonly sideA: Side
}

export interface AgentDefinition extends Agent {
  readonly kind: 'agent'
}

export type Definition = ToolDefinition | PromptDefinition | ModelDefinition | AgentDefinition

export function defineTool<Args extends z.ZodType, Output>(tool: Tool<Args, Output>): ToolDefinition<Args, Output> {
  return { kind: 'tool', ...tool }
}

export function definePrompt(prompt: Prompt): PromptDefinition {
  return { kind: 'prompt', ...prompt }
}

export function defineModel(model: ModelChoice): ModelDefinition {
  return { kind: 'model', ...model }
}

export function defineAgent(agent: Agent): AgentDefinition {
  return { kind: 'agent', ...agent }
}
