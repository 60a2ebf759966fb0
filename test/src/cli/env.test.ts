/** Variables of threads on the command line: what is missing, how it is given, and that no value is ever shown. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { fixture, objects, place } from './binary.js'

const app = fixture('variables')
const secret = 'sk-live-0123456789'

it('C1, F2: run says what is missing and exits 3; what is given by stdin, file or line is kept, and the next run goes on', async () => {
  const { folder, store, skein, spawned } = place()
  const waits = await skein(['run', app, '--agent', 'caller', '--thread', 't1', 'go'])
  expect(waits.code).toBe(3)
  expect(waits.stderr).toContain('‖ call_api waits for variables API_KEY, PLACE')
  expect(waits.stderr).toContain(
    `  skein env t1 --stdin API_KEY --store ${store}\n  skein env t1 --stdin PLACE --store ${store}\n  skein deny ` +
      `t1/call_1_0 --store ${store}\nthen go on with: skein run`,
  )
  expect((await skein(['inbox'])).stdout).toMatch(/t1\/call_1_0 +variables: API_KEY, PLACE +call_api/)
  expect(objects((await skein(['env', 't1', '--json'])).stdout)).toEqual([
    { thread: 't1', variables: [], missing: ['API_KEY', 'PLACE'] },
  ])
  const file = join(folder, 'key')
  writeFileSync(file, `${secret}\n`)
  expect(await skein(['env', 't1', '--file', `API_KEY=${file}`])).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringContaining('kept'),
  })
  expect(await skein(['run', app, '--thread', 't1'])).toMatchObject({
    code: 3,
    stderr: expect.stringContaining('waits for variables PLACE'),
  })
  expect(await spawned(['env', 't1', '--stdin', 'PLACE'], { input: 'Bonn\n' })).toMatchObject({ code: 0 })
  const done = await skein(['run', app, '--thread', 't1'])
  expect(done).toMatchObject({ code: 0, stdout: `Bonn with [redacted] (${secret.length})\n` })
  expect(done.stderr).toMatch(/→ call_api has its variables\n✓ call_api/)
  expect((await skein(['env', 't1'])).stdout).toBe('NAME     VALUE\nAPI_KEY  set\nPLACE    set\n')
})

it('C1, F2: an agent that waits is told like a call; with a host --wait shows the turn to its end', async () => {
  const { skein, host } = place()
  const here = await host(app)
  const thread = await here.threads.create({ agent: 'speaker', id: 't1' })
  await thread.send('go').accepted()
  expect((await skein(['show', 't1'])).stdout).toContain('agent speaker waits for variables TONE')
  expect(await skein(['env', 't1', 'TONE=kind', '--wait'])).toMatchObject({ code: 0, stdout: 'said\n' })
  expect(await skein(['env', 't1', '--unset', 'TONE'])).toMatchObject({ code: 0, stdout: 'TONE taken away\n' })
  await here.close()
})

it.each([
  [['env', 'nobody'], 'there is no thread "nobody"'],
  [['env', 't1', 'lower=x'], '"lower" is no name of a variable'],
  [['env', 't1', '=x'], 'names no variable'],
  [['env', 't1', 'HOME_OF_NOBODY'], 'the environment has no HOME_OF_NOBODY'],
  [['env', 't1', 'API_KEY='], 'the value of API_KEY is empty; to take a value away use --unset API_KEY'],
  [['env', 't1', '--stdin', 'API_KEY'], 'the value of API_KEY is empty'],
  [['env', 't1', '--file', 'API_KEY'], '--file takes NAME=path'],
  [['env', 't1', '--file', 'API_KEY=/nowhere/at/all'], '--file API_KEY: ENOENT'],
])('C1: %j exits 4 with one line', async (args, says) => {
  const { skein, seed } = place()
  await seed({ agent: 'echo', id: 't1' })
  const { code, stderr } = await skein(args)
  expect(stderr).toContain(says)
  expect(code).toBe(4)
})

it('C1, S6, A4: a child that waits for values of its own child is told, run exits 3, and goes on when they are declined or given', async () => {
  const { skein } = place()
  const waits = await skein(['run', app, '--agent', 'owner', '--thread', 't1', 'go'])
  expect(waits).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /boss-1 › a child \(.*courier-1.*\) waits for variables PASS\n {2}skein env \S+\/env_1_0 --stdin PASS .*\n {2}skein deny \S+\/env_1_0 .*\nthen go on with/,
    ),
  })
  const [{ items }] = objects((await skein(['inbox', '--json'])).stdout) as [{ items: { id: string }[] }]
  const id = items[0]?.id ?? ''
  expect((await skein(['tree', 't1'])).stdout).toMatch(/boss-1 +boss +awaiting_variables/)
  expect(await skein(['deny', id, '--comment', 'no pass'])).toMatchObject({ code: 0 })
  expect(await skein(['run', app, '--thread', 't1'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^owner: boss: \[courier-1\] Error TOOL_DENIED: .*declined: no pass/),
  })
  await skein(['run', app, '--agent', 'owner', '--thread', 't2', 'go'])
  const [second] = objects((await skein(['inbox', '--json'])).stdout) as [{ items: { id: string }[] }]
  expect(
    await skein(['env', second.items[0]?.id ?? '', '--stdin', 'PASS'], { input: 'open-sesame-please\n' }),
  ).toMatchObject({ code: 0 })
  expect(await skein(['run', app, '--thread', 't2'])).toMatchObject({
    code: 0,
    stdout: 'owner: boss: [courier-1] fetched\n',
  })
})
