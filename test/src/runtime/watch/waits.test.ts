/**
 * Nobody waits for one signal: what is lost on its way is found again by whoever waits for it, where signals can be
 * lost.
 */
import { expect, it } from 'vitest'
import type { Store } from '../../../../src/backend/port.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import { calls } from '../../../helpers/app.js'
import { collect } from '../../../helpers/deferred.js'
import { family, write } from '../../../helpers/family.js'
import { onEveryStore } from '../../../helpers/world.js'

onEveryStore(
  'signals that are lost',
  (world) => {
    it('N3, NG2: answers, results, streams and trees at rest are found without them', async () => {
      const app = family({
        lead: ({ step }) => (step === 0 ? calls(write('a'), write('b')) : 'all written'),
        writer: () => 'written',
      })
      await world.open(app, { backend: losing(world.store.source) })
      const client = await connectSkein({ backend: world.store.source, clock: world.clock })
      const thread = await client.threads.create({ agent: 'lead', id: 'lead' })
      const run = thread.send('go')
      const events = collect(run.messagesStream)
      const [result, settled] = await Promise.all([run.result(), thread.settled({ tree: true })])
      expect([result.text, settled.status, (await events).at(-1)?.text]).toEqual(['all written', 'idle', 'all written'])
      await client.threads.delete('lead')
      await client.close()
    })
  },
  'several',
)

/** Of a host: news of trees is never heard, and no answer the first time. */
function losing(source: Store): Store {
  return {
    async open(role, self) {
      const backend = await source.open(role, self)
      const { signals } = backend
      const seen = new Set<string>()
      const publish: typeof signals.publish = (topic, value, unheard) => {
        if (/^(tree|thread)\//.test(topic) || (topic.startsWith('answer/') && seen.size !== seen.add(topic).size))
          return
        signals.publish(topic, value, unheard)
      }
      return { ...backend, signals: { ...signals, publish } }
    },
  }
}
