/**
 * kill -9 in the middle of a turn, and how it goes on: `npm run demo`.
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectSkein, local } from 'skein'

const sections = 12
const folder = mkdtempSync(join(tmpdir(), 'skein-demo-'))
const ledger = join(folder, 'ledger')
const print = (text: string): boolean => process.stdout.write(text)
const row = (name: string): boolean => print(`\n  ${name.padEnd(15)}`)

/** One life of the reporter. It is killed when `killIn` begins, or ends by itself. Gives the signal that ended it. */
function live(killIn?: number): Promise<string | null> {
  const child = fork(new URL('./reporter.ts', import.meta.url), [join(folder, 'store'), ledger, String(sections)])
  row(`process ${child.pid}`)
  let column = 0
  child.on('message', (section: number) => {
    print(String(section).padStart(3 * (section - column)))
    column = section
    if (section === killIn) child.kill('SIGKILL')
  })
  return new Promise((resolve) => child.on('exit', (_code, signal) => resolve(signal)))
}

/** What the store holds, read without a host. */
async function look() {
  const client = await connectSkein({ backend: local(join(folder, 'store')) })
  const thread = await client.threads.get('report')
  const [messages, status] = await Promise.all([thread.messages(), thread.status()])
  await client.close()
  const results = messages.filter(({ role }) => role === 'tool').map(({ text }): number => JSON.parse(text).section)
  return {
    status,
    results,
    last: messages.at(-1)?.text,
    replies: messages.filter(({ role }) => role === 'assistant').length,
  }
}

try {
  print(
    `A turn of ${sections} steps: in each the model asks for one section and a tool writes it.\nIts process is ` +
      `killed in the middle, then started again.\n`,
  )
  assert.equal(await live(7), 'SIGKILL')
  print('  ✗ kill -9')
  const kept = await look()
  row('on disk')
  print(`${kept.results.map((section) => String(section).padStart(3)).join('')}     the thread is "${kept.status}"`)
  assert.equal(await live(), null)
  const { status, results, replies, last } = await look()
  print(`  the thread is "${status}"\n\n`)

  const began = readFileSync(ledger, 'utf8').trim().split('\n').map(Number)
  const twice = began.filter((section, index) => began.indexOf(section) < index)
  assert.deepEqual(
    twice.filter((section) => kept.results.includes(section)),
    [],
  )
  print(
    `  ✓ no finished call ran twice: ${kept.results.length} were finished at the kill, ${twice.join() || 'none'} ` +
      `was cut off and began again\n`,
  )
  assert.deepEqual(
    results,
    Array.from({ length: sections }, (_, index) => index + 1),
  )
  print(
    `  ✓ the transcript is complete: ${results.length} results in order, ${replies} replies, the last one:\n    ` +
      `"${last}"\n`,
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
