/**
 * Two models on one thread: a writer drafts, a critic judges, until the critic accepts the draft or rejects it for
 * good. Alone it is an agent like any other; an editor has it as a subagent (docs/dual-ai.md).
 */
import { defineAgent, defineModel, definePrompt, defineTool } from 'skein'
import { scriptedModel } from 'skein/testing'
import { z } from 'zod'

/** What the writer gives out of its hands. Its `draft` is what the critic reads. */
export const submit = defineTool({
  name: 'submit',
  description: 'Hands a draft to the critic',
  args: z.object({ title: z.string(), lines: z.array(z.string()) }),
  async execute({ files }, { title, lines }) {
    const draft = [`# ${title}`, ...lines].join('\n')
    await files.writeFile('/draft.md', draft)
    return { draft, words: draft.split(/\s+/).length }
  },
})
const verdict = z.object({ why: z.string() })
export const accept = defineTool({
  name: 'accept',
  description: 'Takes the draft as it is',
  args: verdict,
  execute: ({ files }) => files.readFile('/draft.md', 'utf8').then((text) => ({ text, files: ['/draft.md'] })),
})
export const reject = defineTool({
  name: 'reject',
  description: 'Ends it without a text',
  args: verdict,
  execute: () => 'rejected',
})

const said = (messages: readonly { role: string; text: string }[]): string[] =>
  messages.filter(({ role }) => role === 'user').map(({ text }) => text)
const river = ['It comes from the hills,', 'it goes to the sea,', 'it is never the same,', 'and is always the Elbe.']

// To the writer the critic is the user, and the other way round; neither sees what the other calls.
const writer = scriptedModel(({ messages, step }) => {
  const wishes = said(messages).length
  if (step === 0 && wishes > 1) return { text: 'I see.', calls: [{ tool: 'read', args: { path: '/draft.md' } }] }
  return {
    calls: [
      {
        tool: 'submit',
        args: {
          title: 'The Elbe',
          lines: said(messages).at(-1)?.includes('nothing') ? [] : river.slice(0, wishes * 2),
        },
      },
    ],
  }
})
const critic = scriptedModel(({ messages }) => {
  const lines = (said(messages).at(-1) ?? '').split('\n').length - 1
  if (lines === 0) return { calls: [{ tool: 'reject', args: { why: 'there is nothing to read' } }] }
  return lines < 4
    ? `${lines} lines. It wants a second half.`
    : { calls: [{ tool: 'accept', args: { why: 'it is whole' } }] }
})
const editor = scriptedModel(({ messages, step }) => {
  if (step === 0)
    return {
      calls: [
        { tool: 'poets', args: { message: 'A poem about the Elbe.' } },
        { tool: 'poets', args: { message: 'A poem about nothing.' } },
      ],
    }
  return messages
    .filter(({ role }) => role === 'tool')
    .map(({ text }) => text)
    .join('\n\n')
})

export const models = Object.entries({ writer, critic, editor }).map(([name, model]) => defineModel({ name, model }))
export const prompts = [
  definePrompt({ name: 'write', prompt: 'You write. Submit every draft.', model: 'writer', tools: ['read', 'submit'] }),
  definePrompt({
    name: 'judge',
    prompt: 'You judge drafts. Say what is missing, or accept.',
    model: 'critic',
    tools: ['accept', 'reject'],
  }),
  definePrompt({ name: 'edit', prompt: 'You edit a journal.', model: 'editor', tools: [{ name: 'poets' }] }),
]
export const poets = defineAgent({
  name: 'poets',
  type: 'dual_ai',
  sideA: {
    prompt: 'write',
    label: 'Writer',
    stopOnResponse: false,
    stopTool: 'submit',
    stopToolResponseProperty: 'draft',
  },
  sideB: {
    prompt: 'judge',
    label: 'Critic',
    sessionStop: { name: 'accept', messageProperty: 'text', attachmentsProperty: 'files' },
    sessionFail: { name: 'reject', messageProperty: 'why' },
  },
  maxSessionTurns: 5,
  exposeAsTool: true,
  toolDescription: 'A writer and a critic, who give a poem.',
})
export const journal = defineAgent({ name: 'journal', type: 'ai_human', sideA: { prompt: 'edit' } })
