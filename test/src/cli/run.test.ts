/** `skein run`: what it says, where, and how it ends; as a process where that matters. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { app, binary, fixture, launch, objects, place } from './binary.js'

const escapeChar = '\u001B'

describe('a turn', () => {
  it('C1: exits 0; stdout has the words of the agent, stderr what it did', async () => {
    const { spawned } = place()
    const { code, stdout, stderr } = await spawned(['run', app, '--agent', 'helper', '--thread', 't1', 'add please'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'let me see\nthe sum is 3\n' })
    expect(stderr).toMatch(/^thread t1 · agent helper\n→ add {"a":1,"b":2}\n→ explode {}\n/)
    expect(stderr).toMatch(/✓ add [\d.]+ m?s\n/)
    expect(stderr).toMatch(/✗ explode [\d.]+ m?s TOOL_THREW: boom\n/)
    expect(stderr).toMatch(/✓ completed · 2 steps · 20 in \/ 10 out tokens · [\d.]+ m?s\n$/)
  })

  it('C1: the only agent of an app need not be named; where there are several they are listed', async () => {
    const { skein } = place()
    expect(await skein(['run', fixture('single'), 'hi'])).toMatchObject({
      code: 0,
      stdout: 'here I am\n',
      stderr: expect.stringContaining('agent hermit'),
    })
    expect(await skein(['run', app, 'hi'])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('--agent <name> (the app has: echo, helper, '),
    })
  })

  it('C1: without a terminal there are no escape codes, not even those of the model', async () => {
    const { spawned } = place()
    const { stdout, stderr } = await spawned(['run', app, '--agent', 'rude', 'go'], { env: { FORCE_COLOR: '1' } })
    expect(stdout).toBe(String.raw`\u001b[31mred\u001b[0m \u0007bell` + '\n')
    expect(stdout + stderr).not.toContain(escapeChar)
  })

  it('C1: a failed turn exits 1 and says why; the next run tries it again', async () => {
    const { skein, spawned } = place()
    const failed = await spawned(['run', app, '--agent', 'broken', '--thread', 't1', 'go'])
    expect(failed.code).toBe(1)
    expect(failed.stderr).toContain('✗ failed (MODEL_REJECTED: the provider said no)')
    const again = await skein(['run', app, '--thread', 't1'])
    expect(again.code).toBe(1)
    expect(again.stderr).toContain('✗ failed (MODEL_REJECTED')
  })

  it('C1: a structured answer is printed as one line of JSON, and is in run.ended; without one the turn has failed', async () => {
    const { skein } = place()
    expect(await skein(['run', app, '--agent', 'formal', 'go'])).toMatchObject({
      code: 0,
      stdout: '{"total":3,"names":["a","b"]}\n',
    })
    const formal = await skein(['run', app, '--agent', 'formal', 'go', '--json'])
    expect(objects(formal.stdout).at(-1)).toMatchObject({
      type: 'run.ended',
      stopReason: 'completed',
      output: { total: 3, names: ['a', 'b'] },
    })
    const { code, stdout } = await skein(['run', app, '--agent', 'vague', 'go', '--json'])
    expect(code).toBe(1)
    expect(objects(stdout).at(-1)).toMatchObject({
      type: 'run.ended',
      stopReason: 'failed',
      failure: { code: 'OUTPUT_MISSING' },
    })
  })

  it('C1: a reply that was cut is no success, and its end says so', async () => {
    const { skein } = place()
    const { code, stdout, stderr } = await skein(['run', app, '--agent', 'chatty', 'go'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'half of the\n' })
    expect(stderr).toContain('✗ reply_cut (the reply was cut at its limit of output tokens)')
  })

  it('C1: continues a thread, or says that nothing is outstanding', async () => {
    const { skein, seed } = place()
    await seed({ agent: 'echo', id: 't1' })
    expect(await skein(['run', app, '--thread', 't1', 'two'])).toMatchObject({ code: 0, stdout: 'you said: two\n' })
    const { code, stdout, stderr } = await skein(['run', app, '--thread', 't1'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain('nothing is outstanding: thread t1 is idle')
    const [shown] = objects((await skein(['show', 't1', '--json'])).stdout)
    expect(shown).toMatchObject({
      thread: 't1',
      messages: [{ text: 'one' }, { text: 'you said: one' }, { text: 'two' }, { text: 'you said: two' }],
    })
  })

  it.each([
    ['-', 'two\nlines'],
    [undefined, 'x'.repeat(1_000_000)],
  ])('C1: reads the message from stdin (%s)', async (dash, message) => {
    const { spawned } = place()
    const { code, stdout } = await spawned(['run', app, '--agent', 'echo', ...(dash ? [dash] : [])], {
      input: `${message}\n`,
    })
    expect(code).toBe(0)
    expect(stdout === `you said: ${message}\n`).toBe(true)
  })

  it('C1: --store beats SKEIN_STORE', async () => {
    const { skein, folder, store } = place()
    await skein(['--store', join(folder, 'other'), 'run', app, '--agent', 'echo', 'hi'])
    expect([existsSync(join(folder, 'other', 'skein.db')), existsSync(store)]).toEqual([true, false])
  })

  it('C1: a reader that goes away is no error, and the turn goes on to its end', async () => {
    const { start, skein } = place()
    const run = start(['run', app, '--agent', 'helper', '--thread', 't1', '--tag', 'a', '--tag', 'b', 'go'])
    run.child.stdout?.destroy()
    run.child.stderr?.destroy()
    expect((await run.ended).code).toBe(0)
    expect(objects((await skein(['show', 't1', '--json'])).stdout)[0]).toMatchObject({
      status: 'idle',
      tags: ['a', 'b'],
    })
  })
})

describe('--json', () => {
  it('C1: stdout has the events, one per line, and then what the run came to', async () => {
    const { skein } = place()
    const { code, stdout, stderr } = await skein(['run', app, '--json', '--agent', 'helper', '--thread', 't1', 'go'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const events = objects(stdout)
    const durable = events.filter(({ type, seq }) => seq !== undefined || type === 'run.ended')
    expect(durable.map(({ type }) => type)).toEqual([
      'message.received',
      'turn.started',
      'model.replied',
      'tool.result',
      'tool.result',
      'model.replied',
      'turn.ended',
      'run.ended',
    ])
    expect(events[0]).toMatchObject({ thread: 't1', path: ['t1'], seq: 2, cursor: expect.any(String) })
    expect(events.at(-1)).toMatchObject({
      thread: 't1',
      text: 'the sum is 3',
      stopReason: 'completed',
      steps: 2,
      usage: { inputTokens: 20, outputTokens: 10 },
      exitCode: 0,
    })
  })

  it('C1: errors are JSON on stderr', async () => {
    const { skein } = place()
    const { code, stdout, stderr } = await skein(['run', app, '--json', '--agent', 'nobody', 'go'])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(objects(stderr)).toEqual([
      {
        error: expect.objectContaining({
          code: 'UNKNOWN_AGENT',
          message: expect.stringContaining('helper'),
          retry: false,
        }),
      },
    ])
  })

  it('C1: so are usage errors', async () => {
    const { skein } = place()
    const { code, stdout, stderr } = await skein(['run', '--json', '--frobnicate'])
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(objects(stderr)).toMatchObject([{ error: { code: 'BAD_OPTION' } }])
  })
})

describe('bad input', () => {
  it.each([
    ['an unknown agent', ['run', app, '--agent', 'nobody', 'hi'], 'the app has no agent "nobody"; it has: echo'],
    ['an unknown thread', ['run', app, '--thread', 'nothing', 'hi'], 'there is no thread "nothing"'],
    ['a missing app', ['run', 'nowhere.ts', '--agent', 'echo', 'hi'], 'there is no app at'],
    ['an app without its ending', ['run', app.replace(/\.ts$/, ''), '--agent', 'echo', 'hi'], 'did you mean app.ts?'],
    ['an app without definitions', ['run', fixture('empty'), '--agent', 'echo', 'hi'], 'exports no definitions'],
    ['an app that throws', ['run', fixture('throws'), '--agent', 'echo', 'hi'], ': no database'],
    ['a store that is a file', ['run', app, '--store', app, '--agent', 'echo', 'hi'], 'app.ts is a file'],
    ['a store that is not there', ['ps'], 'there is no Skein store in'],
    ['no message', ['run', app, '--agent', 'echo'], 'there is no message'],
    ['an empty message', ['run', app, '--agent', 'echo', ''], 'the message is empty'],
    ['no agent', ['run', app, 'hi'], '--agent <name>'],
    ['a bad thread id', ['run', app, '--agent', 'echo', '--thread', 'a b', 'hi'], 'letters, digits'],
    ['no app', ['run'], "missing required argument 'app'"],
    ['an unknown option', ['run', app, '--agnet', 'echo'], "unknown option '--agnet' (Did you mean --agent?)"],
    ['an unknown command', ['walk'], "unknown command 'walk'"],
    ['a bad number', ['ps', '--limit', 'many'], 'a whole number'],
    ['a bad status', ['ps', '--status', 'sleepy'], 'Allowed choices are created'],
  ])('C1: %s exits 4 with one line', async (_, args, says) => {
    const { skein } = place()
    const { code, stdout, stderr } = await skein(args)
    expect({ code, stdout }).toEqual({ code: 4, stdout: '' })
    expect(stderr).toContain(says)
    expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  })

  it('C1: all mistakes of an app are shown, and a stack only with SKEIN_DEBUG=1', async () => {
    const { skein } = place()
    const command = ['run', fixture('mistakes'), '--agent', 'a', 'hi']
    const { code, stderr } = await skein(command)
    expect(code).toBe(4)
    expect(stderr).toMatch(/^skein: .* has 2 mistakes:\n- .*"missing".*\n- .*"absent".*\n$/)
    expect((await skein(command, { env: { SKEIN_DEBUG: '1' } })).stderr).toMatch(/\n\s+at /)
  })

  it('C1: another agent than the one of the thread is refused', async () => {
    const { skein, seed } = place()
    await seed({ agent: 'echo', id: 't1' })
    const { code, stderr } = await skein(['run', app, '--agent', 'helper', '--thread', 't1', 'hi'])
    expect(code).toBe(4)
    expect(stderr).toContain('thread t1 exists already with agent echo, not helper')
  })

  it('C1: a store that cannot be opened exits 1 and names it', async () => {
    const { spawned } = place()
    const { code, stderr } = await spawned(['run', app, '--store', join(app, 'store'), '--agent', 'echo', 'hi'])
    expect(code).toBe(1)
    expect(stderr).toMatch(/^skein: the store .*store cannot be opened: ENOTDIR.*\n$/)
  })

  it('C1: no command prints the help and exits 4; --help and --version exit 0', async () => {
    const { spawned } = place()
    const none = await spawned([])
    expect(none.code).toBe(4)
    expect(none.stderr).toContain('Usage: skein')
    expect(await spawned(['help', 'send'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Usage: skein send'),
    })
    expect(await spawned(['--version'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
  })
})

it('every command is there as it was built', async () => {
  const { skein } = place()
  const { stdout } = await skein(['--help'])
  const names = [...stdout.slice(stdout.indexOf('Commands:')).matchAll(/^ {2}(\w+) /gm)].map(([, name = '']) => name)
  expect(names).toHaveLength(42)
  // In one process: its module is loaded, and adds its arguments to the help.
  const program = new URL('program.js', pathToFileURL(binary)).href
  const script =
    `const { skein } = await import(${JSON.stringify(program)})\n` +
    `for (const name of ${JSON.stringify(names)}) console.log(await skein([name, '--help'], process))`
  const built = await launch(process.execPath, ['--input-type=module', '-e', script], {}).ended
  expect([...built.stdout.matchAll(/^Usage: skein (\w+) \[options\]/gm)].map(([, name]) => name)).toEqual(names)
  expect(built.stdout.match(/^0$/gm)).toHaveLength(names.length)
})

describe('signals', () => {
  it('C1: Ctrl-C keeps the turn, exits 130 and names the command that finishes it', async () => {
    const { folder, start, env } = place()
    const files = { NODE_COUNT_FILE: join(folder, 'count'), NODE_GATE_FILE: join(folder, 'gate') }
    const run = start(['run', app, '--agent', 'gated', '--thread', 't1', 'go'], { env: files })
    await run.says('✓ add')
    run.child.kill('SIGINT')
    const { code, stderr } = await run.ended
    expect(code).toBe(130)
    expect(stderr).not.toContain('skein: ')
    const command = /the turn is kept; go on with: (.*)\n$/.exec(stderr)?.[1] ?? ''
    expect(command).toContain('--thread t1 --store ')

    writeFileSync(files.NODE_GATE_FILE, '')
    const shell = `skein() { '${process.execPath}' '${binary}' "$@"; }; ${command} < /dev/null`
    const resumed = await launch('sh', ['-c', shell], { env: { ...env, ...files } }).ended
    expect(resumed).toMatchObject({ code: 0, stdout: 'through the gate\n' })
    expect(readFileSync(files.NODE_COUNT_FILE, 'utf8')).toBe('x')
  })

  it('C1: SIGTERM does the same and exits 143', async () => {
    const { start } = place()
    const run = start(['run', app, '--json', '--agent', 'gated', '--thread', 't1', 'go'])
    await run.says('tool.result')
    run.child.kill('SIGTERM')
    const { code, stderr } = await run.ended
    expect(code).toBe(143)
    expect(objects(stderr).at(-1)).toMatchObject({ thread: 't1', command: expect.stringContaining('--thread t1') })
  })

  it('C1: after kill -9 the same command without a message goes on', async () => {
    const { folder, start, spawned } = place()
    const files = { NODE_COUNT_FILE: join(folder, 'count'), NODE_GATE_FILE: join(folder, 'gate') }
    const command = ['run', app, '--agent', 'gated', '--thread', 't1']
    const run = start([...command, 'go'], { env: files })
    await run.says('✓ add')
    run.child.kill('SIGKILL')
    await run.ended
    writeFileSync(files.NODE_GATE_FILE, '')
    expect(await spawned(command, { env: files })).toMatchObject({ code: 0, stdout: 'through the gate\n' })
    expect(readFileSync(files.NODE_COUNT_FILE, 'utf8')).toBe('x')
  })

  it('C1: Ctrl-C in a chat names the chat that goes on', async () => {
    const { startHere } = place()
    const chat = startHere(['chat', app, '--agent', 'gated', '--thread', 't1'], { terminal: true, input: 'go\n' })
    await chat.says('add')
    chat.signal('SIGINT')
    const { code, stderr } = await chat.ended
    expect(code).toBe(130)
    expect(stderr).toMatch(/the thread is kept; go on with: skein chat \S+app\.ts --thread t1/)
  })

  it('C1: a second Ctrl-C exits at once, although a call does not stop', async () => {
    const { start } = place()
    const run = start(['run', app, '--agent', 'stubborn', 'go'])
    await run.says('→ hang')
    run.child.kill('SIGINT')
    await run.says('stopping')
    run.child.kill('SIGINT')
    const { code, stderr } = await run.ended
    expect(code).toBe(130)
    expect(stderr).not.toContain('go on with')
  })
})

describe('a terminal', () => {
  // `script` of util-linux is what gives a process a terminal without a native module.
  it.skipIf(!existsSync('/usr/bin/script'))('C1: shows words and calls live, in colour unless NO_COLOR', async () => {
    const { env } = place()
    const command = `'${process.execPath}' '${binary}' run '${app}' --agent helper --thread t1 go`
    const onTerminal = (more: Readonly<Record<string, string>>) =>
      launch('/usr/bin/script', ['-qec', command, '/dev/null'], { env: { ...env, TERM: 'xterm', ...more } }).ended
    const coloured = await onTerminal({})
    expect(coloured.code).toBe(0)
    expect(coloured.stdout).toContain('let me see')
    expect(coloured.stdout).toContain(`${escapeChar}[32m✓${escapeChar}[0m add`)
    const plain = await onTerminal({ NO_COLOR: '1' })
    expect(plain.stdout).toContain('✓ add')
    expect(plain.stdout).not.toContain(`${escapeChar}[32m`)
  })
})
