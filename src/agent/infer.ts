/**
 * Types derived from the definition of a tool or prompt: its args, result, events and context, without repeating its
 * schemas (D8).
 */
import type { InputOf, OutputOf as ParsedOf } from '../core/schema.js'
import type { ToolOutputOf, PromptDefinition, ToolDefinition } from './define.js'

/** The args as the body gets them: parsed, with defaults filled in. */
export type InferToolInput<Definition extends ToolDefinition> = ParsedOf<Definition['args']>

/** The result of a call: by `outputSchema`, else what the body returns. */
export type InferToolOutput<Definition extends ToolDefinition> =
  Definition extends ToolDefinition<infer _Args, infer Result, infer _Event, infer _Local, infer _Shared, infer Output>
    ? ToolOutputOf<Result, Output>
    : never

/** The events that a generator yields to watchers. */
export type InferToolEvent<Definition extends ToolDefinition> = ParsedOf<NonNullable<Definition['eventSchema']>>

/** The tool's own context, `state.local`. */
export type InferToolContext<Definition extends ToolDefinition> = ParsedOf<NonNullable<Definition['contextSchema']>>

/** A call of one of these tools as a model asks for it and as it is recorded: the args before they are parsed. */
export type ToolCallOf<Tools extends readonly ToolDefinition[]> = CallOf<Tools[number]>
type CallOf<Definition extends ToolDefinition> = Definition extends ToolDefinition
  ? { readonly tool: Definition['name']; readonly args: InputOf<Definition['args']> }
  : never

/** The input of a prompt that is called as a tool, by `requiredSchema`. */
export type InferPromptInput<Definition extends PromptDefinition> = ParsedOf<NonNullable<Definition['requiredSchema']>>

/** The output of a turn with this prompt, by `outputSchema`. */
export type InferPromptOutput<Definition extends PromptDefinition> = ParsedOf<NonNullable<Definition['outputSchema']>>
