/**
 * Types read off a tool's or a prompt's definition, for code that speaks of its args, results, events and context
 * without repeating its schemas (D8).
 */
import type { InputOf, OutputOf as ParsedOf } from '../core/schema.js'
import type { ToolOutputOf, PromptDefinition, ToolDefinition } from './define.js'

/** The args as the body gets them: parsed, with defaults filled in. */
export type InferToolInput<Definition extends ToolDefinition> = ParsedOf<Definition['args']>

/** What comes of a call: by `outputSchema`, else what the body returns. */
export type InferToolOutput<Definition extends ToolDefinition> =
  Definition extends ToolDefinition<infer _Args, infer Result, infer _Event, infer _Local, infer _Shared, infer Output>
    ? ToolOutputOf<Result, Output>
    : never

/** What watchers hear of a generator's yields. */
export type InferToolEvent<Definition extends ToolDefinition> = ParsedOf<NonNullable<Definition['eventSchema']>>

/** The tool's own context, `state.local`. */
export type InferToolContext<Definition extends ToolDefinition> = ParsedOf<NonNullable<Definition['contextSchema']>>

/** A call of one of these tools as a model asks for it and as it is recorded: the args before they are parsed. */
export type ToolCallOf<Tools extends readonly ToolDefinition[]> = CallOf<Tools[number]>
type CallOf<Definition extends ToolDefinition> = Definition extends ToolDefinition
  ? { readonly tool: Definition['name']; readonly args: InputOf<Definition['args']> }
  : never

/** What a prompt must be given when it is called as a tool, by `requiredSchema`. */
export type InferPromptInput<Definition extends PromptDefinition> = ParsedOf<NonNullable<Definition['requiredSchema']>>

/** What a turn with this prompt gives, by `outputSchema`. */
export type InferPromptOutput<Definition extends PromptDefinition> = ParsedOf<NonNullable<Definition['outputSchema']>>
