/**
 * The variables that the definitions of an app declare: who declares them, which are secrets, and which a child must be
 * given.
 *
 * - A name is a secret unless all its declarations say that it is text, or a relationship shows it to a model
 *   (`nameEnv`, `descriptionEnv`). One that a relationship gives to children (`scopedEnv`) is always a secret: no model
 *   may see it (S4). `NAME__2` has the type of `NAME` (EN4: numbered names are instances).
 * - A tool needs the variables of the tools in its `uses`.
 * - The graph of an agent is the agent, its prompts, their tools, and all agents below.
 */
import { shortestSecret } from '../core/redact/redact.js'
import type { Definitions } from './app.js'
import type { AgentDefinition, PromptDefinition, SubagentTool, ToolDefinition, Variable } from './define.js'
import { agentOfPrompt, callablesOf } from './callable.js'
import { withIncluded } from './prompt-parts.js'
import { sidesOf } from './sides.js'

type Defined = Pick<Definitions, 'agents' | 'prompts' | 'tools'>

export interface Declarations {
  /** True also for a name that is not declared. */
  isSecret(name: string): boolean
  /** False for a name that is not declared. */
  isDeclaredSecret(name: string): boolean
  ofTool(name: string): readonly Variable[]
  /** Variables of the agent itself and its prompts: the model is called when they have values. */
  ofAgent(name: string): readonly Variable[]
  /** Names that a child of this agent does not inherit. */
  scopedBy(agent: string): readonly string[]
  /** The variables that a child of this agent must be given before it starts: those that its definitions scope. */
  givenTo(agent: string): readonly Variable[]
  /** Agents that an agent may call. */
  relations(agent: string): readonly SubagentTool[]
}

export function createDeclarations(app: Defined): Declarations {
  const { secret, text } = typesOf(app)
  const ofTools = new Map<string, readonly Variable[]>()
  const scoped = new Map<string, readonly string[]>()
  const relations = new Map<string, readonly SubagentTool[]>()
  const baseOf = (name: string): string => (text.has(name) || secret.has(name) ? name : name.replace(/__[1-9]\d*$/, ''))
  return {
    isSecret: (name) => secret.has(baseOf(name)) || !text.has(baseOf(name)),
    isDeclaredSecret: (name) => secret.has(baseOf(name)),
    ofTool(name) {
      const known = ofTools.get(name) ?? toolVariables(app, name)
      ofTools.set(name, known)
      return known
    },
    ofAgent: (name) => agentVariables(app, name),
    scopedBy(agent) {
      const known = scoped.get(agent) ?? [
        ...new Set(
          graphOf(app, agent)
            .filter((variable) => variable.scoped)
            .map(({ name }) => name),
        ),
      ]
      scoped.set(agent, known)
      return known
    },
    givenTo: (agent) => ownVariables(app, agent).filter((variable) => variable.scoped),
    relations(agent) {
      const known = relations.get(agent) ?? relationsOf(app, agent)
      relations.set(agent, known)
      return known
    },
  }
}

/** The prompts of the agent with those that they include, whose variables and env count as theirs. */
export function textsOf(app: Pick<Definitions, 'prompts'>, agent: AgentDefinition): readonly PromptDefinition[] {
  return promptsOf(app, agent).flatMap((prompt) => [...withIncluded(app, prompt)])
}

/** The prompts of the sides of the agent. */
function promptsOf({ prompts }: Pick<Definitions, 'prompts'>, agent: AgentDefinition): readonly PromptDefinition[] {
  return sidesOf(agent).flatMap(({ prompt }) => prompts.get(prompt) ?? [])
}

function toolVariables(
  { tools }: Pick<Definitions, 'tools'>,
  name: string,
  seen = new Set<string>(),
): readonly Variable[] {
  const tool = tools.get(name)
  if (!tool || seen.has(name)) return []
  seen.add(name)
  return [...(tool.variables ?? []), ...(tool.uses ?? []).flatMap((used) => toolVariables({ tools }, used, seen))]
}

function agentVariables(app: Defined, name: string): readonly Variable[] {
  const agent = app.agents.get(name)
  return agent ? [...(agent.variables ?? []), ...textsOf(app, agent).flatMap(({ variables = [] }) => variables)] : []
}

/** The variables of the agent, its prompts and their tools, without the agents below. */
function ownVariables(app: Defined, name: string): readonly Variable[] {
  const agent = app.agents.get(name)
  const tools = agent ? promptsOf(app, agent).flatMap((prompt) => callablesOf(app, prompt).tools) : []
  return [...agentVariables(app, name), ...tools.flatMap((tool) => toolVariables(app, tool))]
}

function relationsOf(app: Defined, name: string): readonly SubagentTool[] {
  const agent = app.agents.get(name)
  return agent ? promptsOf(app, agent).flatMap((prompt) => callablesOf(app, prompt).subagents) : []
}

/** The variables of the agent and of everything below it. */
function graphOf(app: Defined, name: string, seen = new Set<string>()): readonly Variable[] {
  const agent = app.agents.get(name)
  if (!agent || seen.has(name)) return []
  seen.add(name)
  const below = promptsOf(app, agent).flatMap((prompt) => {
    const { tools, handoffs, subagents, subprompts } = callablesOf(app, prompt)
    const agents = [
      ...handoffs.map((each) => each.name),
      ...subagents.map((each) => each.name),
      ...subprompts.map((each) => agentOfPrompt(each.name).name),
    ]
    return [...tools.flatMap((tool) => toolVariables(app, tool)), ...agents.flatMap((each) => graphOf(app, each, seen))]
  })
  return [...agentVariables(app, name), ...below]
}

type Declaring = ToolDefinition | PromptDefinition | AgentDefinition

function declaring({ tools, prompts, agents }: Defined): readonly Declaring[] {
  return [...tools.values(), ...prompts.values(), ...agents.values()]
}

/** The reason why the variable may not be shown to a model; undefined if it may. */
export function keeperOf(app: Defined, name: string): string | undefined {
  const keeper = declaring(app).find(({ variables = [] }) =>
    variables.some((variable) => variable.name === name && (variable.type ?? 'secret') === 'secret'),
  )
  if (keeper) return `${keeper.kind} "${keeper.name}" declares it as a secret: say type: 'text' there, or leave it out`
  if (!typesOf(app).secret.has(name)) return undefined
  return (
    'a relationship gives it to its children by scopedEnv, which no model sees: say nameEnv or ' +
    'descriptionEnv there, or leave it out'
  )
}

function typesOf(app: Defined): { readonly secret: ReadonlySet<string>; readonly text: ReadonlySet<string> } {
  const secret = new Set<string>()
  const text = new Set<string>()
  for (const { variables = [] } of declaring(app))
    for (const { name, type = 'secret' } of variables) (type === 'secret' ? secret : text).add(name)
  const bootstraps = [...app.prompts.values()]
    .flatMap((prompt) => callablesOf(app, prompt).subagents)
    .flatMap(({ immediate }) => (typeof immediate === 'object' ? [immediate] : []))
  for (const name of bootstraps.flatMap(({ scopedEnv = [] }) => scopedEnv)) {
    text.delete(name)
    secret.add(name)
  }
  for (const { nameEnv, descriptionEnv } of bootstraps) {
    for (const name of [nameEnv, descriptionEnv]) {
      if (name === undefined) continue
      secret.delete(name)
      text.add(name)
    }
  }
  return { secret, text }
}

/** Secrets in definitions that are too short to be masked (RX4: values under 8 characters are not masked). */
export function shortSecrets(app: Defined): readonly { readonly definition: Declaring; readonly text: string }[] {
  const { secret } = typesOf(app)
  return declaring(app).flatMap((definition) => {
    const defaults = (definition.variables ?? [])
      .filter(({ type = 'secret' }) => type === 'secret')
      .map(({ name, default: value }) => [name, value, 'the default of'] as const)
    const env =
      'env' in definition && definition.env
        ? Object.entries(definition.env)
            .filter(([name]) => secret.has(name))
            .map(([name, value]) => [name, value, 'its env gives'] as const)
        : []
    return [...defaults, ...env].flatMap(([name, value, where]) =>
      value !== undefined && isTooShort(value) ? [{ definition, text: `${where} ${name}, ${tooShort}` }] : [],
    )
  })
}

export function isTooShort(value: string): boolean {
  return value !== '' && value.length < shortestSecret
}

export const tooShort =
  `a secret, has fewer than ${shortestSecret} characters and could not be kept out of what ` +
  `others see; use a longer one, or declare it with type 'text'`
