/** Deleting, copying and pausing trees from the command line. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { app, objects, place } from './binary.js'

it('C1, F8: delete removes a tree, or says why not; without a host it is kept', async () => {
  const { host, seed, skein, spawned } = place()
  await seed({ agent: 'echo', id: 't1' }, { agent: 'echo', id: 't2' })
  const here = await host()
  expect(await spawned(['delete', 't1'])).toMatchObject({ code: 0, stdout: 'deleted\n', stderr: '' })
  expect(await skein(['delete', 't1'])).toMatchObject({ code: 4, stdout: '', stderr: 'skein: there is no thread "t1" in this store\n' })
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
  expect(await spawned(['backup', copy])).toMatchObject({ code: 0, stdout: `copied to ${copy}\n`, stderr: expect.stringContaining(`skein ps --store ${copy}`) })
  expect(await skein(['backup', copy])).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('something in it') })
  await here.close()
  expect((await skein(['run', app, '--thread', 't1', 'two', '--store', copy])).stdout).toContain('you said: two')
})

it('C1, F8: pause and resume take --tree', async () => {
  const { host, seed, skein } = place()
  await seed({ agent: 'echo', id: 't1' })
  const here = await host()
  expect(objects((await skein(['pause', 't1', '--tree', '--reason', 'lunch', '--json'])).stdout)).toEqual([{ thread: 't1', state: 'accepted', changed: true, status: 'paused' }])
  expect(await (await here.threads.get('t1')).info()).toMatchObject({ reason: 'lunch' })
  expect(await skein(['resume', 't1', '--tree'])).toMatchObject({ code: 0, stdout: 'resumed\n' })
  await here.close()
})
