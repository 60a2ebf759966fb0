/** L3: what a thread with a summary costs does not grow with its history: in memory, in snapshots, and to wake it. */
import { expect, it } from 'vitest'
import { defineAgent, defineModel, definePrompt } from '../../../../src/agent/define.js'
import { scriptedModel } from '../../../../src/models/scripted.js'
import { createState } from '../../../../actors/thread/state.js'
import { freeze, thaw } from '../../../../src/runtime/journal/snapshot.js'
import { wake, wakeWhole } from '../../../../src/runtime/journal/wake.js'
import { looseTool } from '../../../helpers/app.js'
import { onEveryStore } from '../../../helpers/world.js'

const look = looseTool('look', () => 'x'.repeat(450))

function app(steps: number) {
  const model = scriptedModel(({ step, summary, messages }) => {
    if (summary) return 'in short'
    const last = messages.findLast(({ role, text }) => role === 'user' && !text.startsWith('<summary>'))?.text
    return last === 'short' || step >= steps ? 'done' : { calls: [{ tool: 'look', args: { step } }] }
  })
  return [
    look,
    defineModel({ name: 'm', model, contextTokens: 2_000 }),
    definePrompt({ name: 'p', prompt: 'x', model: 'm', tools: ['look'] }),
    defineAgent({ name: 'helper', type: 'ai_human', sideA: { prompt: 'p', maxSteps: 10_000 } }),
  ]
}

onEveryStore('a thread of many steps', (world) => {
  it('L3: wakes from a snapshot and its tail, reads no history, and its messages are whole', async () => {
    let largest = 0
    world.tap.snapshot = (_, body) => (largest = Math.max(largest, body.length))
    const skein = await world.open(app(300), { snapshotEvery: 50 })
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('read').text()
    await world.close(skein)
    // Bounded by what the model reads: not by 300 results.
    expect(largest).toBeLessThan(40_000)
    const again = await world.open(app(300), { snapshotEvery: 50 })
    const same = await again.threads.get('t')
    const { seq } = await same.info()
    const read: number[] = []
    world.tap.entry = (entry) => {
      read.push(entry.first)
      return entry
    }
    expect(await same.send('short').text()).toBe('done')
    expect(Math.min(...read)).toBeGreaterThan(seq - 110)
    delete world.tap.entry
    const all = await same.messages()
    expect(all).toHaveLength(604)
    expect(all.filter(({ role, text }) => role === 'tool' && text.length === 450)).toHaveLength(300)
  })

  it('L3: a state from a snapshot has the messages that its model reads, and is the state of the whole journal', async () => {
    const skein = await world.open(app(60), { snapshotEvery: 10 })
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    await thread.send('read').text()
    await world.close(skein)
    const backend = await world.store.source.open('client')
    const [cached, whole] = [await wake(backend, 't'), await wakeWhole(backend, 't')]
    await backend.close()
    const { transcript: loaded, ...rest } = cached.state
    const { transcript: all, ...expected } = whole.state
    expect(JSON.stringify(rest.contexts)).toBe(JSON.stringify(expected.contexts))
    expect(loaded.skipped).toBeGreaterThan(0)
    expect(loaded.skipped).toBeLessThanOrEqual(rest.contexts['a']?.summary?.before ?? 0)
    expect(loaded.items).toEqual(all.items.slice(loaded.skipped))
    // Without a summary there is none in it.
    const plain = { ...createState('u'), transcript: { skipped: 0, items: [...all.items] } }
    expect(thaw('u', freeze({ state: plain, chain: 'x' }))?.state.transcript).toEqual({
      skipped: all.items.length,
      items: [],
    })
  })
})
