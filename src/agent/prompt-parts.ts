/**
 * The text of a prompt, which may be composed of parts (D5). Includes are resolved when the app is loaded, variables
 * when the model is called; parts are joined without a separator.
 *
 * - A model is shown text variables only, and only those that the prompt itself declares.
 */
import type { Mistake, Definitions } from './app.js'
import type { PromptDefinition, PromptPart, Variable } from './define.js'

type Prompts = Pick<Definitions, 'prompts'>

/** The texts of a prompt, with variables where their values belong. */
export function promptPieces(
  app: Prompts,
  { prompt, variables = [] }: Pick<PromptDefinition, 'prompt' | 'variables'>,
): readonly (string | Variable)[] {
  if (typeof prompt === 'string') return [prompt]
  const pieces: (string | Variable)[] = []
  for (const piece of prompt.flatMap((part) => piecesIn(app, part, variables))) {
    const last = pieces.at(-1)
    if (typeof piece === 'string' && typeof last === 'string') pieces[pieces.length - 1] = last + piece
    else pieces.push(piece)
  }
  return pieces
}

function piecesIn(app: Prompts, part: PromptPart, variables: readonly Variable[]): readonly (string | Variable)[] {
  if (part.type === 'text') return [part.content]
  if (part.type === 'env') return variables.filter(({ name }) => name === part.property)
  const included = app.prompts.get(part.prompt)
  return included ? promptPieces(app, included) : []
}

/** The prompt itself first, then all prompts that it includes, directly or not. */
export function withIncluded(
  app: Prompts,
  prompt: PromptDefinition,
  seen = new Set<PromptDefinition>(),
): ReadonlySet<PromptDefinition> {
  if (seen.has(prompt)) return seen
  seen.add(prompt)
  for (const part of typeof prompt.prompt === 'string' ? [] : prompt.prompt) {
    const included = part.type === 'include' ? app.prompts.get(part.prompt) : undefined
    if (included) withIncluded(app, included, seen)
  }
  return seen
}

/** Mistakes in the variables that prompts show. `declaredSecretBy` says which definition makes a name a secret. */
export function checkShown(app: Prompts, declaredSecretBy: (name: string) => string | undefined): readonly Mistake[] {
  return [...app.prompts.values()].flatMap((definition) => {
    const { prompt, variables = [], name } = definition
    const say = (text: string): Mistake => ({
      code: 'BAD_OPTION',
      definition,
      text: `prompt "${name}" shows the variable ${text}`,
    })
    return (typeof prompt === 'string' ? [] : prompt).flatMap((part) => {
      if (part.type !== 'env') return []
      const keeper = declaredSecretBy(part.property)
      if (keeper !== undefined) return [say(`${part.property} to its model, and ${keeper}`)]
      return variables.some((variable) => variable.name === part.property)
        ? []
        : [
            say(
              `${part.property}, which it does not declare: add { name: '${part.property}', type: 'text' } to its ` +
                `variables`,
            ),
          ]
    })
  })
}
