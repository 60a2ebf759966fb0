/** `skein.reload()`: another version of the app takes the place of the one that serves, while threads are at work. */
import { expect, it } from 'vitest'
import type { ToolDefinition } from '../../../../src/agent/define.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { deferred, quiet, until } from '../../../helpers/deferred.js'
import { onEveryStore } from '../../../helpers/world.js'

/** A tool whose body ends when it is told to, and a count of its runs. */
function slowTool(options: Partial<ToolDefinition> = {}) {
  const [began, release] = [deferred(), deferred<string>()]
  const runs = { count: 0 }
  const tool = looseTool(
    'pay',
    () => {
      runs.count++
      began.resolve()
      return release.promise
    },
    options,
  )
  return { tool, began, release, runs }
}

const said = (text: string, tools: readonly ToolDefinition[] = [], agent = 'helper') =>
  tinyApp({ agent, tools, script: ({ step }) => (step === 0 && tools.length > 0 ? calls('pay') : text) }).app

onEveryStore('reload', (world) => {
  /** The app is replaced while its body runs. */
  async function replaced(sideEffect: boolean) {
    const { tool, began, release, runs } = slowTool({ sideEffect })
    const skein = await world.open(said('old', [tool]))
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await began.promise
    const other = looseTool('pay', () => 'of the new version', { sideEffect })
    await skein.reload(said('new', [other]))
    release.resolve('of the old version')
    await run.result()
    await thread.send('again').result()
    return { texts: (await thread.messages()).map(({ text }) => text), runs: runs.count }
  }

  const once = {
    texts: ['go', '', 'of the old version', 'new', 'again', '', 'of the new version', 'new'],
    runs: 1,
  }

  it('E6, VN1: a side effect under way ends where it began, once; the next step is of the new version', async () => {
    expect(await replaced(true)).toEqual(once)
  })

  it('E6, VN1: a pure body under way ends where it began, once; the next step is of the new version', async () => {
    expect(await replaced(false)).toEqual(once)
  })

  it('E6, VN1: a model that is being asked is not asked again', async () => {
    const [asked, reply] = [deferred(), deferred<string>()]
    const { app, model } = tinyApp({
      script: () => {
        asked.resolve()
        return reply.promise
      },
    })
    const skein = await world.open(app)
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await asked.promise
    await skein.reload(said('new'))
    reply.resolve('old')
    expect(await run.text()).toBe('old')
    expect(model.requests).toHaveLength(1)
    expect(await thread.send('go').text()).toBe('new')
  })

  it('E6: an app that is refused changes nothing', async () => {
    const skein = await world.open(said('old'))
    const thread = await skein.threads.create({ agent: 'helper' })
    const unknown = tinyApp({ script: [] }).app.filter(({ kind }) => kind !== 'model')
    await expect(skein.reload(unknown)).rejects.toMatchObject({ code: expect.any(String) })
    expect(await thread.send('go').text()).toBe('old')
    expect(skein.agents).toEqual(['helper'])
  })

  it('E6, TH6: a thread without its agent stands still, and goes on when it is back; its effect is done once', async () => {
    const { tool, began, release, runs } = slowTool({ sideEffect: true })
    const skein = await world.open(said('old', [tool]))
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await began.promise
    await skein.reload(said('other', [], 'other'))
    expect(skein.agents).toEqual(['other'])
    release.resolve('paid')
    await until('the operator is warned', () => world.warnings.includes(`thread ${thread.id} is parked`))
    await quiet()
    await skein.reload(said('new', [tool]))
    expect(await run.text()).toBe('new')
    expect((await thread.messages()).map(({ text }) => text)).toEqual(['go', '', 'paid', 'new'])
    expect(runs.count).toBe(1)
  })

  it('E6: a thread that waits for a value goes on when the new version has one', async () => {
    const variables = [{ name: 'TOKEN', type: 'text' as const }]
    const needs = looseTool('pay', async ({ env }) => `with ${await env('TOKEN')}`, { variables })
    const skein = await world.open(said('old', [needs]))
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await until('it waits', async () => (await thread.info()).status === 'awaiting_variables')
    const env = { TOKEN: 'a value' }
    await skein.reload(said('new', [needs]).map((each) => (each.kind === 'agent' ? { ...each, env } : each)))
    expect(await run.text()).toBe('new')
    expect((await thread.messages()).map(({ text }) => text)).toContain('with a value')
  })

  it('E6, F3: what was a secret in an earlier version stays masked', async () => {
    const secret = 'carrier-token-12345'
    const { tool, began, release } = slowTool({ variables: [{ name: 'TOKEN', type: 'secret', default: secret }] })
    const skein = await world.open(said('old', [tool]))
    const thread = await skein.threads.create({ agent: 'helper' })
    const run = thread.send('go')
    await began.promise
    await skein.reload(said('new', [looseTool('pay', () => 'fine')]))
    release.resolve(`the token is ${secret}`)
    await run.result()
    expect(JSON.stringify(await thread.messages())).not.toContain(secret)
  })

  it('E6: reloads come one after another, and none after close', async () => {
    const skein = await world.open(said('first'))
    const thread = await skein.threads.create({ agent: 'helper' })
    await Promise.all([skein.reload(said('second')), skein.reload(said('third'))])
    expect(await thread.send('go').text()).toBe('third')
    await world.close(skein)
    await expect(skein.reload(said('fourth'))).rejects.toMatchObject({ code: 'STORE_CLOSED' })
  })
})
