/**
 * Agents that call agents, on the command line: how a turn shows its children, stands still for them, and `skein tree`.
 */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createSkein, local } from '../../../src/index.js'
import { turn } from '../../helpers/deferred.js'
import { binary, fixture, launch, objects, place } from './binary.js'

const app = fixture('family')
const asked = (stderr: string, command: string): string => new RegExp(`skein ${command} (\\S+)`).exec(stderr)?.[1] ?? ''

describe('a turn with children', () => {
  it('C1: a line when a child begins and when it ends, those of its own children too; stdout has the words of the agent alone', async () => {
    const { spawned } = place()
    const { code, stdout, stderr } = await spawned(['run', app, '--agent', 'lead', 'go'])
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'I ask the others.\ngot wrote a, seen & boss of wrote c, seen\n',
    })
    const lines = stderr.split('\n').map((line) => line.replace(/ \d+ ms| [\d.]+ s/, ' …'))
    for (const line of [
      '→ writer-1 {"message":"a"}',
      '· writer-1 › look: looking',
      '✓ writer-1 …',
      '→ boss-1 {"message":"b"}',
      '→ boss-1 › writer-1 {"message":"c"}',
      '· boss-1 › writer-1 › look: looking',
      '✓ boss-1 › writer-1 …',
      '✓ boss-1 …',
    ]) {
      expect(
        lines.filter((each) => each === line),
        line,
      ).toHaveLength(1)
    }
    expect(lines.indexOf('✓ boss-1 › writer-1 …')).toBeLessThan(lines.indexOf('✓ boss-1 …'))
    // What a child calls and says is for its parent.
    expect(stderr).not.toMatch(/→ look|→ .*› look|✓ look/)
  })

  it('C1, R2: --json has the events of all threads of the tree, then what the run came to', async () => {
    const { skein } = place()
    const { stdout } = await skein(['run', app, '--json', '--agent', 'lead', '--thread', 't1', 'go'])
    const events = objects(stdout)
    const paths = events.filter(({ type }) => type === 'turn.ended').map(({ path }) => path as readonly string[])
    expect(paths.map(({ length }) => length).toSorted()).toEqual([1, 2, 2, 3])
    expect(paths.at(-1)).toEqual(['t1'])
    expect(events.at(-1)).toMatchObject({ type: 'run.ended', thread: 't1', steps: 2, stopReason: 'completed' })
  })

  it('C1, S13: Ctrl-C keeps the tree; the command that is named goes on with it', async () => {
    const { folder, env, start } = place()
    const gate = { GATE_FILE: join(folder, 'gate') }
    const run = start(['run', app, '--agent', 'lead', '--thread', 't1', 'go'], { env: gate })
    await run.says('→ boss-1 › writer-1')
    run.child.kill('SIGINT')
    const { code, stderr } = await run.ended
    expect(code).toBe(130)
    const command = /the turn is kept; go on with: (.*)\n$/.exec(stderr)?.[1] ?? ''
    writeFileSync(gate.GATE_FILE, '')
    const resumed = await launch(
      'sh',
      ['-c', `skein() { '${process.execPath}' '${binary}' "$@"; }; ${command} < /dev/null`],
      { env: { ...env, ...gate } },
    ).ended
    expect(resumed).toMatchObject({ code: 0, stdout: 'I ask the others.\ngot wrote a, seen & boss of wrote c, seen\n' })
  })

  it('C1, A4: when all that is left waits for people, also in children, it exits 3 and says what to type; what is typed is kept, and the next run goes on', async () => {
    const { skein } = place()
    const waits = await skein(['run', app, '--agent', 'editor', '--thread', 't1', 'go'])
    expect(waits.code).toBe(3)
    expect(waits.stderr).toMatch(/✓ publisher-1 /)
    expect(waits.stderr).toContain('‖ publisher-2 › publish waits for approval: Shall it be public?\n')
    expect(waits.stderr).toMatch(
      /\n‖ waits for approval · 1 step · .*\n(?:publisher-[23] › publish {} waits for approval: Shall it be public\?\n {2}skein approve \S+.*\n {2}skein deny \S+.*\n){2}then go on with: .* --thread t1/,
    )
    expect((await skein(['inbox'])).stdout).toMatch(/\n {2}t1 › publisher-2\n {2}Shall it be public\?\n/)
    expect(await skein(['run', app, '--thread', 't1'])).toMatchObject({ code: 3 })

    expect(await skein(['approve', asked(waits.stderr, 'approve')])).toMatchObject({ code: 0 })
    const other = await skein(['run', app, '--thread', 't1'])
    expect(other.code).toBe(3)
    expect(await skein(['deny', asked(other.stderr, 'deny'), '--comment', 'no'])).toMatchObject({ code: 0 })
    const done = await skein(['run', app, '--thread', 't1'])
    expect(done.code).toBe(0)
    expect(done.stdout).toMatch(/published: not x & (?=.*published)(?=.*TOOL_DENIED)/)
  })

  it('C1, S1: it does not end while children are at work that nobody waits for; what they say is shown', async () => {
    const { skein } = place()
    const { code, stdout } = await skein(['run', app, '--agent', 'starter', '--thread', 't1', 'go'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'meanwhile\nheard [writer-1] wrote a, seen\n' })
    expect((await skein(['tree', 't1'])).stdout).toMatch(/\n {2}writer-1 +writer +done /)
  })

  it('C1: a child that was paused is named, and how to resume it', async () => {
    const { skein, store } = place()
    const host = await createSkein({ app, backend: local(store) })
    const lead = await host.threads.create({ agent: 'editor', id: 't1' })
    await lead.send('go').accepted()
    const children = async () => (await host.threads.list({ parent: 't1', status: 'awaiting_approval' })).threads
    for await (const items of host.inbox.watch({ root: 't1' })) if (items.length === 2) break
    for (const { thread } of await children()) await (await host.threads.get(thread)).pause()
    await host.close()
    const { code, stderr } = await skein(['run', app, '--thread', 't1'])
    expect(code).toBe(3)
    expect(stderr).toMatch(/\n‖ paused · .*\n(?:.*\n)*a child is paused\n {2}skein resume c_\S+/)
    expect(await skein(['resume', asked(stderr, 'resume')])).toMatchObject({ code: 0 })
    expect((await skein(['run', app, '--thread', 't1'])).stderr).toContain('‖ waits for approval')
  })

  // `script` of util-linux is what gives a process a terminal without a native module.
  it.skipIf(!existsSync('/usr/bin/script'))(
    'C1: on a terminal children are below the turn: one line for all, then those that there is room for',
    async () => {
      const { env } = place()
      const command = `stty rows 8 cols 30; '${process.execPath}' '${binary}' run '${app}' --agent crowd --thread t1 go`
      const { code, stdout } = await launch('/usr/bin/script', ['-qec', command, '/dev/null'], {
        env: { ...env, TERM: 'xterm', NO_COLOR: '1' },
      }).ended
      expect(code).toBe(0)
      expect(stdout).toMatch(/▱{12} 0 of 12 done[^\r]*\r\n(?:[◐◓◑◒] guest-\d+ “\d+”[^\r]*\r\n){4}… and \d+ more\r\n/)
      const done = stdout.split('\r\n').flatMap((line) => /✓ guest-\d+ .*/.exec(line) ?? [])
      expect(done).toHaveLength(12)
      // The time is seen, and what does not fit is cut, not wrapped.
      for (const line of done) expect(line).toMatch(/^✓ guest-\d+ [\d.]+ m?s \{"mes.*$/)
      for (const line of done) expect(line.length).toBeLessThan(30)
      expect(stdout).toMatch(/all came\r\n✓ completed/)
    },
  )
})

it('C1: ps counts children with their roots, and shows them below with --children', async () => {
  const { skein, store } = place()
  const host = await createSkein({ app, backend: local(store) })
  await (await host.threads.create({ agent: 'editor', id: 't1' })).send('go').accepted()
  await (await host.threads.create({ agent: 'writer', id: 't2' })).send('go').result()
  for await (const items of host.inbox.watch({ root: 't1' })) if (items.length === 2) break
  await (await host.threads.get('t1')).settled({ tree: true })
  const { stdout } = await skein(['ps'])
  expect(stdout).toMatch(
    /^THREAD +STATUS +AGENT +UPDATED +TAGS +CHILDREN\nt1 +waiting +editor .* 2\nt2 +idle +writer [^\n]*\n$/,
  )
  expect((await skein(['ps', '--children'])).stdout).toMatch(
    /\nt1 +waiting .*\n {2}publisher-2 c_\S+ +awaiting_approval .*\n {2}publisher-3 c_\S+ +awaiting_approval .*\nt2 /,
  )
  expect((await skein(['ps', '--status', 'awaiting_approval'])).stdout.match(/\nc_/g)).toHaveLength(2)
  await host.close()
})

it('C1, S12: show says which children a thread waits for, how many and since when', async () => {
  const { skein, store } = place()
  const host = await createSkein({ app, backend: local(store), limits: { maxParallelChildren: 1 } })
  await (await host.threads.create({ agent: 'editor', id: 't1' })).send('go').accepted()
  for await (const items of host.inbox.watch({ root: 't1' })) if (items.length === 1) break
  const { stdout } = await skein(['show', 't1'])
  expect(stdout).toMatch(
    /\nwaits +for 2 children\n +publisher-2 since \d{4}-\d\d-\d\d [\d:]+ · c_\S+\n +publisher-3 in line, place 1 · c_/,
  )
  const [{ waitsFor } = {}] = objects((await skein(['show', 't1', '--json'])).stdout)
  expect(waitsFor).toMatchObject([
    { reference: 'publisher-2', status: 'working', since: expect.any(Number) },
    { reference: 'publisher-3', status: 'in line', place: 1 },
  ])
  await host.close()
})

describe('skein tree', () => {
  it('C1, S12: names, agents, what each does and waits for, and who waits in line', async () => {
    const { skein, spawned, store } = place()
    const host = await createSkein({ app, backend: local(store), limits: { maxParallelChildren: 1 } })
    await (await host.threads.create({ agent: 'editor', id: 't1' })).send('go').accepted()
    for await (const items of host.inbox.watch({ root: 't1' })) if (items.length === 1) break
    const { code, stdout, stderr } = await spawned(['tree', 't1'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.replace(/c_\S+/, 'c_…').replace(/ {3,}/g, '   '))
    expect(rows).toEqual([
      expect.stringMatching(/^TREE +AGENT +STATUS +WAITS FOR +SPENT +THREAD$/),
      expect.stringMatching(/^t1 +editor +waiting +1 child +0 \/ 0 +t1$/),
      expect.stringMatching(/^ +publisher-1 +publisher +done +0 \/ 0 +c_…$/),
      expect.stringMatching(/^ +publisher-2 +publisher +awaiting_approval +approval: publish +0 \/ 0 +c_…$/),
      expect.stringMatching(/^ +publisher-3 +publisher +in line +its turn: place 1 of 1$/),
    ])
    const [tree] = objects((await skein(['tree', 't1', '--json'])).stdout)
    expect(tree).toMatchObject({
      thread: 't1',
      threads: [
        { thread: 't1', status: 'waiting' },
        { reference: 'publisher-1', parent: 't1', status: 'done' },
        { reference: 'publisher-2', pending: [{ tool: 'publish' }] },
      ],
      inLine: [{ parent: 't1', reference: 'publisher-3', agent: 'publisher', place: 1 }],
      hosted: true,
    })
    await host.close()
    const child = /publisher-2.* (c_\S+)/.exec(stdout)?.[1] ?? ''
    expect((await skein(['tree', child])).stdout).toMatch(/^TREE .*\npublisher-2 +publisher +awaiting_approval .*\n$/)
  })

  it('C1: a child that failed is told from one that answered; what is over takes no message, also without a host', async () => {
    const { skein, store } = place()
    const host = await createSkein({ app, backend: local(store) })
    await (await host.threads.create({ agent: 'chief', id: 't1' })).send('go').result()
    await host.close()
    const { stdout } = await skein(['tree', 't1'])
    expect(stdout).toMatch(/\n {2}broken-1 +broken +done \(failed\) .*\n {2}writer-1 +writer +done +\d/)
    const [, { failure }] = (
      objects((await skein(['tree', 't1', '--json'])).stdout)[0] as { threads: [object, { failure: object }] }
    ).threads
    expect(failure).toMatchObject({ code: 'CHILD_FAILED' })
    const child = /broken-1.* (c_\S+)/.exec(stdout)?.[1] ?? ''
    expect((await skein(['show', child])).stdout).toMatch(/\nstatus +done\nfailure +MODEL_REJECTED: out of order\n/)
    expect(await skein(['send', child, 'hello?'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('is done and takes no more messages'),
    })
  })

  it('C1, O2: what each has spent with all below it; show says it by model', async () => {
    const { skein, store } = place()
    const host = await createSkein({ app, backend: local(store) })
    await (await host.threads.create({ agent: 'lead', id: 't1' })).send('go').result()
    await host.close()
    const rows = (await skein(['tree', 't1'])).stdout.replace(/c_\S+/g, 'c_…').split('\n')
    expect(rows[1]).toMatch(/^t1 +lead +idle +14 \/ 6 +t1$/)
    expect(rows).toContainEqual(expect.stringMatching(/^ {2}boss-1 +boss +done +5 \/ 2 +c_…$/))
    expect((await skein(['show', 't1'])).stdout).toMatch(
      /spent +4 in \/ 2 out tokens\nsubtree +14 in \/ 6 out tokens\n +lead: 4 in \/ 2 out tokens\n +writer: 10 in \/ 4 out tokens\n/,
    )
    expect(objects((await skein(['tree', 't1', '--json'])).stdout)[0]).toMatchObject({
      threads: [{ thread: 't1', usage: { inputTokens: 14 } }, {}, {}, {}],
    })
  })

  it('C1, S2: a child that stays has the name that it was given', async () => {
    const { skein, store } = place()
    const host = await createSkein({ app, backend: local(store) })
    await (await host.threads.create({ agent: 'keeper', id: 't1' })).send('go').result()
    await host.close()
    expect((await skein(['tree', 't1'])).stdout).toMatch(/\n {2}publisher-1 \(Ann\) +publisher +idle /)
    expect(await skein(['tree', 'nothing'])).toMatchObject({
      code: 4,
      stderr: 'skein: there is no thread "nothing" in this store\n',
    })
  })
})

describe('skein dead', () => {
  it('C1, B5: lists children that failed for good; each is tried again or dropped', async () => {
    const { skein, store } = place()
    const host = await createSkein({ app, backend: local(store) })
    await (await host.threads.create({ agent: 'boldlead', id: 't1' })).send('go').result()
    const { code, stdout } = await skein(['dead', '--root', 't1'])
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^ID +AGENT +ATTEMPTS +SINCE +MESSAGE +FAILURE\nt1\/bold-1 +bold +2 +\S+ \S+ +x +.*CHILD_FAILED.*\n$/,
    )
    expect(await skein(['dead', 'requeue', 't1/bold-1'])).toMatchObject({ code: 0, stdout: 'it is tried again\n' })
    for (let letters = 0; letters === 0; await turn()) letters = (await host.deadLetters.list()).length
    expect(objects((await skein(['dead', '--json'])).stdout)[0]).toMatchObject({
      letters: [{ id: 't1/bold-1', attempts: 4 }],
    })
    expect(await skein(['dead', 'drop', 't1/bold-1'])).toMatchObject({ code: 0, stdout: 'dropped\n' })
    expect(await skein(['dead'])).toMatchObject({ code: 0, stderr: 'no child failed for good\n' })
    expect(await skein(['dead', 'drop', 't1/bold-1'])).toMatchObject({ code: 4 })
    await host.close()
  })
})
