/** Calls that read and write the same files at once, and children with forks of them that are merged. */
import assert from 'node:assert/strict'
import { z } from 'zod'
import { defineTool } from '../../../src/agent/define.js'
import type { World } from '../../../src/sim/world.js'
import { simulatedApp } from '../simulated-app.js'
import { lastSaid, resultsOf, team } from '../team.js'

const line = z.object({ path: z.string(), text: z.string() })

/** Reads, waits for a while and writes: two at once would lose a line if they did not act one after the other. */
const app = (world: World) =>
  team(
    {
      lead: {
        script: ({ messages, step }) => {
          if (step === 0)
            return { calls: ['a', 'b', 'c'].map((text) => ({ tool: 'append', args: { path: '/list', text } })) }
          if (step === 1) return { calls: ['one', 'two'].map((message) => ({ tool: 'writer', args: { message } })) }
          if (step === 2) return { calls: [{ tool: 'append', args: { path: '/list', text: 'end' } }] }
          return resultsOf(messages).at(-1) ?? ''
        },
        tools: ['append', { name: 'writer', files: 'fork' }],
      },
      writer: {
        script: ({ messages, step }) =>
          step > 0
            ? 'done'
            : { calls: [{ tool: 'append', args: { path: `/${lastSaid(messages)}.txt`, text: 'mine' } }] },
        tools: ['append'],
      },
    },
    [
      defineTool({
        name: 'append',
        description: 'Appends a line',
        args: line,
        sideEffect: false,
        execute: async ({ files }, { path, text }) => {
          const before = (await files.exists(path)) ? await files.readFile(path, 'utf8') : ''
          await world.sleep(text.length * 7)
          await files.writeFile(path, `${before}${text}\n`)
          return `${before}${text}`
        },
      }),
    ],
  )

export const files = simulatedApp('files', {
  app,
  // A lost lease counts as a death, too: with two crashes and a cut one call may meet three of them.
  skein: { limits: { maxHostDeaths: 10 } },
  scenario: async ({ skein }) => {
    const lead = await skein.threads.create({ agent: 'lead', id: 'lead', files: { '/list': 'top\n' } })
    const text = await lead.send('go', { id: 'm' }).text()
    const paths = await lead.files.find('/**')
    return { text, paths, list: await lead.files.readFile('/list', 'utf8') }
  },
  check: ({ result, quiet }) => {
    assert.deepEqual(result, quiet)
    assert.equal(result.list, 'top\na\nb\nc\nend\n')
  },
})
