/** Turns that are cancelled while mail arrives twice: a command is one command, also after it was refused. */
import { expect, it } from 'vitest'
import { simulate } from '../../src/sim/open.js'
import { seedsOf } from './seeds.js'
import { lastSaid, resultsOf, team } from './team.js'

const app = () =>
  team({
    lead: {
      script: ({ messages, step }) =>
        step > 0
          ? resultsOf(messages).join(' | ')
          : { calls: ['a', 'b'].map((message) => ({ tool: 'helper', args: { message } })) },
      tools: [{ name: 'helper' }],
    },
    helper: { script: ({ messages }) => `did ${lastSaid(messages)}` },
  })

it('B8, F7: a cancel that arrives again ends no turn but the one that it was for', async () => {
  await simulate({
    app,
    seeds: seedsOf('cancels'),
    faults: { mail: 0.5, signals: 0.2, crash: 2, pause: 1, cut: 1, stores: 0.02, skewMs: 200 },
    scenario: async ({ skein }) => {
      const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
      const texts: string[] = []
      for (const id of ['one', 'two', 'three']) {
        // No turn runs: it is refused, and that is the end of it.
        expect(await lead.cancel()).toBe(false)
        texts.push(await lead.send('go', { id }).text())
      }
      return texts
    },
    check: ({ result, quiet }) => expect(result).toEqual(quiet),
  })
})
