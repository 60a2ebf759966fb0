/** Threads made from the command line with files, budgets and limits, and messages with attachments. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { app, fixture, objects, place } from './binary.js'

it('C1: run starts a thread with files, a budget and limits, and a message with attachments', async () => {
  const { folder, skein } = place()
  const brief = join(folder, 'brief.md')
  writeFileSync(brief, 'a brief')
  const { code, stdout } = await skein([
    'run',
    app,
    '--agent',
    'echo',
    '--thread',
    't1',
    '--file',
    `/in/brief.md=${brief}`,
    '--attach',
    brief,
    '--budget',
    'tokens=1000',
    '--limit',
    'maxSteps=5',
    '--workers',
    '1',
    'hello',
  ])
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'you said: hello\n\n[attached: /attachments/brief.md]\n' })
  expect((await skein(['files', 'cat', 't1', '/in/brief.md'])).stdout).toBe('a brief')
  expect((await skein(['files', 'cat', 't1', '/attachments/brief.md'])).stdout).toBe('a brief')
  expect(objects((await skein(['show', 't1', '--json'])).stdout)[0]).toMatchObject({
    usage: { budget: { left: { tokens: 985 } } },
  })
  expect(await skein(['run', app, '--agent', 'helper', '--limit', 'maxSteps=1', 'go'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('max_steps'),
  })
})

it('C1, F5: files alone are a message, of run and of send', async () => {
  const { folder, skein, host } = place()
  const file = join(folder, 'a.txt')
  writeFileSync(file, 'a')
  const ran = await skein(['run', app, '--agent', 'echo', '--thread', 't1', '--attach', file])
  expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('[attached: /attachments/a.txt]') })
  const here = await host()
  expect(await skein(['send', 't1', '--attach', file, '--wait'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('[attached: /attachments/a-2.txt]'),
  })
  await here.close()
})

it('C1: create makes a thread without a turn; without a host it is kept; send takes attachments', async () => {
  const { folder, host, skein } = place()
  const file = join(folder, 'a.txt')
  writeFileSync(file, 'text')
  const here = await host()
  expect(
    await skein([
      'create',
      'echo',
      '--thread',
      't1',
      '--tag',
      'x',
      '--file',
      `/a.txt=${file}`,
      '--budget',
      'costUsd=2',
    ]),
  ).toMatchObject({ code: 0, stdout: 't1\n' })
  expect(objects((await skein(['show', 't1', '--json'])).stdout)[0]).toMatchObject({
    status: 'idle',
    tags: ['x'],
    messages: [],
  })
  expect(await skein(['send', 't1', 'hello', '--attach', file, '--wait'])).toMatchObject({
    code: 0,
    stdout: 'you said: hello\n\n[attached: /attachments/a.txt]\n',
  })
  await here.close()
  const kept = await skein(['create', 'echo', '--json'])
  const [value] = objects(kept.stdout)
  expect(value).toMatchObject({ state: 'kept', thread: expect.stringMatching(/^t-/) })
  expect(await skein(['run', app, '--thread', String(value?.['thread']), '--agent', 'echo', 'hi'])).toMatchObject({
    code: 0,
    stdout: 'you said: hi\n',
  })
})

it('C1: --worker-env names variables of the environment that the app reads in workers, for run, host and doctor', async () => {
  const { spawned, start } = place()
  const needs = fixture('needs-env')
  const env = { DATABASE_HOST: 'db.example', OTHER: 'other' }
  expect(await spawned(['run', needs, 'go'], { env })).toMatchObject({
    code: 4,
    stderr: expect.stringMatching(/DATABASE_HOST is not set.*--worker-env/),
  })
  expect(await spawned(['run', needs, '--worker-env', 'DATABASE_HOST', 'go'], { env })).toMatchObject({
    code: 0,
    stdout: 'db.example and nothing else\n',
  })
  expect(await spawned(['run', needs, '--worker-env', 'inherit', 'go'], { env })).toMatchObject({
    code: 0,
    stdout: 'db.example and other\n',
  })
  expect(await spawned(['doctor', needs], { env })).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/fail {2}workers .*--worker-env/),
  })
  expect(await spawned(['doctor', needs, '--worker-env', 'DATABASE_HOST'], { env })).toMatchObject({ code: 0 })
  const host = start(['host', needs, '--worker-env', 'DATABASE_HOST', '--worker-env', 'OTHER'], { env })
  await host.says('serving')
  expect(await spawned(['run', needs, '--agent', 'clerk', 'go'], { env })).toMatchObject({
    code: 0,
    stdout: 'db.example and other\n',
  })
  host.child.kill('SIGINT')
  expect(await host.ended).toMatchObject({ code: 130 })
})

it.each([
  [
    ['run', app, '--agent', 'echo', '--limit', 'maxStep=5', 'x'],
    /--limit: there is no option "maxStep"; did you mean "maxSteps"/,
  ],
  [['run', app, '--agent', 'echo', '--limit', 'maxSteps', 'x'], /--limit maxSteps: give a name and a number/],
  [['run', app, '--agent', 'echo', '--budget', 'coins=5', 'x'], /coins/],
  [['run', app, '--agent', 'echo', '--workers', 'many', 'x'], /--workers many: give a whole number/],
  [['run', app, '--agent', 'echo', '--workers', '0', 'x'], /--workers 0: give a whole number of threads, from 1 up/],
  [
    ['run', app, '--agent', 'echo', '--worker-env', 'NO_SUCH_NAME', 'x'],
    /--worker-env NO_SUCH_NAME: the environment has no NO_SUCH_NAME/,
  ],
  [
    ['run', app, '--agent', 'echo', '--worker-env', 'PLACE=here', 'x'],
    /--worker-env PLACE=here: give a name alone.*--env PLACE=here/,
  ],
  [['run', app, '--agent', 'echo', '--attach', '/no/such', 'x'], /--attach \/no\/such cannot be read/],
  [['run', app, '--agent', 'echo', '--file', 'brief.md', 'x'], /--file brief\.md: give the path in the thread/],
  [['run', app, '--agent', 'echo', ' '], /the message is empty/],
  [['send', 't1', ''], /the message is empty/],
  [['send', 't1'], /the message is empty; give it a text, or files with --attach/],
])('C1: bad input ends with exit code 4 and says what to give: %j', async (args, words) => {
  const { skein } = place()
  const { code, stderr } = await skein(args)
  expect(code).toBe(4)
  expect(stderr).toMatch(words)
  expect((await skein(['ps', '--all', '--json'])).stdout).not.toContain('"thread"')
})

it('C1: with one agent a thread is made by its id alone; one that was created without a host goes on; else the agent is asked for', async () => {
  const { skein } = place()
  const single = fixture('single')
  expect(await skein(['run', single, '--thread', 't1', 'hi'])).toMatchObject({ code: 0 })
  expect(await skein(['create', 'echo', '--thread', 'kept', '--tag', 'early'])).toMatchObject({ code: 0 })
  const refused = await skein(['run', app, '--thread', 'kept', 'hi'])
  expect(refused.code).toBe(4)
  expect(refused.stderr).toMatch(/name its agent with --agent <name> \(the app has: .*echo/)
  const went = await skein(['run', app, '--thread', 'kept', '--agent', 'echo', 'hi'])
  expect(went).toMatchObject({ code: 0, stdout: 'you said: hi\n', stderr: expect.not.stringContaining('unfinished') })
  expect(objects((await skein(['show', 'kept', '--json'])).stdout)[0]).toMatchObject({ tags: ['early'] })
})

it('C1: chat in a pipe has the words of the agent alone on stdout', async () => {
  const { skein } = place()
  expect(await skein(['chat', app, '--agent', 'echo'], { input: 'one\ntwo\n' })).toMatchObject({
    code: 0,
    stdout: 'you said: one\nyou said: two\n',
  })
})
