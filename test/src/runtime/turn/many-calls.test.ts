/** A reply of a thousand calls or children holds nobody else up, and means what one call after the other means. */
import { expect, it } from 'vitest'
import { defineAgent, definePrompt } from '../../../../src/agent/define.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { onEveryStore } from '../../../helpers/world.js'

const many = 1_000

/** Counts the turns of the event loop that others have meanwhile, and the most that `progress` grows in one of them. */
function startWatch(progress: () => number) {
  let [turns, most, last, isOn] = [0, 0, progress(), true]
  const look = (): void => {
    const now = progress()
    turns++
    most = Math.max(most, now - last)
    last = now
    if (isOn) setImmediate(look)
  }
  look()
  return () => {
    isOn = false
    return { turns, most }
  }
}

onEveryStore('many calls of a reply', (world) => {
  it('RC4: calls that end at once are worked through in many turns of the event loop, in order', async () => {
    let ran = 0
    const tool = looseTool(
      'count',
      (_state, { number }) => {
        ran++
        return number
      },
      { sideEffect: false },
    )
    const asked = calls(...Array.from({ length: many }, (_, number) => ({ tool: 'count', args: { number } })))
    const { app } = tinyApp({ tools: [tool], script: ({ step }) => (step === 0 ? asked : 'done') })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const watch = startWatch(() => ran)
    await thread.send('go').result()
    const { turns, most } = watch()
    expect(ran).toBe(many)
    expect(turns).toBeGreaterThan(20)
    expect(most).toBeLessThan(100)
    const results = (await thread.messages({ limit: 2 * many })).filter(({ role }) => role === 'tool')
    expect(results.map(({ text }) => text)).toEqual(Array.from({ length: many }, (_, number) => String(number)))
  })

  it('RC4: threads with little to do are served beside one with much', async () => {
    let ran = 0
    const tool = looseTool('count', () => void ran++, { sideEffect: false })
    const asked = calls(...Array.from({ length: many }, () => 'count'))
    const { app } = tinyApp({
      tools: [tool],
      script: ({ step, messages }) => (step === 0 && messages.at(-1)?.text === 'much' ? asked : 'done'),
    })
    const skein = await world.open(app)
    const [busy, quiet] = [
      await skein.threads.create({ agent: 'helper' }),
      await skein.threads.create({ agent: 'helper' }),
    ]
    const run = busy.send('much')
    await quiet.send('little').result()
    expect(ran).toBeLessThan(many)
    await run.result()
    expect(ran).toBe(many)
  })

  it('all children of a reply answer, in order', async () => {
    const count = 200
    let spoken = 0
    const asked = calls(
      ...Array.from({ length: count }, (_, number) => ({ tool: 'sub', args: { message: `item ${number}` } })),
    )
    const { app } = tinyApp({
      script: ({ system, step, messages }) => {
        if (system?.includes('You are asked')) {
          spoken++
          return `${messages.at(-1)?.text ?? ''} done`
        }
        return step === 0 ? asked : 'done'
      },
    })
    const [prompt, sub, lead, agent] = [
      definePrompt({ name: 'sub_prompt', prompt: 'You are asked.', model: 'scripted' }),
      defineAgent({
        name: 'sub',
        type: 'ai_human',
        sideA: { prompt: 'sub_prompt' },
        exposeAsTool: true,
        toolDescription: 'a sub',
      }),
      definePrompt({ name: 'lead_prompt', prompt: 'You lead.', model: 'scripted', tools: [{ name: 'sub' }] }),
      defineAgent({ name: 'lead', type: 'ai_human', sideA: { prompt: 'lead_prompt' } }),
    ]
    const skein = await world.open([...app, prompt, sub, lead, agent])
    const thread = await skein.threads.create({ agent: 'lead' })
    await thread.send('go').result()
    expect(spoken).toBe(count)
    const results = (await thread.messages({ limit: 2 * count })).filter(({ role }) => role === 'tool')
    expect(results.map(({ text }) => text)).toEqual(Array.from({ length: count }, (_, n) => `item ${n} done`))
  })
})
