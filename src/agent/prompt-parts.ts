/**
 * The text of a prompt, which may be put together of parts (D5). Includes are put in when the app is loaded; nothing stands
 * between parts that they do not say themselves.
 */
import type { Shelves } from './app.js'
import type { PromptDefinition } from './define.js'

export function textOf({ prompts }: Pick<Shelves, 'prompts'>, { prompt }: Pick<PromptDefinition, 'prompt'>): string {
  if (typeof prompt === 'string') return prompt
  return prompt
    .map((part) => {
      if (part.type === 'text') return part.content
      const included = prompts.get(part.prompt)
      return included ? textOf({ prompts }, included) : ''
    })
    .join('')
}
