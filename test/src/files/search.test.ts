/** Searching files with patterns that nobody has looked at: none of them takes longer than the text it is put to. */
import { describe, expect, it } from 'vitest'
import { emptyTree } from '../../../src/core/tree.js'
import type { DirNode } from '../../../src/core/tree.js'
import type { Files } from '../../../src/files/port.js'
import { createStore, runOn, settleOn } from './copies.js'
import type { Body } from './copies.js'

const world = { store: createStore(), at: 7 }
const holding = async (contents: Readonly<Record<string, string>>): Promise<DirNode> =>
  (
    await settleOn(
      emptyTree,
      async (files) => Promise.all(Object.entries(contents).map(([path, content]) => files.writeFile(path, content))),
      world,
    )
  ).tree
const on = async <Value>(contents: Readonly<Record<string, string>>, body: Body<Value>): Promise<Value> =>
  (await runOn(await holding(contents), body, world)).value
const lines = (found: Awaited<ReturnType<Files['grep']>>): string[] =>
  found.map(({ path, line, text }) => `${path}:${line}:${text}`)

describe('a pattern given as text', () => {
  it.each(['(a+)+$', '^(a|a)*$', '(.*)*x', '(a?){40}a{40}b', '^(\\w+\\s?)*$', '(.*a){25}b'])(
    '%s does not hang',
    async (pattern) => {
      expect(await on({ '/a': `${'a'.repeat(40)}!\n${'a '.repeat(200)}!` }, (files) => files.grep(pattern))).toEqual([])
    },
  )

  it.each([
    ['(a)\\1', /backreferences and lookaround/],
    ['(?<n>a)\\k<n>', /backreferences and lookaround/],
    ['a(?=b)', /backreferences and lookaround/],
    ['a(?!b)', /backreferences and lookaround/],
    ['(?<=a)b', /backreferences and lookaround/],
    ['(?<!a)b', /backreferences and lookaround/],
    ['(', /missing closing \)/],
    ['a**', /\*\*/],
    ['(x?){600}', /too large/],
    ['a{1001}', /repeat count/],
  ])('%s is refused, and told why', async (pattern, why) => {
    await expect(on({}, (files) => files.grep(pattern))).rejects.toMatchObject({
      code: 'EINVAL',
      message: expect.stringMatching(why),
    })
  })

  it.each([
    ['\\u0061\\x62', 'ab'],
    ['(?<year>\\d{4})-\\d\\d', '2026-01'],
    ['(?i)HELLO', 'hello'],
    ['\\p{Lu}', 'É'],
    ['^.$', '𝒳'],
    ['\\bfoo\\b|[^\\s-]{9}', 'a foo'],
    ['a/b\\.c', 'a/b.c'],
  ])('%s finds %s', async (pattern, text) => {
    expect(lines(await on({ '/a': `--\n${text}\n` }, (files) => files.grep(pattern)))).toEqual([`/a:2:${text}`])
  })

  it('one that is no text is refused', async () => {
    // @ts-expect-error what a body without types may give
    await expect(on({}, (files) => files.grep(5))).rejects.toMatchObject({
      code: 'EINVAL',
      message: expect.stringMatching(/number/),
    })
  })
})

describe('a long line', () => {
  const wide = `${'x'.repeat(500_000)}needle${'y'.repeat(500_000)}`

  it('comes with what is around the match, where a reader wants no more', async () => {
    const around = async (text: string, maxChars: number) =>
      lines(await on({ '/a': text }, (files) => files.grep('needle', { maxChars })))
    expect(await around(`12345needle67890`, 10)).toEqual(['/a:1:…45needle67…'])
    expect(await around(`needle67890`, 8)).toEqual(['/a:1:needle67…'])
    expect(await around(`12345needle`, 8)).toEqual(['/a:1:…45needle'])
    expect(await around(`12345needle67890`, 16)).toEqual(['/a:1:12345needle67890'])
    expect(await around(`𝒳𝒳needle𝒳𝒳`, 8)).toEqual(['/a:1:…𝒳needle…'])
  })

  it('is one match, wherever in it the text is, also over the end of a part', async () => {
    for (const before of [0, 1, 65_530, 65_535, 65_536, 131_071, 500_000]) {
      const text = `first\n${'x'.repeat(before)}needle needle${'y'.repeat(200_000)}needle\nneedle`
      const found = await on({ '/a': text }, (files) => files.grep('needle', { maxChars: 20 }))
      expect(
        found.map(({ line }) => line),
        `after ${before}`,
      ).toEqual([2, 3])
      expect(found[0]?.text).toContain('needle')
    }
  })

  it('is searched in parts by a RegExp too, and each part is as long as is told', async () => {
    const [found] = await on({ '/a': wide }, (files) => files.grep(/needle/))
    expect(found?.text).toContain('needle')
    expect(found?.text.length).toBeLessThanOrEqual(65_536)
  })

  it('its length costs no more than its parts', async () => {
    const text = `${'lorem ipsum '.repeat(2 ** 20)}needle`
    expect(lines(await on({ '/a': text }, (files) => files.grep('needle$', { maxChars: 10 })))).toEqual([
      '/a:1:…sum needle',
    ])
  })
})

describe('a search', () => {
  it('stops when it is told to', async () => {
    const controller = new AbortController()
    const why = new Error('enough')
    const found = on({ '/a': 'word '.repeat(2 ** 20) }, (files) => files.grep('nothing', { signal: controller.signal }))
    setImmediate(() => controller.abort(why))
    await expect(found).rejects.toBe(why)
    await expect(on({ '/a': 'x' }, (files) => files.grep('x', { signal: controller.signal }))).rejects.toBe(why)
    await expect(on({ '/a': 'x' }, (files) => files.find('x', { signal: controller.signal }))).rejects.toBe(why)
  })

  it('lets others go on meanwhile', async () => {
    let turns = 0
    let searching = true
    const count = (): void => {
      turns += 1
      if (searching) setImmediate(count)
    }
    setImmediate(count)
    await on({ '/a': 'word\n'.repeat(2 ** 18) }, (files) => files.grep('nothing')).finally(() => (searching = false))
    expect(turns).toBeGreaterThan(10)
  })
})

describe('a glob', () => {
  it.each([
    '*a*a*a*a*a*a*a*a*a*a*a*b',
    '**/*a*/**/*a*/**/*a*/**/*a*/**/*b',
    '{a,aa,aaa}{a,aa,aaa}{a,aa,aaa}{a,aa,aaa}{a,aa,aaa}{a,aa,aaa}{a,aa,aaa}{a,aa,aaa}b',
  ])('%s does not hang', async (glob) => {
    const name = 'a'.repeat(200)
    expect(await on({ [`/${name}`]: '', [`${'/aaa'.repeat(50)}`]: '' }, (files) => files.find(glob))).toEqual([])
  })

  it.each([
    ['*.md', ['/a.md', '/.md']],
    ['**/*.md', ['/.md', '/a.md', '/d/a.md', '/d/e/a.md']],
    ['d/**/a.md', ['/d/a.md', '/d/e/a.md']],
    ['d/**', ['/d/a.md', '/d/e', '/d/e/a.md', '/d/e/b,c', '/d/e/{x}']],
    ['**/e', ['/d/e']],
    ['?.md', ['/a.md']],
    ['[a-b].md', ['/a.md']],
    ['[!b].md', ['/a.md']],
    ['[^a].md', []],
    ['**/[[:alpha:]].md', ['/a.md', '/d/a.md', '/d/e/a.md']],
    ['{a,d/a}.md', ['/a.md', '/d/a.md']],
    ['{a,d/{a,e/a}}.md', ['/a.md', '/d/a.md', '/d/e/a.md']],
    ['{**/b,x}*', ['/d/e/b,c', '/x+y', '/x]']],
    ['{,d/}a.md', ['/a.md', '/d/a.md']],
    ['d/e/{x}', ['/d/e/{x}']],
    ['d/*/b\\,c', ['/d/e/b,c']],
    ['x[]]', ['/x]']],
    ['x]', ['/x]']],
    ['x+*', ['/x+y']],
    ['x[', []],
    ['𝒳?', ['/𝒳é']],
    ['(a).md', []],
    ['d**', ['/d']],
  ])('%s', async (glob, expected) => {
    const contents = Object.fromEntries(
      ['/a.md', '/.md', '/d/a.md', '/d/e/a.md', '/d/e/b,c', '/d/e/{x}', '/x]', '/x+y', '/𝒳é'].map((path) => [path, '']),
    )
    const found = await on(contents, (files) => files.find(glob))
    expect([...found].sort()).toEqual([...expected].sort())
  })

  it('too large is refused', async () => {
    const names = Array.from({ length: 2_000 }, (_, index) => `${(index * 7919) % 10_007}x`).join(',')
    await expect(on({ '/a': '' }, (files) => files.find(`{${names}}`))).rejects.toMatchObject({
      code: 'EINVAL',
      message: expect.stringMatching(/too large/),
    })
  })
})
