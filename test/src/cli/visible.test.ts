/** What others wrote is shown on a terminal, never obeyed, and whoever approves sees all of it. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createOutput } from '../../../src/cli/output.js'
import type { Screen } from '../../../src/cli/process.js'
import { label, visible } from '../../../src/cli/visible.js'
import { fixture, objects, place } from './binary.js'
import { nasty } from './fixtures/nasty.js'

/** What a terminal would obey, or what would not be seen. */
const obeyed =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u200B\u200E\u200F\u2028-\u202E\u2060-\u2069\uFEFF]|[\u{E0000}-\u{E007F}]/u

describe('the escape', () => {
  it('shows what would be obeyed or hidden, and nothing else', () => {
    expect(visible(nasty)).toBe(
      String.raw`\u001b[2J\u001b]0;owned\u0007\u001b[1A\u009b31m\u202egnp.exe\u2066\u200b\u00ad\udb40\udc41` +
        '\n' +
        String.raw`✓ approved by admin\u001b[8m`,
    )
    for (const plain of ['a\tb\nc', 'Ünïcode 漢字 עברית العربية', '👩‍👩‍👧 👍🏽 ❤️', 'می‌خواهم', 'क्‍ष', 'א\u200F!'])
      expect(visible(plain)).toBe(plain)
    expect(visible('pay\u200Dpal \u200F x')).toBe(String.raw`pay\u200dpal \u200f x`)
  })

  it('of any text nothing is left that is obeyed, and a label is one line', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(visible(text)).not.toMatch(obeyed)
        expect(label(text)).not.toMatch(/[\n\t]/)
      }),
    )
  })
})

describe('the way to the screen', () => {
  const screen = () => {
    let text = ''
    const stream = Object.assign(
      new Writable({
        write(chunk: Buffer, _, done) {
          text += chunk.toString()
          done()
        },
      }),
      { isTTY: true, columns: 200, rows: 40 },
    )
    return { stream: stream as Screen & Writable, text: () => text }
  }

  it('colours are ours alone, whatever is painted, fitted, noted or shown', () => {
    const [stdout, stderr] = [screen(), screen()]
    const out = createOutput(
      {
        stdin: process.stdin,
        piped: () => false,
        interactive: () => false,
        stdout: stdout.stream,
        ownStdout: () => stdout.stream,
        stderr: stderr.stream,
        env: {},
        onSignal: () => undefined,
        exit: () => undefined,
      },
      false,
    )
    const forged = '\u001B[31mred\u001B[0m'
    out.print(`${out.paint('green', `ours ${forged}`)} ${forged}\n`)
    out.print(`${out.fit(out.paint('dim', forged.repeat(40)))}\n`)
    out.note(forged)
    out.show([`${out.paint('cyan', 'row')} ${forged}\nsecond ${nasty}`])
    const all = stdout.text() + stderr.text()
    expect(all).toContain('\u001B[32mours \\u001b[31mred\\u001b[0m\u001B[0m')
    expect(all).not.toContain('\u001B[31m')
    for (const char of ['\u202E', '\u200B', '\u009B', '\u0007']) expect(all).not.toContain(char)
    const [last = ''] = stdout.text().trimEnd().split('\n').slice(-1)
    expect(last).toContain('\u001B[36mrow\u001B[0m \\u001b[31mred\\u001b[0m second')
  })

  it('no command has another one', () => {
    const folder = fileURLToPath(new URL('../../../src/cli', import.meta.url))
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (file) => file.endsWith('.ts') && !['output.ts', 'main.ts', 'process.ts'].includes(file),
    )
    const past = files.flatMap((file) =>
      readFileSync(join(folder, file), 'utf8')
        .split('\n')
        .flatMap((line, at) =>
          /console\.|process\.std|(?:stdout|stderr)\.write\((?!visible\(|`\$\{(?:visible\(|version\())/.test(line)
            ? [`${file}:${at + 1} ${line.trim()}`]
            : [],
        ),
    )
    // Help is of our own words.
    expect(past.filter((line) => !line.includes('writeOut: (text) => void stdout.write(text),'))).toEqual([])
  })
})

describe('hostile text from one end to the other', () => {
  it('C1: run, show, tail, ps, tree and inbox obey nothing of it, and no line of it looks like ours', async () => {
    const { skein, host } = place()
    const app = fixture('hostile')
    const ran = await skein(['run', app, '--agent', 'hostile', '--thread', 't1', '--tag', `tag ${nasty}`, 'go'])
    expect(ran.code).toBe(3)
    const said = [
      ran,
      ...(await Promise.all(
        [
          ['show', 't1'],
          ['tail', 't1', '--no-follow'],
          ['ps'],
          ['tree', 't1'],
          ['inbox'],
          ['inbox', '--full'],
          ['ps', '--json'],
          ['tail', 't1', '--no-follow', '--json'],
        ].map((args) => skein(args)),
      )),
    ]
    for (const { stdout, stderr } of said) {
      expect(stdout + stderr).not.toMatch(obeyed)
      expect(stdout + stderr).not.toBe('')
    }
    // The model's own words may have lines; names, tags, args, errors and prompts may not.
    const lines = said.slice(2, 7).flatMap(({ stdout, stderr }) => (stdout + stderr).split('\n'))
    expect(lines.filter((line) => line.trimStart().startsWith('✓ approved by admin'))).toHaveLength(1)
    expect(objects(said[7]?.stdout ?? '')[0]).toMatchObject({ threads: [{ tags: [`tag ${nasty}`] }] })
    await (await host(app)).close()
  })

  it('C1: an inbox says what is cut and how to see it; approve shows all before it decides', async () => {
    const { skein } = place()
    await skein(['run', fixture('hostile'), '--agent', 'hostile', '--thread', 't1', 'go'])
    const listed = await skein(['inbox'])
    expect(listed.stdout).not.toContain('the end of it')
    expect(listed.stderr).toMatch(/args that end with … are cut: skein inbox --full .*shows all/)
    const full = await skein(['inbox', '--full'])
    expect(full.stdout).toMatch(/"note": "the end of it"/)
    const approved = await skein(['approve', 't1/call_1_2'])
    expect(approved.stderr).toMatch(
      /^t1\/call_1_2: pay\n {2}args {\n {4}"to": "a{60} then [^\n]*\\u202egnp\.exe[^\n]*",\n {4}"note": "the end of it"\n {2}}\n {2}asks pay\? /,
    )
    expect(approved.stdout + approved.stderr).not.toMatch(obeyed)
    const [object] = objects((await skein(['approve', 't1/call_1_2', '--json'])).stdout)
    expect(object).toMatchObject({ id: 't1/call_1_2', state: 'kept' })
  })
})
