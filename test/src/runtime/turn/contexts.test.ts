/** Contexts that a caller gives: with a new thread, with a message; what is refused, and what is missing. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../../src/agent/define.js'
import type { ToolDefinition } from '../../../../src/agent/define.js'
import { connectSkein } from '../../../../src/runtime/handles/client.js'
import { results } from '../../../helpers/asking.js'
import { calls, looseTool, tinyApp } from '../../../helpers/app.js'
import { onEveryStore } from '../../../helpers/world.js'

const greet = defineTool({
  name: 'greet',
  description: 'Greets.',
  args: z.object({}),
  contextSchema: z.object({ user: z.object({ name: z.string() }), calls: z.number().default(0) }),
  sharedSchema: z.object({ tenant: z.string(), seen: z.number().default(0) }),
  execute(state) {
    state.setContext({ calls: state.local.calls + 1 })
    return `${state.local.user.name} of ${state.shared.tenant}, ${state.local.calls}`
  },
})
const other = defineTool({
  name: 'other',
  description: 'Needs more.',
  args: z.object({}),
  sharedSchema: z.object({ tenant: z.string(), region: z.string() }),
  execute: ({ shared }) => shared.region,
})
const context = { greet: { user: { name: 'Ada' } }, shared: { tenant: 'acme' } }

const appOf = (tools: readonly ToolDefinition[], ...steps: readonly string[]) =>
  tinyApp({ tools, script: ({ step }) => (steps[step] === undefined ? 'done' : calls(steps[step] ?? '')) }).app

onEveryStore('contexts of a caller', (world) => {
  it('T9: tools find what the thread was created with, also after a restart; a client gives it as well', async () => {
    const app = appOf([greet, other], 'greet')
    const skein = await world.open(app)
    const client = await connectSkein({ backend: world.store.source, clock: world.clock })
    const made = await client.threads.create({ agent: 'helper', id: 't', context })
    await made.send('go').text()
    await client.close()
    await world.close(skein)
    const again = await (await world.open(app)).threads.get('t')
    await again.send('go').text()
    expect(results(await again.messages())).toEqual(['Ada of acme, 1', 'Ada of acme, 2'])
  })

  it('T9: a message merges into it', async () => {
    const skein = await world.open(appOf([greet], 'greet'))
    const thread = await skein.threads.create({ agent: 'helper', id: 't', context })
    await thread.send('go').text()
    await thread.send('go', { context: { greet: { user: { name: 'Bob' } } } }).text()
    expect(results(await thread.messages())).toEqual(['Ada of acme, 1', 'Bob of acme, 2'])
  })

  it('what does not fit is refused with the message or the thread, and nothing of it counts', async () => {
    const skein = await world.open(appOf([greet, looseTool('bare', () => 1)], 'greet'))
    const refused = (message: RegExp) => ({ code: 'BAD_OPTION', message: expect.stringMatching(message) })
    const create = (given: Record<string, Record<string, unknown>>) =>
      skein.threads.create({ agent: 'helper', id: 'x', context: given })
    await expect(create({ greet: { user: 7 } })).rejects.toMatchObject(
      refused(/greet does not fit the contextSchema of greet: user: /),
    )
    await expect(create({ greet: { calls: 1 } })).rejects.toMatchObject(refused(/user: /))
    await expect(create({ shared: { tenant: 7 } })).rejects.toMatchObject(refused(/sharedSchema of greet: tenant: /))
    await expect(create({ nobody: {} })).rejects.toMatchObject(
      refused(/no tool "nobody"; contexts are for: greet, shared/),
    )
    await expect(create({ bare: {} })).rejects.toMatchObject(refused(/the tool bare has no contextSchema/))
    await expect(skein.threads.get('x')).rejects.toMatchObject({ code: 'UNKNOWN_THREAD' })
    const thread = await skein.threads.create({ agent: 'helper', id: 't', context })
    await expect(
      thread.send('go', { context: { greet: { user: 7 }, shared: { tenant: 'evil' } } }).text(),
    ).rejects.toMatchObject(refused(/greet does not fit/))
    await thread.send('go').text()
    expect(results(await thread.messages())).toEqual(['Ada of acme, 1'])
  })

  it('a required field that nobody has set is an error that says who can give it, not undefined', async () => {
    const skein = await world.open(appOf([greet, other], 'greet', 'other'))
    const thread = await skein.threads.create({ agent: 'helper', id: 't', context: { shared: { tenant: 'acme' } } })
    await thread.send('go').text()
    const [first, second] = results(await thread.messages())
    expect(first).toMatch(/^Error TOOL_OUTPUT_INVALID: setContext of greet .*user: /)
    expect(second).toMatch(
      /^Error CONTEXT_MISSING: other needs state\.shared\.region, which its sharedSchema requires and nobody has set; .*context: \{ shared:/,
    )
  })

  it('F3: a secret in it is masked like everywhere', async () => {
    const secret = 'sk-live-0123456789'
    const tools = [greet, looseTool('pay', () => 1, { variables: [{ name: 'TOKEN' }] })]
    const skein = await world.open(appOf(tools, 'greet'))
    const thread = await skein.threads.create({
      agent: 'helper',
      id: 't',
      env: { TOKEN: secret },
      context: { ...context, greet: { user: { name: secret } } },
    })
    await thread.send('go').text()
    expect(results(await thread.messages())).toEqual(['[redacted] of acme, 1'])
  })
})

it('tools that say differently what a shared field is are a mistake of the app', async () => {
  const { createApp } = await import('../../../../src/agent/app.js')
  const tool = (name: string, sharedSchema: z.ZodType): ToolDefinition => ({
    ...looseTool(name, () => 1),
    sharedSchema,
  })
  const app =
    (...tools: readonly ToolDefinition[]) =>
    () =>
      createApp(tools, 'the test')
  expect(app(tool('a', z.object({ user: z.string() })), tool('b', z.object({ user: z.number() })))).toThrow(
    /the tools a and b share the field "user" and say differently what it is/,
  )
  expect(
    app(
      tool('a', z.object({ user: z.string() })),
      tool('b', z.object({ user: z.string().optional(), more: z.number() })),
      tool('c', z.object({ more: z.number().default(1).describe('x') })),
    ),
  ).not.toThrow()
})
