/** Every example, and the code in README.md: a real process, what it prints, how it ends. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { transform } from 'esbuild'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { chatAnswer, startModelServer } from '../helpers/model-server.js'
import { binary, launch, place } from '../src/cli/binary.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const examples = join(root, 'examples')

/**
 * The examples without their types, as a compiler leaves them. A process that strips types by itself, and so does
 * each of its worker threads, costs twice as much; that this works too is seen with the first one, the ninth and the
 * README.
 */
let built = ''
beforeAll(async () => {
  // Inside the project, so that `skein` is this package.
  mkdirSync(join(root, '.cache'), { recursive: true })
  built = mkdtempSync(join(root, '.cache/examples-'))
  cpSync(examples, built, { recursive: true })
  for (const file of readdirSync(built, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))) {
    const { code } = await transform(readFileSync(join(built, file), 'utf8'), { loader: 'ts', target: 'node20' })
    writeFileSync(join(built, file.replace(/\.ts$/, '.js')), code.replaceAll(/(["']\.\/[\w-]+)\.ts(["'])/g, '$1.js$2'))
  }
})
afterAll(() => rmSync(built, { recursive: true, force: true }))

const main = (example: string): string => join(built, example, 'main.js')

/** A run that must end well; gives what it printed. */
async function printed(...command: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await launch(process.execPath, command, {}).ended
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return stdout
}

test('every example has a test here and is a short read', () => {
  expect(readdirSync(examples).sort()).toEqual([
    '01-first-thread',
    '02-crash-and-resume',
    '03-tools-and-files',
    '04-approvals',
    '05-effects-that-survive',
    '06-swarm',
    '07-dual-ai',
    '08-secrets-and-variables',
    '09-two-hosts',
    '10-front-desk',
    '11-simulate',
    '12-hooks',
    '13-long-context',
    '14-structured-output',
    '15-skills',
    '16-real-model',
    '17-express',
    '18-next-and-usechat',
    '19-openai-client',
    '20-mcp',
    '21-a2a',
    '22-what-if',
  ])
  for (const file of readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )) {
    expect(readFileSync(join(examples, file), 'utf8').trimEnd().split('\n').length, file).toBeLessThanOrEqual(110)
  }
})

test('01-first-thread prints what the model says and what its calls came to', async () => {
  const text = await printed('--import', 'tsx', join(examples, '01-first-thread/main.ts'))
  expect(text.split('\n')).toEqual([
    'Let me look that up.',
    '3 kg of apples are 7.2 euros and arrive on Thursday; there are no figs.',
    '',
    '✓ price {"euros":7.2}',
    '✗ price TOOL_THREW: no figs today; there are: apples, pears',
    '✓ delivery {"city":"Lisbon","day":"Thursday"}',
    '',
    'completed after 2 steps; the transcript has 6 messages',
    '',
  ])
})

test('01-first-thread is an app for the command line too', async () => {
  const { skein, spawned } = place()
  const { code, stdout } = await spawned([
    'run',
    join(examples, '01-first-thread/app.ts'),
    '--agent',
    'clerk',
    '--thread',
    'fruit',
    'What are 3 kg of apples?',
  ])
  expect(code).toBe(0)
  expect(stdout).toBe('Let me look that up.\n3 kg of apples are 7.2 euros and arrive on Thursday; there are no figs.\n')
  expect((await skein(['show', 'fruit'])).stdout).toContain('→ delivery {"city":"Lisbon"}')
})

test('02-crash-and-resume loses nothing and runs nothing finished again', async () => {
  const text = await printed(main('02-crash-and-resume'))
  expect(text).toContain('✗ kill -9')
  expect(text).toMatch(/on disk +1 +2 .* the thread is "(?:acting|thinking)"/)
  expect(text).toMatch(/ 12 +the thread is "idle"/)
  expect(text).toMatch(/✓ no finished call ran twice: \d+ were finished at the kill/)
  expect(text).toContain('✓ the transcript is complete: 12 results in order, 13 replies')
  expect(text).toContain('"The report is complete: 12 sections."')
})

test('03-tools-and-files: the second of two parallel notes lands first, runs again and comes second', async () => {
  const lines = (await printed(main('03-tools-and-files'))).split('\n')
  expect(lines.slice(0, 7)).toEqual([
    'the model asks for 0:note and 1:note',
    '  1:note has run: "this is note 1"',
    '  0:note has run: "this is note 1"',
    '    0 counts',
    '    1 saw what a call before it has changed since: it runs again',
    '  1:note has run again: "this is note 2"',
    '    1 counts',
  ])
  const text = lines.join('\n')
  expect(text).toContain(`0:bash has run: ${JSON.stringify('rolls 12\nrye 5\n')}`)
  expect(text).toContain(
    `0:grep has run: ${JSON.stringify('/notes.md:1:1. Ito wants rye\n/notes.md:2:2. Diaz wants rolls')}`,
  )
  expect(text).toContain(
    '  · bake {"tray":1}\n  · bake {"tray":2}\n  · bake {"tray":3}\n  0:bake has run: {"trays":3}\n',
  )
  expect(text).toContain('0:calculate has run: 17\n')
  expect(text).toContain(
    '\nfiles: /notes.md /orders.csv /recipes/rye.md /totals.txt\n1. Ito wants rye\n2. Diaz wants rolls\n',
  )
  expect(text).toContain("line: 3, text: 'closed at noon'")
})

test('04-approvals: what waits is there after a restart; one is changed, one rejected, one answered', async () => {
  const text = await printed(main('04-approvals'))
  expect(text).toContain('the thread is awaiting_approval\n')
  expect(text).toContain(
    'books/call_1_0 waits for approval: pay {"to":"printer","euros":2000} More than 100 euros: is this right?\n',
  )
  expect(text).toContain('books/call_1_1 waits for approval: pay {"to":"casino","euros":900}')
  expect(text).toContain('books/call_1_2 waits for person: ask_user_question')
  expect(text).toContain("other args are checked like the model's: TOOL_INPUT_INVALID\n")
  expect(text).toMatch(paidBills('by Ada: '))
  expect(text).toContain('the inbox has 0 entries, the thread is idle\n')
})

test('04-approvals by hand: the commands in its header', async () => {
  const { skein, spawned } = place()
  const app = join(examples, '04-approvals/app.ts')
  const said = readFileSync(join(examples, '04-approvals/main.ts'), 'utf8')
  expect((await spawned(['run', app, '--agent', 'bookkeeper', '--thread', 'books', 'Pay the bills.'])).code).toBe(3)
  expect((await skein(['inbox'])).stdout).toContain('books/call_1_2  person')
  const decisions = [
    ['approve', 'books/call_1_0', '--args', '{ "to": "printer", "euros": 200 }'],
    ['deny', 'books/call_1_1', '--comment', 'we do not gamble'],
    ['answer', 'books/call_1_2', 'Friday'],
  ]
  for (const decision of decisions) {
    expect(said.replace(/["']/g, '')).toContain(`npx skein ${decision.join(' ').replace(/["']/g, '')}\n`)
    expect((await skein(decision)).code).toBe(0)
  }
  const { code, stdout } = await spawned(['run', app, '--thread', 'books'])
  expect(code).toBe(0)
  expect(stdout).toMatch(paidBills(': '))
})

function paidBills(by: string): RegExp {
  const lines = [
    String.raw`pay: \(It was approved with other args: \{"to":"printer","euros":200\}\) \{"paid":200,"to":"printer","transfer":"[\w-]{6}"\}`,
    `pay: Error TOOL_DENIED: pay was not allowed ?${by}we do not gamble; it was not run`,
    String.raw`ask_user_question: When shall I pay the rent\? → Friday`,
    String.raw`balance: \{"euros":3100\}`,
    String.raw`pay: \{"paid":80,"to":"cleaner","transfer":"[\w-]{6}"\}`,
  ]
  return new RegExp(`^${lines.join('\n')}$`, 'm')
}

test('05-effects-that-survive: killed within a charge, a mark and a postcard, none of them happens twice', async () => {
  const text = await printed(main('05-effects-that-survive'))
  for (const tool of ['charge', 'mark', 'notify'])
    expect(text).toMatch(new RegExp(`${tool} [ABC] ✗ kill -9 (before|after) it happened\n`))
  const [, ledger = ''] = /^the ledger: (.*)$/m.exec(text) ?? []
  const happened = ledger.split(', ')
  expect(new Set(happened).size).toBe(happened.length)
  expect(happened).toEqual(
    expect.arrayContaining(['A', 'B', 'C'].flatMap((bill) => [`charge ${bill}`, `mark ${bill}`])),
  )
  expect(text).toContain('✓ every charge (it has a key) and every mark (it has a probe) happened exactly once\n')
  expect(text).toMatch(
    /✓ notify [ABC] \(it has neither\) was not repeated: it happened [01] times\. The model was told\n {2}"Error EFFECT_UNKNOWN: /,
  )
})

test('06-swarm: killed in the middle, it goes on to the same report, and no researcher books twice', async () => {
  const { folder } = place()
  const life = (name: string) => launch(process.execPath, [main('06-swarm'), join(folder, name)], {})
  const killed = life('a')
  await killed.says('researcher-12 begins')
  killed.child.kill('SIGKILL')
  expect((await killed.ended).stdout).toMatch(/^process \d+: 0 are done; .*\nresearcher-1 begins, 23 in line\n/)
  const booked = (): readonly string[] => readFileSync(join(folder, 'a/ledger.txt'), 'utf8').trim().split('\n')
  expect(booked().length).toBeLessThan(24)

  const again = await life('a').ended
  expect(again).toMatchObject({ code: 0, stderr: '' })
  const [, done = ''] = /: (\d+) are done;/.exec(again.stdout) ?? []
  // At most 8 work at once, so these had reported before the twelfth began; they do not begin again.
  expect(Number(done)).toBeGreaterThanOrEqual(4)
  expect(again.stdout.match(/^researcher-\d+ is done$/gm)).toHaveLength(24 - Number(done))
  expect(booked()).toHaveLength(24)
  expect(new Set(booked()).size).toBe(24)
  const anew = /to begin anew: remove \S+\n$/
  expect(again.stdout).toMatch(anew)
  const report = (text: string): string => text.slice(text.indexOf('The report is in')).replace(anew, '')
  expect(report(again.stdout)).toMatch(
    /# 24 rivers\n\n- Amur: 2824 km\n[^]*- Volga: 3530 km\n\n24 surveys were booked, 0 of them twice\n$/,
  )
  expect(report((await life('b').ended).stdout)).toBe(report(again.stdout))
})

// `script` of util-linux is what gives a process a terminal without a native module.
test.skipIf(!existsSync('/usr/bin/script'))(
  '06-swarm shows its tree on a terminal, and skein tree shows it from outside',
  async () => {
    const { folder, skein } = place()
    const command = `'${process.execPath}' '${main('06-swarm')}' '${folder}'`
    const run = launch('/usr/bin/script', ['-qec', command, '/dev/null'], { env: { TERM: 'xterm' } })
    await run.says('16 in line')
    const tree = await skein(['tree', 'swarm', '--store', join(folder, 'store')])
    expect(tree.stdout).toMatch(/^swarm +lead +waiting +\d children +\d+ \/ \d+ +swarm$/m)
    expect(tree.stdout).toMatch(/^ {2}researcher-24 +researcher +in line +its turn: place (\d+) of \1$/m)
    const { code, stdout } = await run.ended
    expect(code).toBe(0)
    expect(stdout).toMatch(/swarm: 0 done, 16 in line\r\n(?: {2}◐ researcher-[1-8] .*\r\n){8}/)
    expect(stdout).toContain('swarm: 25 done, 0 in line')
  },
)

test('09-two-hosts: one of them is killed, the other goes on, and no river is booked twice', async () => {
  const text = await printed('--import', 'tsx', join(examples, '09-two-hosts/main.ts'))
  const [, killed = '', other = ''] = /✗ kill -9 of host (one|two)\n[^]*\nhost (?!\1)(one|two) booked/.exec(text) ?? []
  expect([killed, other].toSorted()).toEqual(['one', 'two'])
  expect(text.match(/^ ?\d+ \w+ by (?:one|two)$/gm)).toHaveLength(24)
  expect(text).toMatch(/\n24 rivers are surveyed\. The last one \d+\.\d s after host (?:one|two) was killed\.\n/)
  expect(text).toContain('\n24 rivers are in the ledger, 0 of them twice\n')
  const booked = Number(new RegExp(`host ${killed} booked (\\d+)`).exec(text)?.[1])
  expect(booked).toBeGreaterThan(0)
  expect(booked).toBeLessThan(24)
})

test('R3, T12: 14-structured-output gives a value of a schema, and stops where it is told to', async () => {
  expect((await printed(main('14-structured-output'))).trimEnd().split('\n')).toEqual([
    'outline: Harbour, 3 pages, after 2 replies',
    'stop_when (3 steps of 3): I have read 3 pages.',
    'asked for, and not run: read {"page":1}',
  ])
})

test('10-front-desk: a prompt sorts, agents take over with the whole history', async () => {
  expect(await printed(main('10-front-desk'))).toMatch(
    new RegExp(`^${frontDesk.replaceAll(/[.*+?^$(){}|[\]\\]/g, '\\$&').replace('<key>', '[\\w-]{6}')}$`),
  )
})

const frontDesk = `customer: The lamp of order 17 is broken.
agent: Welcome! → sort {"letter":"The lamp of order 17 is broken."}
  sort: {"about":"returns","order":17}
agent: → returns {}
  returns: Handoff complete
agent: → refund {"order":17}
  refund: {"order":17,"refunded":true,"key":"<key>"}
agent: Your money for order 17 is on its way.
(the thread is with returns)

customer: Do you have another one?
agent: I ask my colleague. → sales {"message":"wants another lamp"}
  sales: Handoff complete
agent: We have a red lamp. (I read 6 messages.)
(the thread is with sales)

prompt:sort is done; it read "The lamp of order 17 is broken."
`

const poem = '# The Elbe\nIt comes from the hills,\nit goes to the sea,\nit is never the same,\nand is always the Elbe.'

test('07-dual-ai: a writer and a critic come to an end, alone and as a subagent', async () => {
  const [first = '', ...rest] = (await printed(main('07-dual-ai'))).split(
    'session_stopped after 5 steps, with /draft.md\n\n',
  )
  expect(first).toBe(
    `You: A poem about the Elbe.\n\nWriter: ${poem.split('\n').slice(0, 3).join('\n')}\n\nCritic: 2 lines. It ` +
      `wants a second half.\n\nWriter: I see.\n\nWriter: ${poem}\n\n`,
  )
  expect(rest.join()).toBe(
    `session_failed: there is nothing to read\n\n${poem}\n\n[attached: /attachments/draft.md]\n\nError ` +
      `CHILD_FAILED: it did not finish: session_failed (there is nothing to read). It last said: # The Elbe\n`,
  )
})

test('07-dual-ai: the command line says who speaks', async () => {
  const { skein, spawned } = place()
  const app = join(examples, '07-dual-ai/app.ts')
  const run = await spawned(['run', app, '--agent', 'poets', '--thread', 't', 'A poem about the Elbe.'])
  expect(run).toMatchObject({ code: 0, stdout: `Critic: 2 lines. It wants a second half.\nWriter: I see.\n${poem}\n` })
  expect(run.stderr).toContain('✓ session_stopped · 5 steps')
  expect((await spawned(['run', app, '--thread', 't', 'Now one about nothing.'])).code).toBe(1)
  expect((await skein(['show', 't'])).stdout).toMatch(
    /\nCritic \S+\n2 lines\. It wants a second half\.\n\nWriter \S+\nI see\.\n→ read /,
  )
  expect((await skein(['tail', 't', '--no-follow'])).stdout).toMatch(
    / model\.replied step 2, Critic: 2 lines\..*\n[^]*turn\.ended session_stopped · # The Elbe/,
  )
})

// As for 06-swarm: without `script` there is no terminal here.
test.skipIf(!existsSync('/usr/bin/script'))(
  '07-dual-ai: on a terminal each side is introduced when it begins to speak',
  async () => {
    const { folder } = place()
    const command =
      `'${process.execPath}' '${binary}' run '${join(examples, '07-dual-ai/app.ts')}' --agent poets ` +
      `--store '${join(folder, 'store')}' 'A poem about the Elbe.'`
    const { code, stdout } = await launch('/usr/bin/script', ['-qec', command, '/dev/null'], {
      env: { TERM: 'xterm', NO_COLOR: '1' },
    }).ended
    expect(code).toBe(0)
    const shown = stripVTControlCharacters(stdout).replaceAll('\r', '')
    expect(shown.match(/^(Writer|Critic):$/gm)).toEqual(['Critic:', 'Writer:'])
    expect(shown).toContain(poem)
  },
)

test('B8: 11-simulate finds the refund that is paid twice, and its three lines mend it', async () => {
  const text = await printed(main('11-simulate'))
  expect(text).toMatch(/^✗ careless: seed \d+ fails after \d+ ms of virtual time:\n/)
  expect(text).toContain(
    '    thread desk: the effect of refund was begun twice, and it says that it cannot be repeated\n',
  )
  expect(text).toMatch(/\n    repeat it with SKEIN_SEED=\d+\n✓ mended: 50 seeds, 50 different courses of events/)
})

test('16-real-model: says what to set; with an OpenAI-compatible server it asks that', async () => {
  expect(await printed(main('16-real-model'))).toMatch(/^No model is configured\. [^]*\n {2}OPENAI_BASE_URL +an OpenAI/)
  const server = await startModelServer([
    chatAnswer(
      [{ tool_calls: [{ index: 0, id: 'x', function: { name: 'price', arguments: '{"fruit":"apples"}' } }] }],
      'tool_calls',
    ),
    chatAnswer([{ content: '3 kg of apples ' }, { content: 'are 7.20 euros.' }]),
  ])
  onTestFinished(() => server.close())
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'none', MODEL: 'small' }
  const { code, stdout, stderr } = await launch(process.execPath, [main('16-real-model')], { env }).ended
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: '3 kg of apples are 7.20 euros.\n\nan OpenAI-compatible server: completed, 22 in / 14 out tokens\n',
    stderr: '',
  })
  expect(server.bodies).toMatchObject([
    { model: 'small' },
    { messages: expect.arrayContaining([{ role: 'tool', tool_call_id: 'call_1_0', content: '2.4' }]) },
  ])
})

test('H4: 17-express: a service mounts Skein in ten lines, and plain HTTP does the rest', async () => {
  expect((await printed(main('17-express'))).trimEnd().split('\n')).toEqual([
    'status 200: order 17 was lost in Porto.',
    'status 202: it waits for someone',
    'turn.started',
    'turn.ended',
    'turn.started',
    'call.decided',
    'turn.ended',
  ])
})

test('H1, H4: 18-next-and-usechat: a page is closed, another goes on with the answer, and a person approves in the chat', async () => {
  expect((await printed(main('18-next-and-usechat'))).trimEnd().split('\n')).toEqual([
    'first page: Let me see.',
    'second page: Let me see. order 17 was lost in Porto.',
    'resend {"order":17}: may it?',
    'second page: order 17 leaves today.',
    'the thread has 8 messages',
  ])
})

test('H1: 19-openai-client: the client of OpenAI talks to an agent, and a person decides meanwhile', async () => {
  expect((await printed(main('19-openai-client'))).trimEnd().split('\n')).toEqual([
    'model: clerk',
    'Let me see.',
    '',
    'order 17 was lost in Porto.',
    '',
    'awaiting_approval: order-17/call_1_0',
    'attempt 1: order 17 leaves today.',
    'attempt 2: order 17 leaves today.',
    'the thread has 4 messages',
  ])
})

test('E5: 20-mcp: the official client asks an agent, and its person lets a call run', async () => {
  const text = await printed(main('20-mcp'))
  expect(text.split('\n').filter((line) => !line.startsWith('  …'))).toEqual([
    'the clerk is a tool: Knows about orders and parcels of the shop',
    'order 17 was lost in Porto.',
    '',
    '? clerk asks to call resend.',
    '  Send the goods again?',
    '  {',
    '    "order": 17',
    '  }',
    'order 17 leaves today.',
    '',
    '2 resources, one of them the messages of the thread',
    '',
  ])
  expect(text).toContain('  … calls track\n  … track: done\n')
})

test('E4: 21-a2a: an agent of one skein is a subagent of another', async () => {
  expect((await printed(main('21-a2a'))).trimEnd().split('\n')).toEqual([
    'the card: {"name":"guide","description":"Says what to see in a town","ver…',
    'subagent_create → "Which town?"',
    'subagent_message → "In Porto: the bridge, the cellars, the sea."',
    'The plan. In Porto: the bridge, the cellars, the sea.',
    'there: user, assistant, user, assistant',
  ])
})

test('P4: 22-what-if: a fork goes on with another prompt; the thread goes back, and what it paid is taken back', async () => {
  expect(await printed(main('22-what-if'))).toBe(whatIf)
})

const whatIf = `generous: We are sorry. You have your 50 euros back.

the timeline:
     turn · My kettle is broken.
  @1 step · look_up
  @2 step · pay (done)
  @3 step · We are sorry. You have your 50 euros back.

a fork at @1 would cross: pay (call_2_0, done)
strict: We are sorry. We send another kettle.

3 messages in common, files that differ: 0
  - assistant: pay
  - tool: paid 50 euros
  - assistant: We are sorry. You have your 50 euros back.
  + assistant: We are sorry. We send another kettle.

undone: call_2_0; the thread now says: We are sorry. We send another kettle.
the bank: paid 50, took back 50
`

test('E2, E3: 15-skills: an agent in Markdown loads the skill that fits, and runs its script', async () => {
  // Not what is built: beside a source the folder app would find its output, and know two definitions of one name.
  expect(await printed('--import', 'tsx', join(examples, '15-skills/main.ts'))).toBe(skills)
})

const skills = `user: Make an invoice of /hours.csv.
→ load_skill {"name":"invoices"}
  load_skill: <skill name="invoices"> # Invoices 1. The rate per hour is in \`references/rates.md\`. 2. Copy \`sc
→ read_skill_file {"skill":"invoices","path":"references/rates.md"}
  read_skill_file: # Rates An hour in the workshop is 60 euros.${' '}
→ read_skill_file {"skill":"invoices","path":"scripts/total.sh","saveAs":"/total.sh"}
  read_skill_file: /total.sh: a copy of invoices/scripts/total.sh (123 bytes)
→ bash {"cmd":"sh","args":["/total.sh","/hours.csv","60"]}
  bash: 450${' '}
assistant: The invoice is over 450 euros.
`

test('K1: 12-hooks caps a refund, refuses another, redacts a card and ends when the customer was told', async () => {
  const text = await printed(main('12-hooks'))
  expect(text).toContain('answer: Dear Ada, 50 euros are on their way.')
  expect(text).toContain('customer {"name":"Ada"} → {"name":"Ada","card":"****"}')
  expect(text).toContain('refund {"to":"Ada","euros":50} → "50 euros to Ada"')
  expect(text).toContain('refund {"to":"boss","euros":20} → "HOOK_REFUSED"')
  expect(text).toContain('stop: told → Write to the customer.')
})

test('the code in README.md runs', async () => {
  const [, code] = /## Use it\n[\s\S]*?```ts\n([\s\S]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  // Inside the project, so that `skein` is this package.
  mkdirSync(join(root, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(root, '.cache/readme-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'sample.ts')
  writeFileSync(file, code?.replaceAll("'.skein'", JSON.stringify(join(folder, 'store'))) ?? '')
  const text = await printed('--import', 'tsx', file)
  expect(text).toContain('1 + 2 is 3.')
  expect(text).toContain("stopReason: 'completed'")
})

test('08-secrets-and-variables: who needs a value waits for it, and no secret is anywhere', async () => {
  expect(await printed(main('08-secrets-and-variables'))).toMatch(
    new RegExp(
      [
        '^order waits for SHOP\\norder waits for SHOP\\n',
        '20 kg of flour for Corner 7, signed with \\[redacted\\] \\(19 characters\\)\\n90 eggs for Corner 7, ' +
          'signed with \\[redacted\\] \\(19 characters\\)',
        'Error subagent_env_required: courier-1 was not started: it needs values that only people have ' +
          '\\(COURIER_PASSWORD\\)\\n',
        'courier needs COURIER_PASSWORD: /threads/shop/variables/env_2_0',
        'The courier says: \\[courier-1\\] on its way to Corner 7\\n',
        'secrets in \\d files of the store and in all requests of models: 0\\n$',
      ].join('\\n'),
    ),
  )
})

test('13-long-context: results are archived and summarised, and one is had back', async () => {
  expect((await printed(main('13-long-context'))).split('\n')).toEqual([
    'I read 22 pages. What was odd: page 2: DISK FULL',
    'before step 10: archived, 541 tokens left',
    'before step 19: summarised, 380 tokens left',
    '',
    'the model reads 18 messages, about 885 tokens',
    '31 are summarised, 0 results are archived',
    '<summary>',
    'The request: Read the log and tell me what is odd.',
    '',
    'Pages 1 to 18 are read; page 2 (call_2_0) was odd.',
    '</summary>',
    'the transcript is whole: 48 messages',
    '',
  ])
})
