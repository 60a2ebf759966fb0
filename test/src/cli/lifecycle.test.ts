/** Deleting, copying and pausing trees from the command line. */
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { app, fixture, objects, place } from './binary.js'

it('C1, F8: delete removes a tree, or says why not; without a host it is kept', async () => {
  const { host, seed, skein, spawned } = place()
  await seed({ agent: 'echo', id: 't1' }, { agent: 'echo', id: 't2' })
  const here = await host()
  expect(await spawned(['delete', 't1'])).toMatchObject({ code: 0, stdout: 'deleted\n', stderr: '' })
  expect(await skein(['delete', 't1'])).toMatchObject({
    code: 4,
    stdout: '',
    stderr: 'skein: there is no thread "t1" in this store\n',
  })
  await here.close()
  expect(objects((await skein(['delete', 't2', '--json'])).stdout)).toEqual([{ thread: 't2', state: 'kept' }])
  expect((await skein(['ps', '--all'])).stdout).toContain('t2')
  const next = await host()
  // Its tree is gone as soon as the mail was read; whoever waits for that sends it again.
  await next.threads.delete('t2').catch(() => undefined)
  expect((await skein(['ps', '--all'])).stdout).not.toContain('t2')
  await next.close()
})

it('C1, F8: backup copies the store while it is in use; the copy is a store', async () => {
  const { folder, host, seed, skein, spawned } = place()
  await seed({ agent: 'echo', id: 't1' })
  const here = await host()
  const copy = join(folder, 'copy')
  expect(await spawned(['backup', copy])).toMatchObject({
    code: 0,
    stdout: `copied to ${copy}\n`,
    stderr: expect.stringContaining(`skein ps --store ${copy}`),
  })
  expect(await skein(['backup', copy])).toMatchObject({
    code: 4,
    stdout: '',
    stderr: expect.stringContaining('something in it'),
  })
  await here.close()
  expect((await skein(['run', app, '--thread', 't1', 'two', '--store', copy])).stdout).toContain('you said: two')
})

it('C1, F8: pause and resume take --tree', async () => {
  const { host, seed, skein } = place()
  await seed({ agent: 'echo', id: 't1' })
  const here = await host()
  expect(objects((await skein(['pause', 't1', '--tree', '--reason', 'lunch', '--json'])).stdout)).toEqual([
    { thread: 't1', state: 'accepted', changed: true, status: 'paused' },
  ])
  expect(await (await here.threads.get('t1')).info()).toMatchObject({ reason: 'lunch' })
  expect(await skein(['resume', 't1', '--tree'])).toMatchObject({ code: 0, stdout: 'resumed\n' })
  await here.close()
})

it('C1, L2: grant raises the budget of a thread; what is wrong exits 4', async () => {
  const { host, skein } = place()
  const here = await host()
  const thread = await here.threads.create({ agent: 'echo', id: 't1', budget: { tokens: 10, costUsd: 1 } })
  expect(await skein(['grant', 't1', '--tokens', '500', '--cost', '0.5', '--by', 'ann'])).toMatchObject({
    code: 0,
    stdout: 'granted\n',
  })
  expect((await thread.usage()).budget?.left).toEqual({ tokens: 510, costUsd: 1.5 })
  expect(await skein(['grant', 't1'])).toMatchObject({ code: 4, stderr: expect.stringContaining('name how much more') })
  expect(await skein(['grant', 't1', '--tokens', 'many'])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('a number, 0 or more'),
  })
  expect(await skein(['grant', 't1', '--steps', '5'])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('does not limit steps'),
  })
  await here.close()
})

it('C1, L2: a thread that rests because its budget is spent says so in ps, tree and show', async () => {
  const { host, skein } = place()
  const here = await host()
  const thread = await here.threads.create({ agent: 'echo', id: 't1', budget: { tokens: 10 } })
  await thread.send('one').result()
  await thread.send('two').result()
  expect(await thread.info()).toMatchObject({ status: 'idle', reason: 'nothing is left of tokens' })
  expect((await skein(['ps'])).stdout).toMatch(/^t1 +idle \(budget spent\) +echo/m)
  expect((await skein(['tree', 't1'])).stdout).toMatch(/^t1 +echo +idle \(budget spent\)/m)
  expect((await skein(['show', 't1'])).stdout).toMatch(/^status +idle: nothing is left of tokens$/m)
  await thread.grant({ tokens: 500 })
  await thread.send('three').result()
  expect((await skein(['ps'])).stdout).toMatch(/^t1 +idle +echo/m)
  await here.close()
})

it('C1: --json of commands that steer and decide is one object on stdout, and nothing for people', async () => {
  const { skein, host: openHost, folder } = place()
  const host = await openHost(fixture('people'))
  onTestFinished(() => host.close())
  const json = async (args: readonly string[], input?: string) => {
    const settings = input === undefined ? {} : { input }
    const { code, stdout } = await skein([...args, '--json'], settings)
    expect([args[0], code]).toEqual([args[0], 0])
    return objects(stdout)
  }
  const waiting = async (agent: string, id: string) => {
    const thread = await host.threads.create({ agent, id, budget: { tokens: 100_000 } })
    await thread.send('go').accepted()
    await thread.settled()
    const [item] = await host.inbox.list({ thread: id })
    return item?.id ?? ''
  }
  const question = await waiting('asker', 't1')
  expect(await json(['answer', question, 'yes', '--text'])).toMatchObject([{ id: question, thread: 't1' }])
  const call = await waiting('clerk', 't2')
  expect(await json(['deny', call])).toMatchObject([{ id: call, thread: 't2', state: 'accepted' }])
  await waiting('clerk', 't3')
  expect(await json(['cancel', 't3'])).toMatchObject([{ thread: 't3', state: 'accepted', changed: true }])
  expect(await json(['grant', 't3', '--tokens', '5'])).toMatchObject([{ thread: 't3', state: 'accepted' }])
  expect(await json(['terminate', 't3'])).toMatchObject([{ thread: 't3', changed: true, status: 'terminated' }])
  const said = await json(['chat', fixture('people'), '--agent', 'writer', '--thread', 't4'], 'hello\n')
  expect(said.at(-1)).toMatchObject({ type: 'run.ended', thread: 't4', stopReason: 'completed' })
  const dir = join(folder, 'copy')
  expect(await json(['backup', dir])).toMatchObject([{ dir }])
})
