/**
 * Fields of an agent that must be there together, or must not (D6), and the tools that its sides name. Each field
 * alone has been checked by then.
 */
import type { Definitions } from '../app.js'
import { callablesOf } from '../callable.js'
import type { AgentDefinition, Side } from '../define.js'
import { sessionToolsOf } from '../sides.js'

/** Mistakes that an agent shows by itself. From plain JavaScript it may be anything that the form lets through. */
export function checkAgent(agent: AgentDefinition): readonly string[] {
  const { sideB, maxSessionTurns } = loosely(agent)
  const dual = agent.type === 'dual_ai'
  const says: readonly (readonly [wrong: boolean, text: string])[] = [
    [dual && !sideB, "type 'dual_ai' needs `sideB`: both sides are models"],
    [!dual && sideB !== undefined, "`sideB` is for type 'dual_ai'; of an 'ai_human' agent side B is a person"],
    [
      !dual && maxSessionTurns !== undefined,
      "`maxSessionTurns` is for type 'dual_ai'; the limit here is `sideA.maxSteps`",
    ],
  ]
  const own = says.flatMap(([wrong, text]) => (wrong ? [text] : []))
  return [...own, ...checkSide('sideA', agent.sideA), ...(dual && sideB ? checkSide('sideB', sideB) : [])]
}

function loosely(agent: object): { readonly sideB?: Side; readonly maxSessionTurns?: number } {
  return agent
}

function checkSide(at: string, side: Side): readonly string[] {
  const tools = sessionToolsOf(side)
  const twice = tools.filter(({ name }, index) => tools.findIndex((other) => other.name === name) < index)
  const ends = tools.some(({ role }) => role.does !== 'status')
  const says: readonly (readonly [wrong: boolean, text: string])[] = [
    [
      side.stopToolResponseProperty !== undefined && side.stopTool === undefined,
      `\`${at}.stopToolResponseProperty\` needs \`${at}.stopTool\``,
    ],
    [
      side.stopOnResponse === false && !ends,
      `\`${at}.stopOnResponse: false\` needs a tool that ends the turn: \`stopTool\`, \`sessionStop\` or ` +
        `\`sessionFail\``,
    ],
    ...twice.map(
      ({ name, field }) =>
        [
          true,
          `\`${at}.${field}\` names the tool "${name}", which has another meaning for the session already`,
        ] as const,
    ),
  ]
  return says.flatMap(([wrong, text]) => (wrong ? [text] : []))
}

/**
 * What sides say of tools, looked at with their prompts: tools of the session are offered to the model, and no side
 * gives the thread away.
 */
export function checkSides(agent: AgentDefinition, app: Pick<Definitions, 'agents' | 'prompts'>): readonly string[] {
  const { sideB } = loosely(agent)
  const sides = [['sideA', agent.sideA] as const, ...(sideB ? [['sideB', sideB] as const] : [])]
  return sides.flatMap(([at, side]) => {
    const prompt = app.prompts.get(side.prompt)
    if (!prompt) return []
    const { tools, subagents, subprompts, handoffs } = callablesOf(app, prompt)
    const callable = [
      ...tools,
      ...subagents.filter(({ resumable }) => !resumable).map(({ name }) => name),
      ...subprompts.map(({ name }) => name),
    ]
    const unoffered = sessionToolsOf(side).filter(({ name }) => !callable.includes(name))
    return [
      ...unoffered.map(
        ({ name, field }) =>
          `names the tool "${name}" as ${at}.${field}; its prompt "${side.prompt}" has: ` +
          `${callable.join(', ') || 'none'}`,
      ),
      ...(agent.type === 'ai_human' && side.stopTool !== undefined && prompt.outputSchema
        ? [
            `has the tool "${side.stopTool}" as ${at}.stopTool, which would end the turn without the value of the ` +
              `outputSchema of its prompt "${side.prompt}"; leave out one of them: the tool \`response\` ends the ` +
              `turn, too`,
          ]
        : []),
      ...(agent.type === 'dual_ai'
        ? handoffs.map(
            ({ name }) =>
              `has the prompt "${side.prompt}", which hands the thread over to "${name}": of a 'dual_ai' agent no ` +
              `side can; call it as { name: '${name}' }`,
          )
        : []),
    ]
  })
}
