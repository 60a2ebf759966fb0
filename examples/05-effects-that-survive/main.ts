/**
 * Effects on the world, and a process that is killed in the middle of them: a moment before or after they happened,
 * which nobody can tell afterwards.
 *
 *   npx tsx examples/05-effects-that-survive/main.ts
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectSkein, local } from 'skein'

const folder = mkdtempSync(join(tmpdir(), 'skein-effects-'))
const store = join(folder, 'store')
const world = join(folder, 'world')
const pick = (...words: readonly string[]): string => words[randomInt(words.length)] ?? ''

/** Of each kind of effect one is hit: which, and whether before or after it happened, is open. */
const [charge, mark, notify] = [
  `charge ${pick('A', 'B', 'C')}`,
  `mark ${pick('A', 'B', 'C')}`,
  `notify ${pick('A', 'B', 'C')}`,
]
const kills = new Set([charge, mark, notify].map((effect) => `${pick('before', 'after')} ${effect}`))

/**
 * One life. It is killed at the first of the chosen points that it comes to, or ends by itself: then it gives false.
 */
function live(): Promise<boolean> {
  const child = fork(new URL('./cashier.ts', import.meta.url), [store, world])
  process.stdout.write(`process ${child.pid}:`)
  child.on('message', (said: string) => {
    const [when, tool, bill] = said.split(' ')
    if (when === 'before') process.stdout.write(` ${tool} ${bill}`)
    if (kills.delete(`${when} ${tool} ${bill}`)) {
      process.stdout.write(` ✗ kill -9 ${when} it happened`)
      child.kill('SIGKILL')
    } else child.send('go on')
  })
  return new Promise((resolve) =>
    child.on('exit', (_code, signal) => resolve(process.stdout.write('\n') && signal === 'SIGKILL')),
  )
}

try {
  while (await live());

  const client = await connectSkein({ backend: local(store) })
  const results = (await (await client.threads.get('till')).messages()).filter(({ role }) => role === 'tool')
  await client.close()
  const ledger = readFileSync(world, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' ').slice(0, 2).join(' '))
  console.log(`\nthe ledger: ${ledger.join(', ')}\n`)

  const safe = ledger.filter((line) => !line.startsWith('notify'))
  assert.deepEqual(safe, ['charge A', 'mark A', 'charge B', 'mark B', 'charge C', 'mark C'])
  console.log('✓ every charge (it has a key) and every mark (it has a probe) happened exactly once')
  const [unknown, ...others] = results.filter(({ failed }) => failed)
  assert.deepEqual([unknown?.tool, unknown?.failed?.code, others], ['notify', 'EFFECT_UNKNOWN', []])
  const times = ledger.filter((line) => line === notify).length
  console.log(
    `✓ ${notify} (it has neither) was not repeated: it happened ${times} times. The model was told\n  ` +
      `"${unknown?.text}"`,
  )
  assert.ok(times <= 1)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
