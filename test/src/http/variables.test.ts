/** Variables through HTTP: what a child waits for is given there, once, and no answer has a value. */
import { afterEach, expect, it } from 'vitest'
import type { Script } from '../../../src/models/scripted.js'
import { calls, looseTool } from '../../helpers/app.js'
import { family, last, write } from '../../helpers/family.js'
import { served } from '../../helpers/served.js'
import type { Served } from '../../helpers/served.js'
import { onEveryStore } from '../../helpers/world.js'

let server: Served | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

const secret = 'carrier-token-12345'
const ship = looseTool(
  'ship',
  async (state) => {
    const token = await state.env('TOKEN')
    state.log(`with ${token}`)
    await state.files.writeFile('/note.txt', `sent with ${token}`)
    await state.kv.set('note', token)
    return { status: 'error', error: `401 for ${token}` }
  },
  { variables: [{ name: 'TOKEN', scoped: true }] },
)
const lead: Script = ({ messages, step }) => {
  if (last(messages).startsWith('[')) return `heard ${last(messages)}`
  return step === 0 ? calls(write('go')) : 'asked'
}
const writer: Script = ({ messages, step }) => (step === 0 ? calls('ship') : `it said: ${last(messages)}`)

onEveryStore('variables over HTTP', (world) => {
  it('S6, F3, H1: a request is read and provided once, by one of two at once; no answer has the value, in any form', async () => {
    const skein = await world.open(family({ tools: [ship], lead, writer }))
    server = await served(skein)
    const { ask, stream } = server
    await ask('/threads', { body: { agent: 'lead', id: 'one' } })
    await ask('/threads/one/messages?wait=60000', { body: { text: 'go' } })
    const path = '/threads/one/variables/env_1_0'
    expect(await ask(path)).toMatchObject({ status: 200, body: { required: ['TOKEN'], missing: ['TOKEN'] } })
    expect(await ask(path, { body: { OTHER: 'x' } })).toMatchObject({
      status: 400,
      body: { code: 'VARIABLES_REQUIRED' },
    })
    expect((await skein.threads.list({ parent: 'one' })).threads).toEqual([])
    const both = await Promise.all([1, 2].map(() => ask(path, { body: { TOKEN: secret } })))
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, expect.toBeOneOf([404, 409])])
    expect((await ask(path, { body: { TOKEN: secret } })).status).toBe(404)
    await (await skein.threads.get('one')).settled({ tree: true })
    const { threads } = await skein.threads.list({ parent: 'one' })
    expect(threads).toHaveLength(1)
    const child = `/threads/${threads[0]?.thread ?? ''}`
    const events = []
    for await (const event of await stream('/trees/one/events?until=now')) events.push(event)
    const answers = await Promise.all(
      [
        '/threads',
        '/inbox',
        '/threads/one/messages',
        '/threads/one/variables',
        `${child}/messages`,
        `${child}/variables`,
        `${child}/kv/note`,
        `${child}/files/note.txt`,
      ].map((at) => ask(at)),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const said = JSON.stringify([events, answers.map(({ body }) => body)])
    expect(said).toContain('[redacted]')
    for (const form of [secret, Buffer.from(secret).toString('base64').slice(0, -4)]) expect(said).not.toContain(form)
  })
})
