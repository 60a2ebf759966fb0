/** C1, P4: `timeline`, `fork`, `rewind`, `diff` and `experiment`, on a store and through a server. */
import { expect, it, onTestFinished } from 'vitest'
import { until } from '../../helpers/deferred.js'
import { keys, served } from '../../helpers/served.js'
import { fixture, objects, place } from './binary.js'

const app = fixture('travel')

/** A store with one turn of the seller: a note, a charge and the answer. */
async function sold() {
  const own = place()
  const host = await own.host(app)
  await (await host.threads.create({ agent: 'seller', id: 't1', tags: ['shop'] })).send('go', { id: 'm1' }).result()
  await host.close()
  const first = async (...args: readonly string[]) => objects((await own.skein([...args, '--json'])).stdout)[0]
  return { ...own, first }
}

it('C1, P4: timeline lists the points of a thread, and diff what differs between two of them', async () => {
  const { skein, first } = await sold()
  const { stdout, code } = await skein(['timeline', 't1'])
  expect(code).toBe(0)
  const lines = stdout.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | ').replaceAll(/\d\d:\d\d:\d\d/g, 'T'))
  expect(lines.slice(0, 5).map((line) => line.trim())).toEqual([
    'POINT | TIME | WHAT | TEXT | CALLS | FILES',
    '| T | turn m1 (completed) | go',
    '@1 | T | step | first a note | note | /notes.txt',
    '@2 | T | step | charge ! done',
    '@3 | T | step | it says: charged',
  ])
  expect(await first('timeline', 't1', '--limit', '1')).toMatchObject({ thread: 't1', rows: [{ kind: 'turn' }] })
  expect((await skein(['timeline', 't1', '--limit', '1'])).stderr).toMatch(
    /there may be more: skein timeline t1 --after/,
  )
  const differs = await skein(['diff', 't1@turn:m1', 't1'])
  expect(differs).toMatchObject({ code: 0, stdout: expect.stringContaining('then 0 in a and 6 in b') })
  expect(differs.stdout).toContain('+ /notes.txt 6 B\n')
  expect((await skein(['diff', 't1@0', 't1@1', '--files'])).stdout).toMatch(/\+ \/notes.txt[^]*\+noted/)
  expect((await skein(['diff', 't1', 't1'])).stdout).toContain('nothing differs')
  expect(await first('diff', 't1@1', 't1@2')).toMatchObject({ a: { thread: 't1' }, messages: { common: 3, a: [] } })
  for (const wrong of ['t1@x', 't1@seq:', 't1@9', 'none'])
    expect(await skein(['diff', wrong, 't1'])).toMatchObject({ code: 4, stdout: '' })
})

it('C1, P4: a fork that crosses effects exits 4 with the report; with --app it goes on here, on other definitions', async () => {
  const { skein, first } = await sold()
  const blocked = await skein(['fork', 't1@1'])
  expect(blocked).toMatchObject({ code: 4, stdout: '' })
  expect(blocked.stderr).toMatch(/t1\/call_2_0 +charge +done +its tool/)
  expect(blocked.stderr).toContain('has acted on the world since record')
  expect(blocked.stderr).toContain('--effects ask, refuse or run, or --force; --dry gives')
  for (const nameless of ['', '@3']) {
    const missing = await skein(['fork', nameless])
    expect(missing).toMatchObject({ code: 4, stderr: expect.stringContaining('the id of the thread is missing') })
  }
  const wrong = await skein(['fork', 't1@9'])
  expect(wrong).toMatchObject({ code: 4, stderr: expect.stringMatching(/skein timeline t1 (--.* )?gives its points/) })
  const told = objects((await skein(['fork', 't1@1', '--json'])).stderr)[0]
  expect(told).toMatchObject({
    error: { code: 'EFFECTS_CROSSED', data: { crossing: { effects: [{ tool: 'charge' }] } } },
  })
  expect(await first('fork', 't1@1', '--dry')).toMatchObject({ thread: 't1', effects: [{ call: 'call_2_0' }] })
  expect((await skein(['fork', 't1@3', '--dry'])).stdout).toContain('it has done nothing to the world since')
  const gone = await skein(['fork', 't1@1', '--effects', 'refuse', '--id', 'f1', '--app', app, '--go'])
  expect(gone).toMatchObject({ code: 0, stdout: expect.stringContaining('it says:') })
  const brief = ['fork', 't1@1', '--force', '--id', 'f2', '--app', fixture('travel-brief')]
  expect(await skein([...brief, '--go'])).toMatchObject({ code: 0, stdout: 'in short: no\n' })
  expect(await first('diff', 'f2', 't1')).toMatchObject({ messages: { common: 3, a: [{ text: 'in short: no' }] } })
  expect(await first(...brief)).toMatchObject({ thread: 'f2', status: 'idle' })
  expect(await skein(['fork', 't1@1', '--force', '--env', 'A=b'])).toMatchObject({ code: 4 })
  const tree = ['fork', 't1@1', '--tree', '--effects', 'refuse', '--app', app, '--go']
  expect(await skein(tree)).toMatchObject({ code: 0, stdout: expect.stringContaining('it says:') })
  expect(await first('fork', 't1', '--id', 'kept')).toMatchObject({ thread: 'kept', state: 'kept' })
})

it('C1, P4: rewind is blocked with the report, undoes with --revert, and goes back; all through a server, too', async () => {
  const own = await sold()
  const host = await own.host(app)
  const server = await served(host)
  onTestFinished(async () => {
    await server.close()
    await host.close()
  })
  const env = { ADA: keys.admin }
  const on = ['--url', server.url, '--key-env', 'ADA']
  const remote = (...args: readonly string[]) => own.skein([...args, ...on], { env })
  expect(await own.skein(['fork', 't1@2', '--app', app])).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('others serve'),
  })
  expect(await remote('fork', 't1@2', '--app', app)).toMatchObject({ code: 4 })
  expect(await remote('fork', 't1@2', '--id', 'f1')).toMatchObject({ code: 0, stdout: 'f1\n' })
  expect((await remote('resume', 'f1')).stdout).toBe('resumed\n')
  expect(await remote('fork', 't1@2', '--tree', '--go', '--id', 'f2')).toMatchObject({ code: 0, stdout: 'f2\n' })
  expect(await (await host.threads.get('f2')).settled({ tree: true })).toMatchObject({ status: 'idle' })
  for (const run of [remote, (...args: readonly string[]) => own.skein(args)]) {
    const blocked = await run('rewind', 't1', '--to', '1')
    expect(blocked).toMatchObject({ code: 4, stderr: expect.stringMatching(/t1\/call_2_0 +charge +done +its tool/) })
    expect(blocked.stderr).toContain('Undo it with --revert, or leave it as it is with --force; --dry gives')
    expect((await run('rewind', 't1', '--to', '9')).stderr).toMatch(/skein timeline t1 (--.* )?gives its points/)
    expect((await run('rewind', 't1', '--to', '1', '--revert', '--force')).stderr).toContain('either --revert (undo')
    expect((await run('rewind', 't1', '--to', '1', '--dry')).stdout).toContain('since then, to the world:')
  }
  const undone = await remote('rewind', 't1', '--to', '1', '--revert')
  expect(undone.stdout).toMatch(/^went back to record \d+, after 1 effect was undone; it is failed\n$/)
  expect(undone.stderr).toMatch(/skein resume t1 .*goes on with its turn/)
  expect((await remote('timeline', 't1')).stdout).toMatch(/rewound to record/)
  const [back] = objects((await own.skein(['rewind', 't1', '--to', 'turn:m1', '--json'])).stdout)
  expect(back).toMatchObject({ thread: 't1', state: 'accepted', reverted: [] })
  expect(await (await host.threads.get('t1')).files.exists('/notes.txt')).toBe(false)
  expect(await own.skein(['rewind', 't1'])).toMatchObject({ code: 4, stderr: expect.stringContaining('--to') })
})

it('C1, P4: a rewind that was kept is shown as a revert, once and first; then the message has its own turn', async () => {
  const { skein } = await sold()
  expect((await skein(['rewind', 't1', '--to', '1', '--revert'])).stderr).toContain('kept')
  const said = await skein(['run', app, '--thread', 't1', 'hello again'])
  expect(said).toMatchObject({ code: 0, stdout: 'first a note\nit says: charged\n' })
  expect(said.stderr.match(/^[→✓] \w+( reverts \w+)?/gm)).toEqual([
    '→ charge reverts call_2_0',
    '✓ charge reverts call_2_0',
    '✓ completed',
    '→ note',
    '✓ note',
    '→ charge',
    '✓ charge',
    '✓ completed',
  ])
  const { stdout } = await skein(['timeline', 't1'])
  expect(stdout).toMatch(/^@2 .* step, undone .*charge ! undone$/m)
  expect(stdout).toMatch(/^@4 .* charge reverts call_2_0 ! done$/m)
  expect(stdout).toMatch(/^@6 .* charge ! done$/m)
  const { stdout: told } = await skein(['tail', 't1', '--no-follow'])
  expect(told).toMatch(/ ✓ charge reverts call_2_0 paid back\n/)
  expect(told).toMatch(/ thread\.rewound to record \d+\n/)
})

it('C1, P4: an experiment runs forks of each variant, prints what each did, and keeps them by tags', async () => {
  const { skein, first } = await sold()
  const variants = ['--variants', `${app},${fixture('travel-brief')}`]
  const { code, stdout, stderr } = await skein(['experiment', 't1@1', ...variants, '--times', '2', '--name', 'x'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^VARIANT +THREAD +STATUS +STEPS +TOKENS +COST +TIME +EFFECTS +ANSWER\n/)
  expect(stdout.match(/^travel\.ts .* idle +2 +30 .* 1 refused +it says: /gm)).toHaveLength(2)
  expect(stdout.match(/^travel-brief\.ts .* idle +1 +3 .*in short: no$/gm)).toHaveLength(2)
  expect(stderr).toContain('skein ps --tag experiment:x')
  expect((await skein(['ps', '--tag', 'variant:travel.ts', '--json'])).stdout.match(/"forkedFrom"/g)).toHaveLength(2)
  const asked = ['experiment', 't1', '--variants', fixture('travel-brief')]
  expect(await skein(asked)).toMatchObject({ code: 4, stderr: expect.stringContaining('with --message') })
  const forks = async () => (await skein(['ps', '--json'])).stdout.match(/"forkedFrom"/g)?.length
  expect(await forks()).toBe(4)
  const missing = ['experiment', 't1@1', '--variants', `${app},${app}.not.ts`]
  expect(await skein(missing)).toMatchObject({ code: 4, stdout: '' })
  for (const empty of ['--variants', '--name'])
    expect(await skein(['experiment', 't1@1', ...variants, empty, ''])).toMatchObject({ code: 4, stdout: '' })
  expect(await forks()).toBe(4)
  expect(await first(...asked, '--message', 'and now?', '--budget', 'steps=5')).toMatchObject({
    source: 't1',
    trials: [{ variant: 'travel-brief.ts', status: 'idle', answer: 'in short: no', steps: 1, tokens: 3 }],
  })
  expect(await skein(['experiment', 't1@1'])).toMatchObject({ code: 4 })
})

it('C1, P4: Ctrl-C pauses the forks of an experiment that are not finished, and says how to go on', async () => {
  const { startHere, skein } = await sold()
  const variants = ['--variants', fixture('travel-slow'), '--times', '2', '--name', 'x']
  const { ended, signal } = startHere(['experiment', 't1@1', ...variants])
  const states = async () => (await skein(['ps', '--tag', 'experiment:x', '--json'])).stdout.match(/"status":"\w+"/g)
  await until('both think', async () => (await states())?.filter((each) => each.includes('thinking')).length === 2)
  signal('SIGINT')
  expect(await ended).toMatchObject({
    code: 130,
    stderr: expect.stringMatching(/2 forks are not finished and paused: .*skein resume /),
  })
  expect(await states()).toEqual(['"status":"paused"', '"status":"paused"'])
})
