/** At a terminal: what a turn waits for is asked in place, and `skein chat`. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { app as plain, fixture, objects, place } from './binary.js'

const app = fixture('people')
// oxlint-disable-next-line no-control-regex
const bare = (text: string): string => text.replace(/\u001B\[[\d;]*[A-Za-z]/g, '')

type Typed = readonly (readonly [after: string, line: string])[]

async function runAs(agent: string, types: Typed, env: Readonly<Record<string, string>> = {}) {
  const own = place()
  const { code, stdout, stderr } = await own.skein(['run', app, '--agent', agent, '--thread', 't1', 'go'], {
    terminal: true,
    types,
    env,
  })
  return { ...own, code, said: bare(stdout), stderr }
}

describe('a turn that waits for approval, at a terminal', () => {
  it('A1, C1: shows the whole of it and asks; y runs it, and the same command goes on', async () => {
    const { code, said } = await runAs('clerk', [['Run it?', 'y\n']])
    expect(code).toBe(0)
    expect(said).toContain(
      '‖ refund waits for approval\nReally\ngive it back?\n  {\n    "amount": 7\n  }\nRun it? y: yes, n: no, e: ' +
        'with other args, Enter: later\n',
    )
    expect(said).toContain('{"refunded":7} & found')
  })

  it('A1, C1: a line that only begins with a y is no approval: it is asked again', async () => {
    const { code, said, stderr } = await runAs('clerk', [['Run it?', 'yesterday I said no refunds\n']])
    expect(code).toBe(3)
    expect(said.match(/Run it\?/g)).toHaveLength(2)
    expect(stderr).toContain('skein approve t1/call_1_0')
  })

  it('A1, C1: n asks why, which the model reads', async () => {
    const { code, said } = await runAs('clerk', [
      ['Run it?', 'no\n'],
      ['Why not?', 'too much\n'],
    ])
    expect(code).toBe(0)
    expect(said).toMatch(/TOOL_DENIED.*too much/)
  })

  it('A1, C1: e takes other args, typed or from the editor; what does not fit is told and asked again', async () => {
    const typed = await runAs('clerk', [
      ['Run it?', 'e\n'],
      ['as JSON', '{"amount":\n'],
      ['Run it?', 'e\n'],
      ['as JSON', '{"amount":"much"}\n'],
      ['Run it?', 'e\n'],
      ['as JSON', '{"amount":3}\n'],
    ])
    expect(typed.code).toBe(0)
    expect(typed.said).toContain('{"refunded":3} & found')
    expect(typed.stderr).toMatch(/this is not JSON[\s\S]*amount/)
    const { folder } = place()
    const editor = join(folder, 'editor.sh')
    writeFileSync(editor, `#!/bin/sh\nsed -i 's/7/4/' "$1"\n`, { mode: 0o755 })
    expect((await runAs('clerk', [['Run it?', 'e\n']], { EDITOR: editor })).said).toContain('{"refunded":4} & found')
  })

  it('A1, C1: Enter, or the end of the input, leaves it to the inbox: exit code 3, with what to type', async () => {
    for (const types of [[['Run it?', '\n']], []] satisfies Typed[]) {
      const { code, stderr } = await runAs('clerk', types)
      expect(code).toBe(3)
      expect(stderr).toContain('skein approve t1/call_1_0')
    }
  })

  it('A2, A3, C1: asks for all that waits, one after the other: an approval and an answer', async () => {
    const { code, said } = await runAs('pair', [
      ['Run it?', 'y\n'],
      ['Your answer', 'because\n'],
    ])
    expect(code).toBe(0)
    expect(said).toMatch(/‖ ask waits for an answer\n {2}\{\n {4}"question": "why\?"\n {2}\}\nYour answer/)
    expect(said).toContain('{"refunded":1} & because')
  })

  it('C1: nobody is asked where no person sits', async () => {
    const { skein } = place()
    expect(await skein(['run', app, '--agent', 'clerk', '--thread', 't1', 'go'], { input: 'y\n' })).toMatchObject({
      code: 3,
      stdout: '',
    })
  })
})

describe('skein chat', () => {
  it('C1: a line is a message; /exit ends, and the command that goes on is told', async () => {
    const { skein } = place()
    const first = await skein(['chat', plain, '--agent', 'echo', '--thread', 't1'], {
      terminal: true,
      input: 'one\n\ntwo\n/exit\nthree\n',
    })
    expect(first.code).toBe(0)
    expect(bare(first.stdout)).toMatch(/you said: one\n[\s\S]*you said: two\n/)
    expect(first.stdout).not.toContain('three')
    expect(bare(first.stderr)).toMatch(/go on with: skein chat \S+app\.ts --thread t1/)
    const second = await skein(['chat', plain, '--thread', 't1'], { terminal: true, input: 'four\n' })
    expect(bare(second.stdout)).toContain('you said: four')
  })

  it('C1: a message that a person typed is on the terminal already; one that was piped in is shown', async () => {
    const typed = await place().skein(['chat', plain, '--agent', 'echo'], { terminal: true, input: 'one\n' })
    // The line after the prompt was ended by the person.
    expect(bare(typed.stdout)).toMatch(/^> . thinking\nyou said: one\n/)
    const { stdout } = await place().skein(['run', plain, '--agent', 'echo', 'one'], { terminal: true })
    expect(bare(stdout)).toContain('> one\n')
  })

  it('A1, C1: what a turn waits for is asked in between', async () => {
    const { skein } = place()
    const { code, stdout } = await skein(['chat', app, '--agent', 'clerk', '--thread', 't1'], {
      terminal: true,
      input: 'go\n',
      types: [
        ['Run it?', 'y\n'],
        ['> ', 'again\n'],
        ['Run it?', 'n\n'],
        ['Why not?', '\n'],
      ],
    })
    expect(code).toBe(0)
    expect(bare(stdout)).toMatch(/Run it\?[\s\S]*"refunded":7[\s\S]*Run it\?[\s\S]*TOOL_DENIED/)
  })

  it('A1, C1: what was typed before a question was shown is no answer to it, but the next message', async () => {
    const { skein } = place()
    const { code, stdout, stderr } = await skein(['chat', app, '--agent', 'clerk', '--thread', 't1'], {
      terminal: true,
      input: 'go\ny\n',
      types: [['Run it?', '\n']],
    })
    expect(code).toBe(3)
    expect(bare(stdout)).not.toContain('refunded')
    expect(stderr).toContain('skein approve t1/call_1_0')
    const [{ messages } = {}] = objects((await skein(['show', 't1', '--json'])).stdout)
    expect(messages).toContainEqual(expect.objectContaining({ role: 'user', text: 'y' }))
  })

  it('A1, C1: with a call that waits for a person it exits 3; the next chat of the thread asks for it at once', async () => {
    const { skein } = place()
    const first = await skein(['chat', app, '--agent', 'clerk', '--thread', 't1'], {
      terminal: true,
      input: 'go\n',
      types: [['Run it?', '\n']],
    })
    expect(first.code).toBe(3)
    expect(first.stderr).toContain('1 call waits for someone')
    const second = await skein(['chat', app, '--thread', 't1'], { terminal: true, types: [['Run it?', 'y\n']] })
    expect(second.code).toBe(0)
    expect(bare(second.stdout)).toMatch(/refund waits for approval[\s\S]*"refunded":7/)
    const third = await skein(['chat', app, '--thread', 't1'], { terminal: true, input: '/exit\n' })
    expect([third.code, bare(third.stdout)]).toEqual([0, '> '])
  })
})
