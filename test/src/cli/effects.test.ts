/** C1: `skein effects` lists calls that nobody knows the outcome of, and records what someone found out. */
import { expect, it, onTestFinished } from 'vitest'
import { createSkein, local } from '../../../src/index.js'
import { calls, looseTool, tinyApp } from '../../helpers/app.js'
import { deferred } from '../../helpers/deferred.js'
import { objects, place } from './binary.js'

it('C1, B2: effects lists what nobody knows, and records once what was found out', async () => {
  const { store, skein } = place()
  const began = deferred()
  const pay = looseTool(
    'pay',
    () => {
      began.resolve()
      return new Promise(() => undefined)
    },
    { sideEffect: true },
  )
  const { app, model } = tinyApp({
    tools: [pay],
    script: ({ messages }) => (messages.at(-1)?.text === 'go' ? calls({ tool: 'pay', args: { amount: 7 } }) : 'fine'),
  })
  const host = await createSkein({ app, backend: local(store) })
  onTestFinished(() => host.close())
  const thread = await host.threads.create({ agent: 'helper', id: 'one' })
  expect(await skein(['effects'])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('of every call it is known'),
  })
  const run = thread.send('go')
  await began.promise
  await thread.cancel()
  await run.result()
  const listed = await skein(['effects', '--root', 'one'])
  expect(listed.stdout).toMatch(/^ID +TOOL +BEGAN +ARGS/)
  expect(listed.stdout).toMatch(/one\/call_1_0 +pay .*amount/)
  expect(objects((await skein(['effects', '--json'])).stdout)[0]).toMatchObject({
    effects: [{ id: 'one/call_1_0', state: 'unknown' }],
  })
  expect(await skein(['effects', 'resolve', 'one/call_1_0', 'maybe'])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('say happened, or not'),
  })
  const resolve = ['effects', 'resolve', 'one/call_1_0', 'happened', '--value', '{"id":7}', '--comment', 'I looked']
  expect(await skein(resolve)).toMatchObject({ code: 0, stdout: 'recorded: it has happened\n' })
  expect(await skein(resolve)).toMatchObject({ code: 4, stderr: expect.stringContaining('has no unknown effect') })
  expect((await skein(['effects', '--root', 'none'])).code).toBe(4)
  await thread.send('on').result()
  expect(JSON.stringify(model.requests.at(-1)?.messages)).toContain('it has happened: I looked')
})
