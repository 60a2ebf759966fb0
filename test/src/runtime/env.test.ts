/** Variables: a body sees what its tool declares, and a secret is seen by nobody else. */
import { expect, it } from 'vitest'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { collect } from '../../helpers/deferred.js'
import { results } from '../../helpers/asking.js'
import { onEveryStore } from '../../helpers/world.js'

const secret = 'sk-live-0123456789'

onEveryStore('variables', (world) => {
  it('F3: a secret in a thrown error, a result, a log or an event is masked before anyone else sees it', async () => {
    const seen: string[] = []
    const variables = [{ name: 'API_KEY' }, { name: 'REGION', type: 'text' as const }, { name: 'MODE', type: 'text' as const, default: 'test' }]
    const tools = [
      looseTool('throws', async (state) => {
        seen.push(await state.env('API_KEY'))
        state.log('using', await state.env('API_KEY'))
        state.progress({ url: `https://x/?key=${encodeURIComponent(await state.env('API_KEY'))}` })
        throw new Error(`401 for ${await state.env('API_KEY')} in ${await state.env('REGION')} ${await state.env('MODE')}`)
      }, { variables }),
      looseTool('returns', async (state) => ({ nested: [{ header: `Bearer ${await state.env('API_KEY')}`, base64: Buffer.from(await state.env('API_KEY')).toString('base64') }] }), { variables }),
      looseTool('nosy', (state) => state.env('API_KEY')),
      looseTool('missing', (state) => state.env('OTHER'), { variables: [{ name: 'OTHER' }] }),
    ]
    const skein = await world.open(tinyApp({ tools, script: ({ step }) => (step === 0 ? calls('throws', 'returns', 'nosy', 'missing') : 'done') }).app, { env: { API_KEY: secret, REGION: 'north' } })
    const thread = await skein.threads.create({ agent: 'helper', id: 't' })
    const run = thread.send('go')
    const events = await collect(run.fullStream)
    expect(seen).toEqual([secret])
    const [thrown, returned, nosy, missing] = results(await thread.messages())
    expect(thrown).toBe('Error TOOL_THREW: 401 for [redacted] in north test')
    expect(returned).toBe('{"nested":[{"header":"Bearer [redacted]","base64":"[redacted]"}]}')
    expect(nosy).toMatch(/TOOL_NOT_ALLOWED/)
    expect(missing).toMatch(/ENV_MISSING: .*OTHER/)
    const backend = await world.store.source.open('client')
    const stored = JSON.stringify(await backend.journal.read('t'))
    await backend.close()
    for (const text of [stored, JSON.stringify(events), JSON.stringify(await thread.messages())]) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(Buffer.from(secret).toString('base64'))
    }
  })

  it('F3: a secret that is too short to be masked is refused when the skein is created', async () => {
    const tool = looseTool('t', () => 'x', { variables: [{ name: 'PIN' }] })
    await expect(world.open(tinyApp({ tools: [tool], script: [] }).app, { env: { PIN: '1234' } })).rejects.toMatchObject({ code: 'BAD_OPTION', message: expect.stringContaining('PIN') })
  })
})
