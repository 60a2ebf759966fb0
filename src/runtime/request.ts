/**
 * Between definitions and the model port: what a thread's agent asks of its model, and what is written of the
 * reply. Everything that a definition decides about a reply is decided here, once, and recorded (RE1).
 *
 * RQ1 The request holds the thread's own transcript, not a copy.
 * RQ2 What is recorded of a reply has the form of a reply: a model of the app's own may give anything.
 */
import type { Landing } from '../../actors/thread/commands.js'
import type { ThreadState } from '../../actors/thread/state.js'
import type { App } from '../agent/app.js'
import type { AgentDefinition, ModelDefinition, PromptDefinition } from '../agent/define.js'
import { SkeinError, failure } from '../core/failure.js'
import { toJson } from '../core/json.js'
import type { RecordedCall, StopReason } from '../core/record.js'
import type { Usage } from '../core/usage.js'
import type { ModelReply, ModelRequest, RequestedCall, ToolSpec } from '../models/port.js'
import { checkArgs } from '../tools/args.js'

const defaultMaxSteps = 100

/** All that an agent's definitions say about one step; made once per agent. */
export interface Brief {
  readonly agent: AgentDefinition
  readonly prompt: PromptDefinition
  readonly model: ModelDefinition
  readonly tools: readonly ToolSpec[]
  readonly allowed: ReadonlySet<string>
}

export function createBrief(app: App, agentName: string): Brief {
  const agent = app.agents.get(agentName)
  if (!agent) throw new SkeinError('UNKNOWN_AGENT', `the app has no agent ${JSON.stringify(agentName)}; it has: ${[...app.agents.keys()].join(', ') || 'none'}`)
  const prompt = app.prompts.get(agent.sideA.prompt)
  const model = prompt && app.models.get(prompt.model)
  if (!prompt || !model) throw new SkeinError('UNKNOWN_PROMPT', `agent ${agentName} lost its prompt or model`)
  const names = prompt.tools ?? []
  const tools = names.map((name) => ({ name, description: app.tools.get(name)?.description ?? '', parameters: app.parameters.get(name) ?? {} }))
  return { agent, prompt, model, tools, allowed: new Set(names) }
}

export function toRequest(brief: Brief, state: ThreadState): ModelRequest {
  const { toolChoice, parallelToolCalls, reasoning } = brief.prompt
  return {
    system: brief.prompt.prompt,
    messages: state.transcript.items,
    tools: brief.tools,
    thread: state.id,
    step: state.turn?.steps ?? 0,
    ...(toolChoice !== undefined && { toolChoice }),
    ...(parallelToolCalls !== undefined && { parallelToolCalls }),
    ...(reasoning !== undefined && { reasoning }),
  }
}

export interface Answered {
  readonly step: number
  readonly reply: ModelReply
  /** Model replies of the turn before this one. */
  readonly stepsBefore: number
}

export function toLanding(app: App, brief: Brief, { step, reply, stepsBefore }: Answered): Landing {
  checkReply(brief.model.name, reply)
  const calls = reply.calls.map((call) => recordCall(app, brief, call))
  const stop: StopReason | undefined = calls.length > 0 && stepsBefore + 1 >= (brief.agent.sideA.maxSteps ?? defaultMaxSteps) ? 'max_steps' : undefined
  return {
    kind: 'reply',
    reply: {
      step,
      model: reply.model ?? brief.model.name,
      text: reply.text,
      calls,
      usage: priced(reply.usage, app.models.get(reply.model ?? '') ?? brief.model),
      finish: reply.finish,
      ...(reply.reasoning !== undefined && { reasoning: reply.reasoning }),
      ...(stop && { stop }),
    },
  }
}

/** By hand and not with zod: it stands in the way of every step. */
function checkReply(model: string, reply: Partial<ModelReply> | undefined): void {
  const { inputTokens, outputTokens, costUsd } = reply?.usage ?? {}
  const wrong =
    typeof reply?.text !== 'string'
      ? 'text must be a string'
      : !Array.isArray(reply.calls) || reply.calls.some((call?: Partial<RequestedCall>) => typeof call?.tool !== 'string')
        ? 'calls must be a list of { tool, args }'
        : ![inputTokens, outputTokens, costUsd].every(Number.isFinite)
          ? 'usage must hold the numbers inputTokens, outputTokens and costUsd'
          : undefined
  if (wrong) throw new SkeinError('MODEL_REJECTED', `model ${model} gave a reply that is none: ${wrong}`)
}

function recordCall(app: App, brief: Brief, { tool: name, args }: RequestedCall): RecordedCall {
  const tool = brief.allowed.has(name) ? app.tools.get(name) : undefined
  if (!tool) {
    const known = [...brief.allowed].join(', ') || 'none'
    return { tool: name, args: toJson(args), refused: failure('UNKNOWN_TOOL', `there is no tool ${JSON.stringify(name)} here; the tools are: ${known}`) }
  }
  const checked = checkArgs(name, tool.args, args)
  if (!checked.ok) return { tool: name, args: checked.sent, refused: checked.failure }
  return { tool: name, args: checked.args, ...(tool.sideEffect && { sideEffect: true }) }
}

function priced(usage: Usage, { costPerMillion }: ModelDefinition): Usage {
  if (!costPerMillion || usage.costUsd > 0) return usage
  return { ...usage, costUsd: (usage.inputTokens * costPerMillion.inputUsd + usage.outputTokens * costPerMillion.outputUsd) / 1e6 }
}
