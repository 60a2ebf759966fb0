/** The service of another team: a guide who knows towns, and asks where that was not said. */
import { defineAgent, defineModel, definePrompt } from 'skein'
import { scriptedModel } from 'skein/testing'

/** In place of a model; with a real one: `model: anthropic('claude-sonnet-5')`. */
const script = scriptedModel(({ messages }) => {
  const said = messages.at(-1)?.text ?? ''
  return said.includes('Porto') ? 'In Porto: the bridge, the cellars, the sea.' : { text: 'Which town?' }
})

export const model = defineModel({ name: 'script', model: script })
export const prompt = definePrompt({ name: 'towns', model: 'script', prompt: 'You know towns.' })
export const guide = defineAgent({
  name: 'guide',
  type: 'ai_human',
  sideA: { prompt: 'towns' },
  exposeAsTool: true,
  toolDescription: 'Says what to see in a town',
})
