/** Trees that are deleted while they run, and made again under the same id. */
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

it('B8: a tree that is deleted while it runs is gone, and another with its id lives', async () => {
  await simulate({
    app,
    seeds: seedsOf('deletes'),
    scenario: async ({ skein, world }) => {
      for (const ms of [50, 300, 600]) {
        const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
        const run = lead.send('go', { id: 'one' })
        await run.accepted()
        await world.sleep(ms)
        await skein.threads.delete('lead', { terminate: true })
      }
      const gone = await skein.threads.create({ agent: 'lead', id: 'gone' })
      await gone.send('go', { id: 'one' }).accepted()
      await skein.threads.delete('gone', { terminate: true })
      const lead = await skein.threads.create({ agent: 'lead', id: 'lead' })
      const text = await lead.send('go', { id: 'one' }).text()
      const { threads } = await skein.threads.list({})
      return { text, threads: threads.length }
    },
    check: ({ result, quiet }) => expect(result).toEqual(quiet),
  })
})
