/** A call that ends its host, again and again: hosts come and go, until it is answered. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'

const fixture = fileURLToPath(new URL('./fixtures/aborts.mjs', import.meta.url))

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'skein-aborts-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function life(
  store: string,
): Promise<{ readonly code: number | null; readonly said: readonly string[]; readonly errors: string }> {
  const child = spawn(process.execPath, [fixture, store], { stdio: ['ignore', 'pipe', 'pipe'] })
  let [said, errors] = ['', '']
  child.stdout.on('data', (text: Buffer) => (said += text.toString()))
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()))
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  return { code, said: said.split('\n').filter((line) => line !== ''), errors }
}

it('T14: a call that ends its host is answered after it has done so often; those beside it get their results', async () => {
  const store = join(folder, 'store')
  let deaths = 0
  let last = await life(store)
  for (; last.code !== 0 && deaths < 8; last = await life(store)) deaths++
  expect(last).toMatchObject({ code: 0 })
  // The first may come before the call itself is in the journal.
  expect([3, 4]).toContain(deaths)
  const said = last.said.map(
    (line) => JSON.parse(line) as { warned?: string; thread?: string; results?: readonly string[] },
  )
  expect(said.flatMap(({ warned }) => warned ?? [])).toEqual([
    expect.stringMatching(/aborts .* was under way when its host died, 3 times/),
  ])
  const results = Object.fromEntries(
    said.flatMap(({ thread, results: given }) => (thread === undefined ? [] : [[thread, given]])),
  )
  expect(results).toEqual({
    guilty: [
      'slow: done',
      expect.stringMatching(/CALL_KILLED_ITS_HOST: aborts was under way when its host died, 3 times/),
      'slow: done',
    ],
    other: ['slow: done'],
    third: ['slow: done', 'slow: done'],
  })
})
