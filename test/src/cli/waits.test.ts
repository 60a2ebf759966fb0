/** `skein run` ends when everything rests or waits for people, and goes on with its own thread alone. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { app as plain, fixture, objects, place } from './binary.js'

const app = fixture('waits')

/** The models of the fixture run in this process and look for this file. */
function gateIn(folder: string): { open(): void } {
  const file = join(folder, 'gate')
  process.env['GATE_FILE'] = file
  process.env['NODE_GATE_FILE'] = file
  onTestFinished(() => {
    delete process.env['GATE_FILE']
    delete process.env['NODE_GATE_FILE']
  })
  return { open: () => writeFileSync(file, '') }
}

it('C1: a turn that waits for a person does not end the command while a child that nobody waits for is at work', async () => {
  const { folder, startHere } = place()
  const gate = gateIn(folder)
  const run = startHere(['run', app, '--agent', 'mixed', '--thread', 't1', 'go'])
  await run.says('‖ refund waits for approval')
  gate.open()
  const { code, stderr } = await run.ended
  expect(code).toBe(3)
  expect(stderr).toMatch(/✓ slow-1 /)
  expect(stderr).toMatch(/\n {2}skein approve t1\/call_1_1/)
})

it('C1: after an answer that was given without a host, the command waits for the child that goes on', async () => {
  const { skein } = place()
  expect(await skein(['run', app, '--agent', 'backer', '--thread', 't1', 'go'])).toMatchObject({ code: 3 })
  const [{ items } = {}] = objects((await skein(['inbox', '--json'])).stdout)
  const [{ id }] = items as readonly [{ readonly id: string }]
  expect(await skein(['answer', id, '"blue"'])).toMatchObject({ code: 0 })
  const went = await skein(['run', app, '--thread', 't1'])
  expect(went).toMatchObject({ code: 0, stdout: 'heard it\n' })
  expect(went.stderr).not.toContain('nothing is outstanding')
})

it('C1: the command goes on with its own thread alone and says how many others are unfinished; --all goes on with them', async () => {
  const { folder, host, skein } = place()
  const gate = gateIn(folder)
  const here = await host()
  const other = await here.threads.create({ agent: 'gated', id: 'other' })
  await other.send('go').accepted()
  await here.close()
  gate.open()
  const own = await skein(['run', plain, '--agent', 'echo', '--thread', 'own', 'hello'])
  expect(own).toMatchObject({ code: 0, stdout: 'you said: hello\n' })
  expect(own.stderr).toContain('1 other thread of this store has unfinished work; this leaves it alone (skein host ')
  // It was left before its model had answered, or after that.
  expect(['thinking', 'acting']).toContain(objects((await skein(['show', 'other', '--json'])).stdout)[0]?.['status'])
  expect(await skein(['run', plain, '--agent', 'echo', '--thread', 'own', '--all', 'again'])).toMatchObject({
    code: 0,
    stderr: expect.not.stringContaining('unfinished'),
  })
  expect(await skein(['run', plain, '--thread', 'other'])).toMatchObject({ code: 0 })
  expect(objects((await skein(['show', 'other', '--json'])).stdout)[0]).toMatchObject({ status: 'idle' })
})

it('C1, O2: the last line has what the whole tree has cost, and the share of the thread itself', async () => {
  const { skein } = place()
  const { stderr } = await skein(['run', app, '--agent', 'costly', 'go'])
  expect(stderr).toMatch(
    /completed · 2 steps · 8 in \/ 2 out tokens · \$8\.0000, of which its own: 2 in \/ 2 out tokens · \$2\.0000 · /,
  )
  const { stdout } = await skein(['run', app, '--agent', 'costly', '--json', 'go'])
  expect(objects(stdout).at(-1)).toMatchObject({
    type: 'run.ended',
    usage: { inputTokens: 2, costUsd: 2 },
    subtree: { inputTokens: 8, costUsd: 8 },
  })
})
