/**
 * No byte on the disk ends the process: a store is damaged at many places, and each time asked for everything it has.
 */
import { execFile } from 'node:child_process'
import { cpSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { times } from '../../helpers/soak.js'

const script = fileURLToPath(new URL('fixtures/flip-bytes.mjs', import.meta.url))
let home = ''

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'skein-flipped-'))
  await run('make', join(home, 'closed'), join(home, 'killed'))
})
afterAll(() => rm(home, { recursive: true, force: true }))

/** What it said, and how it ended: a signal is what must not be. */
async function run(...args: readonly string[]): Promise<{ readonly stdout: string; readonly signal: unknown }> {
  return promisify(execFile)(process.execPath, [script, ...args], { maxBuffer: 1 << 26 }).then(
    ({ stdout }) => ({ stdout, signal: undefined }),
    (thrown: { stdout: string; stderr: string; signal: unknown; code: unknown }) => ({
      stdout: `${thrown.stdout}\n${thrown.stderr}`,
      signal: thrown.signal ?? thrown.code,
    }),
  )
}

/** Places all over a file, more of them where a page begins, the same on every run. */
function places(path: string, count: number): readonly (readonly [number, number])[] {
  const { size } = statSync(path)
  let seed = 12_345
  const next = (below: number): number => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) % below
  return Array.from({ length: count }, (_, n) => {
    const at = n % 4 === 0 ? next(Math.ceil(size / 4096)) * 4096 + next(100) : next(size)
    return [Math.min(at, size - 1), [0x80, 0xff, 0x01, 0x40, 0x08][n % 5] ?? 0xff]
  })
}

type Flip = readonly [file: string, at: number, xor: number]

/** What went wrong in any of the stores, and how the process ended that used them. */
async function useDamaged(kind: string, flips: readonly Flip[]): Promise<unknown> {
  const scratch = join(home, `scratch-${kind}-${flips[0]?.[0] ?? ''}`)
  const { stdout, signal } = await run('try', join(home, kind), scratch, JSON.stringify(flips))
  const lines = stdout.split('\n').filter((line) => line !== '')
  const tried = lines.filter((line) => line.startsWith('at ')).length
  const wrong = lines.filter((line) => !line.startsWith('at ') && line !== 'done')
  return { wrong, tried, signal, last: lines.at(-1) }
}

const allFine = (tried: number): unknown => ({ wrong: [], tried, signal: undefined, last: 'done' })

/** How many bytes one test damages: its limit is for so many, however many there are in all. */
const atOnce = 100
const parts = (
  [
    ['closed', 'skein.db', times(30, 3_000)],
    ['killed', 'skein.db', times(8, 500)],
    ['killed', 'skein.db-wal', times(16, 2_000)],
    ['killed', 'skein.mark', times(4, 200)],
  ] as const
).flatMap(([kind, file, count]) =>
  Array.from({ length: Math.ceil(count / atOnce) }, (_, part) => {
    const from = part * atOnce
    return [kind, file, { from, to: Math.min(from + atOnce, count) }] as const
  }),
)

it.each(parts)(
  'P2: whatever byte of a %s store is damaged in %s, the process goes on, every error is one of ours, and ' +
    'nobody waits for ever',
  async (kind, file, { from, to }) => {
    const flips = places(join(home, kind, file), to)
      .slice(from)
      .map(([at, xor]): Flip => [file, at, xor])
    expect(await useDamaged(kind, flips)).toEqual(allFine(flips.length))
  },
)

// Found by soaking; the same for any layout of the file is in damage.test.ts, here and in runtime/journal.
it.each([
  ['the next position of the journal seems to be taken', 122_892, 0xff],
  ['the table that counts mail forgets what it gave', 45_060, 0x40],
  ['a tree that is deleted cannot be removed', 8_196, 0x01],
])('P2: where %s (byte %i of skein.db), whoever asks is told at once', async (_, at, xor) => {
  expect(await useDamaged('closed', [['skein.db', at, xor]])).toEqual(allFine(1))
})

it('P2: where the words that declare a row number are not text any more, the process goes on', async () => {
  const bytes = readFileSync(join(home, 'closed', 'skein.db'))
  const flips: Flip[] = []
  for (let at = bytes.indexOf('PRIMARY KEY'); at >= 0; at = bytes.indexOf('PRIMARY KEY', at + 1))
    flips.push(['skein.db', at + 3, 0x80])
  expect(flips.length).toBeGreaterThan(3)
  expect(await useDamaged('closed', flips)).toEqual(allFine(flips.length))
})

it('a store that lost its log and its shared memory is the one that was closed last', async () => {
  const folder = join(home, 'without')
  cpSync(join(home, 'killed'), folder, { recursive: true })
  for (const name of ['skein.db-wal', 'skein.db-shm']) rmSync(join(folder, name), { force: true })
  const { stdout, signal } = await run(
    'try',
    folder,
    join(home, 'scratch-without'),
    JSON.stringify([['skein.mark', 0, 0]]),
  )
  expect([
    stdout
      .trim()
      .split('\n')
      .filter((line) => line.startsWith('wrong')),
    signal,
    existsSync(join(home, 'scratch-without', 'skein.lost')),
  ]).toEqual([[], undefined, true])
})
