/**
 * A tree three levels deep: children that fail and are tried again, children that stay, and children that run beside.
 */
import assert from 'node:assert/strict'
import { simulatedApp } from '../simulated-app.js'
import { lastSaid, resultsOf, team } from '../team.js'

/** The first attempt at a bad topic fails: an attempt is a thread of its own. */
const writes = (topic: string, thread: string): string => {
  if (topic.startsWith('bad') && !thread.endsWith('_2')) throw new Error(`no words for ${topic}`)
  return `wrote ${topic}`
}

const app = () =>
  team({
    lead: {
      script: ({ messages, step }) => {
        if (step > 0) return resultsOf(messages).join(' | ')
        return {
          calls: [
            { tool: 'editor', args: { message: 'spring' } },
            { tool: 'editor', args: { message: 'bad autumn' } },
            { tool: 'subagent_create', args: { agent: 'clerk', name: 'clara', message: 'open the file' } },
          ],
        }
      },
      tools: [{ name: 'editor' }, { name: 'clerk', resumable: { receives_messages: 'side_a' } }],
    },
    editor: {
      script: ({ messages, step }) =>
        step > 0
          ? `edited: ${resultsOf(messages).join(' and ')}`
          : {
              calls: ['part one', 'part two'].map((part) => ({
                tool: 'writer',
                args: { message: `${lastSaid(messages)}, ${part}` },
              })),
            },
      tools: [{ name: 'writer', supervision: { strategy: 'one_for_one', maxRestarts: 2 } }],
    },
    writer: { script: ({ messages, thread }) => writes(lastSaid(messages), thread) },
    clerk: { script: ({ messages }) => `noted: ${lastSaid(messages)}` },
  })

export const tree = simulatedApp('tree', {
  app,
  // A lost lease counts as a death, too: with two crashes and a cut one call may meet three of them.
  skein: { limits: { maxHostDeaths: 10 } },
  scenario: async ({ skein }) => {
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
    const first = await lead.send('go', { id: 'one' }).text()
    const second = await lead.send('again', { id: 'two' }).text()
    return [first, second].map((text) => text.replace(/clerk-\d+/g, 'clerk-n'))
  },
  check: ({ result, quiet }) => assert.deepEqual(result, quiet),
})
