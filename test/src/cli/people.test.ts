/** Turns that wait for people: how `run` says so, and how what they wait for is found, decided and given. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Run, Skein } from '../../../src/index.js'
import { binary, fixture, launch, objects, place } from './binary.js'

const app = fixture('people')

/** A thread whose turn waits. */
async function waitingIn(host: Skein, agent: string, id: string): Promise<Run> {
  const thread = await host.threads.create({ agent, id })
  const run = thread.send('go')
  await run.accepted()
  await thread.settled()
  return run
}

const keptNote = 'kept; will be carried out when a host opens the store\n'

describe('without a host', () => {
  const seeded = async () => {
    const own = place()
    const host = await own.host(app)
    await waitingIn(host, 'pair', 't1')
    await waitingIn(host, 'asker', 't2')
    await host.close()
    return own
  }

  it('C1, P4: what waits in a fork says so in inbox, approve and ps', async () => {
    const { host: open, skein } = place()
    const host = await open(app)
    const source = await host.threads.create({ agent: 'clerk', id: 'source' })
    await source.fork({ id: 'other' })
    await waitingIn(host, 'clerk', 'other')
    await host.close()
    expect((await skein(['inbox'])).stdout).toMatch(/\nother\/call_1_0 .*\n {2}fork of source\n/)
    expect((await skein(['inbox', '--full'])).stdout).toMatch(/^other\/call_1_0: refund\n {2}fork of source\n/)
    expect((await skein(['approve', 'other/call_1_0'])).stderr).toContain('fork of source')
    const { stdout } = await skein(['ps'])
    expect(stdout).toMatch(/^THREAD .* FORK OF\n/)
    expect(stdout).toMatch(/\nother .* source\n/)
  })

  it('C1, A1: a turn that waits for approval exits 3 and says what to type; what is typed is kept, and the next run goes on', async () => {
    const { folder, store, env, spawned } = place()
    const count = { NODE_COUNT_FILE: join(folder, 'count') }
    const waits = await spawned(['run', app, '--agent', 'clerk', '--thread', 't1', 'go'], { env: count })
    expect(waits).toMatchObject({ code: 3, stdout: '' })
    expect(waits.stderr).toMatch(
      /→ refund {"amount":7}\n‖ refund waits for approval: Really give it back\?\n→ lookup {}\n✓ lookup [\d.]+ m?s\n‖ waits for approval · 1 step · /,
    )
    const [approve, deny, goOn] = waits.stderr.trimEnd().split('\n').slice(-3)
    expect([approve, deny]).toEqual([
      `  skein approve t1/call_1_0 --store ${store}`,
      `  skein deny t1/call_1_0 --store ${store}`,
    ])
    expect(await spawned(['run', app, '--thread', 't1'], { env: count })).toMatchObject({ code: 3 })

    const typed = (line = '') =>
      launch('sh', ['-c', `skein() { '${process.execPath}' '${binary}' "$@"; }; ${line} < /dev/null`], {
        env: { ...env, ...count },
      }).ended
    expect(await typed(`${approve} --by ann`)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(new RegExp(`^t1/call_1_0: refund\\n {2}args [^]*${keptNote}$`)),
    })
    const done = await typed(goOn?.replace('then go on with: ', ''))
    expect(done).toMatchObject({ code: 0, stdout: '{"refunded":7} & found\n' })
    expect(done.stderr).toMatch(/→ refund approved by ann\n✓ refund [\d.]+ m?s\n✓ completed/)
    expect(readFileSync(count.NODE_COUNT_FILE, 'utf8')).toBe('lookup 7 ')
  })

  it('Ctrl-C at a turn that then waits for someone tells how it goes on once', async () => {
    const { folder, start } = place()
    const gate = join(folder, 'gate')
    const run = start(['run', app, '--agent', 'porter', '--thread', 't1', 'go'], { env: { NODE_GATE_FILE: gate } })
    await run.says('· pass: at the gate')
    run.child.kill('SIGINT')
    await run.says('stopping')
    writeFileSync(gate, '')
    const { code, stderr } = await run.ended
    expect(code).toBe(130)
    expect(stderr).toMatch(/stopping.*\n✓ pass /)
    expect(stderr.match(/go on with: skein run \S+ --thread t1/g)).toHaveLength(1)
  })

  it('C1: --json has what the turn waits for in its last line, and no advice', async () => {
    const { skein } = place()
    const { code, stdout, stderr } = await skein(['run', app, '--json', '--agent', 'pair', '--thread', 't1', 'go'])
    expect({ code, stderr }).toEqual({ code: 3, stderr: '' })
    expect(objects(stdout).at(-1)).toMatchObject({
      type: 'run.ended',
      standstill: 'awaiting_approval',
      pending: [
        {
          id: 't1/call_1_0',
          call: 'call_1_0',
          why: 'approval',
          tool: 'refund',
          args: { amount: 1 },
          prompt: 'Really\ngive it back?',
          defaults: { amount: 5 },
          deadlineAt: expect.any(Number),
        },
        { id: 't1/call_1_1', why: 'person', tool: 'ask' },
      ],
      exitCode: 3,
    })
    const [{ items, hosted } = {}] = objects((await skein(['inbox', '--json'])).stdout)
    expect({ items, hosted }).toMatchObject({
      items: [{ id: 't1/call_1_0', thread: 't1', path: ['t1'], agent: 'pair' }, { id: 't1/call_1_1' }],
      hosted: false,
    })
  })

  it('C1: inbox, ps and show tell what waits', async () => {
    const { skein } = await seeded()
    const { stdout } = await skein(['inbox'])
    expect(stdout).toMatch(
      /^ID +WAITS FOR +TOOL +ARGS +SINCE +DEADLINE\nt1\/call_1_0 +approval +refund +{"amount":1} +[\d: -]+ {2}[\d: -]+\n {2}Really give it back\?\n {2}defaults {"amount":5}\nt1\/call_1_1 +person +ask +{"question":"why\?"} +[\d: -]+\nt2\/call_1_0 .*\n$/,
    )
    expect((await skein(['inbox', '--thread', 't2'])).stdout).not.toContain('t1/')
    expect((await skein(['inbox', '--root', 't1'])).stdout).not.toContain('t2/')
    expect((await skein(['ps', '--status', 'awaiting_human'])).stdout).toMatch(/\nt2 +awaiting_human +asker /)
    expect((await skein(['show', 't2'])).stdout).toMatch(
      /\nwaits +ask {"question":"why\?"} waits for an answer\n +skein answer t2\/call_1_0 --store .* …\n/,
    )
    expect(await skein(['cancel', 't2'])).toMatchObject({ code: 0 })
    await skein(['run', app, '--thread', 't2'])
    expect(await skein(['inbox', '--thread', 't2'])).toEqual({
      code: 0,
      stdout: '',
      stderr: 'nothing waits for anyone\n',
    })
  })

  it('C1: a decision that was kept and is refused by the host is told by the run that opens the store', async () => {
    const { skein } = await seeded()
    expect(await skein(['approve', 't1/call_1_0', '--args', '{"amount":"three"}'])).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(new RegExp(` {2}runs with {\\n {4}"amount": "three"\\n {2}}\\n${keptNote}$`)),
    })
    const { code, stderr } = await skein(['run', app, '--thread', 't1'])
    expect(code).toBe(3)
    expect(stderr).toMatch(/^skein: thread t1 refused a command that was kept for it: .*amount/m)
  })

  it('C1: what the store can tell is wrong is not kept: exit 4', async () => {
    const { skein } = await seeded()
    const refused = async (says: string, ...args: readonly string[]) => {
      const { code, stdout, stderr } = await skein(args)
      expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
      expect(stderr).toContain(says)
      expect(stderr.trimEnd().split('\n')).toHaveLength(1)
    }
    await refused('"call_1_0" is no id of a call; one looks like t1/call_1_0', 'approve', 'call_1_0')
    await refused('there is no thread "nothing"', 'deny', 'nothing/call_1_0')
    await refused('t1/call_1_7 waits for nothing', 'approve', 't1/call_1_7')
    await refused(
      't1/call_1_1 waits for an answer, not for approval: skein answer t1/call_1_1',
      'approve',
      't1/call_1_1',
    )
    await refused(
      't1/call_1_0 waits for approval, not for an answer: skein approve t1/call_1_0',
      'answer',
      't1/call_1_0',
      'x',
    )
    await refused('--args is not JSON: ', 'approve', 't1/call_1_0', '--args', '{amount: 1}')
    await refused('there is no thread "nothing"', 'inbox', '--thread', 'nothing')
    await refused("cannot be used with option '--thread", 'inbox', '--thread', 't1', '--root', 't1')
  })
})

describe('with a host in another process', () => {
  const { host: open, skein, start } = place(afterAll)
  let host: Skein

  beforeAll(async () => {
    host = await open(app)
  })
  afterAll(() => host.close())

  const waiting = (agent: string, id: string): Promise<Run> => waitingIn(host, agent, id)

  it('C1, A1: approve --wait shows the turn to its end; a second decision exits 4', async () => {
    await waiting('clerk', 'yes')
    const { code, stdout, stderr } = await skein(['approve', 'yes/call_1_0', '--wait', '--comment', 'fine'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"refunded":7} & found\n' })
    expect(stderr).toContain('✓ completed · 2 steps')
    expect(await skein(['deny', 'yes/call_1_0'])).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringContaining('it was decided, answered or ended before'),
    })
    expect(await skein(['approve', 'yes/call_9_0'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('has no call call_9_0'),
    })
  })

  it('C1, A1: deny says why to the model, and the call never runs', async () => {
    const run = await waiting('clerk', 'no')
    expect(await skein(['deny', 'no/call_1_0', '--by', 'ann', '--comment', 'too much'])).toEqual({
      code: 0,
      stdout: 'denied\n',
      stderr: '',
    })
    expect(await run.text()).toMatch(/refund was not allowed by ann: too much; it was not run.* & found/)
    expect((await skein(['tail', 'no', '--no-follow'])).stdout).toContain('✗ refund denied by ann: too much\n')
  })

  it('C1, A1: approve with other args checks them again: exit 4 leaves the call waiting', async () => {
    const run = await waiting('clerk', 'less')
    const bad = await skein(['approve', 'less/call_1_0', '--args', '{"amount":"three"}'])
    expect(bad).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('amount') })
    expect(objects((await skein(['approve', 'less/call_1_0', '--args', '{"amount":3}', '--json'])).stdout)).toEqual([
      { id: 'less/call_1_0', thread: 'less', state: 'accepted', tool: 'refund', args: { amount: 3 } },
    ])
    expect(await run.text()).toContain('{"refunded":3}')
    expect((await skein(['tail', 'less', '--no-follow'])).stdout).toContain(
      '→ refund approved with other args {"amount":3}\n',
    )
  })

  it.each([
    ['json', ['{"a":1}'], '{"a":1}'],
    ['words', ['because'], 'because'],
    ['forced', ['12', '--text'], '12'],
    ['piped', ['-'], 'two\nlines'],
  ])('C1, A3: answer gives %s', async (id, given, read) => {
    const run = await waiting('asker', id)
    expect(await skein(['answer', `${id}/call_1_0`, ...given], { input: 'two\nlines\n' })).toEqual({
      code: 0,
      stdout: 'answered\n',
      stderr: '',
    })
    expect(await run.text()).toBe(read)
    const [result] = await run.toolCalls()
    expect(typeof (result?.outcome?.ok && result.outcome.value)).toBe(read.startsWith('{') ? 'object' : 'string')
  })

  it('C1, A3: an answer that does not fit exits 4, and another may be given', async () => {
    const run = await waiting('chooser', 'picky')
    expect(await skein(['answer', 'picky/call_1_0', 'tea'])).toMatchObject({
      code: 4,
      stdout: '',
      stderr: expect.stringContaining('does not fit'),
    })
    expect(await skein(['answer', 'picky/call_1_0', '{"choice":"tea"}', '--by', 'ann'])).toMatchObject({ code: 0 })
    expect(await run.text()).toBe('{"choice":"tea"}')
  })

  it('C1, A3: a question is declined with deny, and the model reads who and why', async () => {
    const run = await waiting('asker', 'shy')
    expect(await skein(['deny', 'shy/call_1_0', '--by', 'ann', '--comment', 'too private'])).toMatchObject({
      code: 0,
      stdout: 'denied\n',
    })
    expect(await run.text()).toContain('ask has no answer: it was declined by ann: too private; go on without it')
  })

  it('C1, A2: with --wait a turn that waits again exits 3 and says for what, after all that it has done', async () => {
    await waiting('pair', 'both')
    const first = await skein(['answer', 'both/call_1_1', 'so', '--wait'])
    expect(first).toMatchObject({ code: 3, stdout: '' })
    expect(first.stderr).toMatch(
      /→ ask answered\n✓ ask .*‖ waits for approval .*\nrefund {"amount":1} waits for approval: Really give it back\?\n {2}skein approve both\/call_1_0 --store \S+\n {2}skein deny both\/call_1_0 --store \S+\n$/s,
    )
    expect(await skein(['run', app, '--thread', 'both'])).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/→ ask answered\n✓ ask /),
    })
    expect(await skein(['approve', 'both/call_1_0', '--wait'])).toMatchObject({
      code: 0,
      stdout: '{"refunded":1} & so\n',
    })
  })

  it('C1: run and send --wait stop at a turn that waits; a message for later waits behind it', async () => {
    await waiting('asker', 'later')
    const behind = ['send', 'later', 'and then?', '--new-turn', '--id', 'behind', '--wait']
    expect(await skein(behind)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('  skein answer later/call_1_0 --store'),
    })
    // What the thread does before that turn is no news of it.
    await (await host.threads.get('later')).files.writeFile('/a', 'a')
    expect(await skein(behind)).toMatchObject({ code: 3 })
    const watched = await skein(['run', app, '--thread', 'later'])
    expect(watched).toMatchObject({ code: 3 })
    expect(watched.stderr).not.toContain('go on with')
  })

  it('C1: tail tells what happens to calls as it happens', async () => {
    await waiting('asker', 'told')
    const tail = start(['tail', 'told'])
    await tail.says('‖ ask waits for an answer')
    await skein(['answer', 'told/call_1_0', 'so', '--by', 'ann'])
    await tail.says('turn.ended completed')
    tail.child.kill('SIGINT')
    expect((await tail.ended).stdout).toMatch(/ → ask answered by ann\n[\d:]+ ✓ ask so\n/)
  })
})

describe('what calls say', () => {
  it('C1, T8: plain output has what tools log, harmless, and not their progress; --json has all of it', async () => {
    const { skein } = place()
    const { code, stdout, stderr } = await skein(['run', app, '--agent', 'crawler', 'go'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"pages":3}\n' })
    expect(stderr).toMatch(
      /→ crawl {"pages":3}\n· crawl: page 1\\u001b\[31m {"of":3}\n· crawl: page 2.*\n· crawl: page 3.*\n✓ crawl [\d.]+ m?s\n✓ completed/,
    )
    const events = objects((await skein(['run', app, '--json', '--agent', 'crawler', 'go'])).stdout)
    expect(events.filter(({ type }) => type === 'tool.preliminary').map(({ event }) => event)).toEqual([
      { page: 1 },
      { page: 2 },
      { page: 3 },
    ])
    expect(events.filter(({ type }) => type === 'tool.progress')).toHaveLength(3)
  })

  // `script` of util-linux is what gives a process a terminal without a native module.
  it.skipIf(!existsSync('/usr/bin/script'))(
    'C1, T8: a terminal shows what calls log, the last that a running one said, and what a turn waits for',
    async () => {
      const { env } = place()
      const onTerminal = (agent: string) =>
        launch(
          '/usr/bin/script',
          ['-qec', `'${process.execPath}' '${binary}' run '${app}' --agent ${agent} --thread ${agent} go`, '/dev/null'],
          { env: { ...env, TERM: 'xterm', NO_COLOR: '1' } },
        ).ended
      const crawled = await onTerminal('crawler')
      expect(crawled.code).toBe(0)
      expect(crawled.stdout).toMatch(/[◐◓◑◒] crawl {"pages":3} · percent 100\r\n/)
      expect(crawled.stdout).toMatch(/[◐◓◑◒] crawl {"pages":3} · page 3\r\n/)
      expect(crawled.stdout).toMatch(/✓ crawl [\d.]+ m?s {"pages":3}\r\n/)
      expect(crawled.stdout).toMatch(/· crawl: page 1\\u001b\[31m {"of":3}\r\n/)
      const chatty = (await onTerminal('chatty')).stdout
      expect([1, 20, 21].map((page) => chatty.includes(`· crawl: page ${page}\\u001b[31m`))).toEqual([
        true,
        true,
        false,
      ])
      expect(chatty).toMatch(/· crawl: … and 5 more lines\r\n.*✓ crawl /s)
      const waits = await onTerminal('pair')
      expect(waits.code).toBe(3)
      expect(waits.stdout).toMatch(
        /‖ refund waits for approval {"amount":1}\r\n‖ ask waits for an answer {"question":"why\?"}\r\n/,
      )
      expect(waits.stdout).toContain('skein answer pair/call_1_1')
    },
  )

  it('C1: a call that ran too early is told to run again, a cached one is marked', async () => {
    const { skein } = place()
    const written = await skein(['run', app, '--agent', 'writer', 'go'])
    expect(written).toMatchObject({ code: 0, stdout: '5 & hello\n' })
    expect(written.stderr).toMatch(
      /✓ write [\d.]+ m?s\n↻ read runs again: what it read has changed\n✓ read [\d.]+ m?s\n/,
    )
    expect((await skein(['run', app, '--agent', 'twice', '--thread', 't2', 'go'])).stderr).toMatch(
      /✓ square [\d.]+ m?s\n✓ square cached\n/,
    )
    expect((await skein(['show', 't2'])).stdout).toMatch(/✓ square [\d:]+ cached\n9\n/)
  })
})

describe('--env', () => {
  it('C1: gives tools their variables, from the line or the environment; the advice to go on has no values', async () => {
    const { skein } = place()
    const given = ['--env', 'CITY', '--env', 'GREETING=a=b c']
    expect(await skein(['run', app, '--agent', 'traveller', ...given, 'go'], { env: { CITY: 'Bonn' } })).toMatchObject({
      code: 0,
      stdout: 'a=b c Bonn\n',
    })
    const { stderr } = await skein(['run', app, '--agent', 'asker', '--thread', 't1', ...given, 'go'], {
      env: { CITY: 'Bonn' },
    })
    expect(stderr).toMatch(/then go on with: skein run \S+ --thread t1 --env CITY --env GREETING --store \S+\n$/)
  })

  it.each([
    ['CITY', 'the environment has no CITY; set it, or give --env CITY=value'],
    ['=secret', '--env names no variable'],
  ])('C1: --env %s exits 4', async (given, says) => {
    const { skein } = place()
    const { code, stderr } = await skein(['run', app, '--agent', 'traveller', '--env', given, 'go'])
    expect(code).toBe(4)
    expect(stderr).toContain(says)
    expect(stderr).not.toContain('secret')
  })
})
