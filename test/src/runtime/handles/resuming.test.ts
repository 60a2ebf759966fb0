/** A host that goes on with some trees only. */
import { expect, it } from 'vitest'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, until } from '../../../helpers/deferred.js'
import { family, last } from '../../../helpers/family.js'
import { onEveryStore } from '../../../helpers/world.js'

onEveryStore('a host that is told which trees to go on with', (world) => {
  it('wakes those, leaves the others as they are and says how many; one that gets mail is woken all the same', async () => {
    const stuck = deferred<string>()
    const wait = looseTool('wait', () => stuck.promise)
    const first = await world.open(
      tinyApp({ script: ({ step }) => (step === 0 ? calls('wait') : 'never'), tools: [wait] }).app,
    )
    for (const id of ['one', 'two', 'three']) {
      const thread = await first.threads.create({ agent: 'helper', id })
      await thread.send('go').accepted()
      await until('the call', async () => (await thread.status()) === 'acting')
    }
    const closed = world.close(first)
    world.clock.advance(60_000) // the grace of the calls
    await closed
    let left = 0
    const again = looseTool('wait', () => 'waited')
    const second = await world.open(tinyApp({ script: ['done', 'done', 'done'], tools: [again] }).app, {
      resuming: ['two'],
      onHostEvent: (news) => void (news.type === 'left' && (left += news.threads)),
    })
    const statuses = async (): Promise<readonly string[]> =>
      Promise.all(['one', 'two', 'three'].map(async (id) => (await second.threads.get(id)).status()))
    await (await second.threads.get('two')).settled()
    expect(await statuses()).toEqual(['acting', 'idle', 'acting'])
    expect(left).toBe(2)
    const three = await second.threads.get('three')
    await three.inject('still there?')
    await three.settled()
    expect(await statuses()).toEqual(['acting', 'idle', 'idle'])
  })
  it('S13: a message to a thread of a tree that was left takes up the whole tree', async () => {
    const stuck = deferred()
    const app = (wait: () => Promise<unknown>) =>
      family({
        lead: ({ step, messages }) =>
          step === 0 ? { calls: [{ tool: 'writer', args: { message: 'a' } }] } : `so: ${last(messages)}`,
        writer: async () => {
          await wait()
          return 'written'
        },
      })
    const first = await world.open(app(() => stuck.promise))
    const lead = await first.threads.create({ agent: 'lead', id: 'lead' })
    await lead.send('go', { id: 'm' }).accepted()
    await until(
      'the child',
      async () => (await first.threads.list({ parent: 'lead', status: 'thinking' })).threads.length === 1,
    )
    const closed = world.close(first)
    world.clock.advance(60_000)
    await closed
    const second = await world.open(
      app(async () => undefined),
      { resuming: [] },
    )
    const again = await second.threads.get('lead')
    expect(await again.status()).toBe('waiting')
    await again.inject('are you there?')
    expect(await again.run('m').text()).toMatch(/^so: /)
  })
})
