/** Every example, and the code in README.md, as a newcomer runs it: a real process, what it prints, how it ends. */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { launch, place } from '../src/cli/binary.js'

const root = fileURLToPath(new URL('../..', import.meta.url))
const tsx = join(root, 'node_modules/.bin/tsx')
const examples = join(root, 'examples')

/** A run of TypeScript that must end well; gives what it printed. */
async function printed(file: string): Promise<string> {
  const { code, stdout, stderr } = await launch(tsx, [file], {}).ended
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return stdout
}

test('every example has a test here and fits on a screen', () => {
  expect(readdirSync(examples).sort()).toEqual(['01-first-thread', '02-crash-and-resume'])
  for (const file of readdirSync(examples, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'))) {
    expect(readFileSync(join(examples, file), 'utf8').trimEnd().split('\n').length, file).toBeLessThanOrEqual(60)
  }
})

test('01-first-thread prints what the model says and what its calls came to', async () => {
  const lines = (await printed(join(examples, '01-first-thread/main.ts'))).split('\n')
  // Calls run in parallel on worker threads: which result lands first is open.
  const landed = lines.slice(3, 6).toSorted()
  expect([...lines.slice(0, 3), ...landed, ...lines.slice(6)]).toEqual([
    '> What are 3 kg of apples and 1 kg of figs, to Lisbon?',
    '',
    'Let me look that up.',
    '  ✓ delivery {"city":"Lisbon","day":"Thursday"}',
    '  ✓ price {"euros":7.2}',
    '  ✗ price TOOL_THREW: no figs today; there are: apples, pears',
    '3 kg of apples are 7.2 euros and arrive on Thursday; there are no figs.',
    '',
    'completed after 2 steps; the transcript has 6 messages',
    '',
  ])
})

test('01-first-thread is an app for the command line too', async () => {
  const { skein } = place()
  const { code, stdout } = await skein(['run', join(examples, '01-first-thread/app.ts'), '--agent', 'clerk', '--thread', 'fruit', 'What are 3 kg of apples?'])
  expect(code).toBe(0)
  expect(stdout).toBe('Let me look that up.\n3 kg of apples are 7.2 euros and arrive on Thursday; there are no figs.\n')
  expect((await skein(['show', 'fruit'])).stdout).toContain('→ delivery {"city":"Lisbon"}')
})

test('02-crash-and-resume loses nothing and runs nothing finished again', { timeout: 60_000 }, async () => {
  const text = await printed(join(examples, '02-crash-and-resume/main.ts'))
  expect(text).toContain('✗ kill -9')
  expect(text).toMatch(/on disk +1 +2 .* the thread is "(?:acting|thinking)"/)
  expect(text).toMatch(/ 12 +the thread is "idle"/)
  expect(text).toMatch(/✓ no finished call ran twice: \d+ were finished at the kill/)
  expect(text).toContain('✓ the transcript is complete: 12 results in order, 13 replies')
  expect(text).toContain('"The report is complete: 12 sections."')
})

test('the code in README.md runs', async () => {
  const [, code] = /```ts\n([\s\S]*?)```/.exec(readFileSync(join(root, 'README.md'), 'utf8')) ?? []
  // Inside the project, so that `skein` is this package.
  mkdirSync(join(root, '.cache'), { recursive: true })
  const folder = mkdtempSync(join(root, '.cache/readme-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'sample.ts')
  writeFileSync(file, code?.replaceAll("'.skein'", JSON.stringify(join(folder, 'store'))) ?? '')
  const text = await printed(file)
  expect(text).toContain('1 + 2 is 3.')
  expect(text).toContain("stopReason: 'completed'")
})
