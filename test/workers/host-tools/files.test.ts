/** hostTools on a real directory: files, and everything that tries to leave it. */
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, readdir, realpath, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTwoFilesPatch } from 'diff'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ToolDefinition } from '../../../src/agent/define.js'
import { hostTools } from '../../../src/tools/own/host-tools.js'
import { builtins } from '../../../src/tools/own/thread-files.js'
import { openInside, openRoot, replaceInside } from '../../../workers/host-tools/root.js'
import { caller, toolState } from '../builtins/call.js'

let base: string
let root: string
let tools: readonly ToolDefinition[]
let call: ReturnType<typeof caller>
beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'skein-host-')))
  root = join(base, 'root')
  await mkdir(join(root, 'sub'), { recursive: true })
  await writeFile(join(root, 'a.txt'), 'one\ntwo\nthree\n')
  await mkdir(join(base, 'outside'))
  await writeFile(join(base, 'outside', 'secret.txt'), 'secret\n')
  tools = hostTools({ rootDir: root })
  call = caller(tools)
})
afterEach(() => rm(base, { recursive: true, force: true }))

const coded = (code: string, message: RegExp = /./) => ({ code, message: expect.stringMatching(message) })

describe('read', () => {
  it('T11: gives a file by a relative or absolute path', async () => {
    expect(await call('read', { path: 'a.txt' })).toBe('one\ntwo\nthree\n')
    expect(await call('read', { path: './sub/../a.txt' })).toBe('one\ntwo\nthree\n')
    expect(await call('read', { path: join(root, 'a.txt') })).toBe('one\ntwo\nthree\n')
  })

  it('T11: gives some lines, and says when there are not so many', async () => {
    expect(await call('read', { path: 'a.txt', offset: 2, limit: 1 })).toBe('two\n')
    expect(await call('read', { path: 'a.txt', offset: 3 })).toBe('three\n')
    await expect(call('read', { path: 'a.txt', offset: 4 })).rejects.toMatchObject(
      coded('TOOL_INPUT_INVALID', /has 3 lines/),
    )
  })

  it('T11: an empty file is empty', async () => {
    await writeFile(join(root, 'empty'), '')
    expect(await call('read', { path: 'empty' })).toBe('')
    expect(await call('read', { path: 'empty', offset: 1, limit: 5 })).toBe('')
  })

  it('T11: a file past the limit is refused whole and given in parts', async () => {
    const line = `${'ü'.repeat(49)}\n`
    await writeFile(join(root, 'huge'), line.repeat(100_000))
    await expect(call('read', { path: 'huge' })).rejects.toMatchObject(coded('TOOL_FILE_TOO_LARGE', /9900000 bytes/))
    expect(await call('read', { path: 'huge', offset: 99_999, limit: 10 })).toBe(line.repeat(2))
    const part = String(await call('read', { path: 'huge', offset: 1 }))
    expect(Buffer.byteLength(part)).toBeLessThanOrEqual(200_000)
    const [, next] = /\[cut: go on with offset (\d+)\]$/.exec(part) ?? []
    expect(part.split('\n').length).toBe(Number(next))
    await writeFile(join(root, 'line'), 'ü'.repeat(300_000))
    const cut = String(await call('read', { path: 'line', limit: 1 }))
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(200_000)
    expect(cut).toMatch(/^ü+\n\[cut: .*line 1 alone is longer/)
  })

  it('T11: what is no text, no file or not there is told as such', async () => {
    await writeFile(join(root, 'binary'), Buffer.from([1, 0, 2]))
    await writeFile(join(root, 'latin1'), Buffer.from('naïve', 'latin1'))
    execFileSync('mkfifo', [join(root, 'pipe')])
    await expect(call('read', { path: 'binary' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID', /not text/))
    await expect(call('read', { path: 'latin1' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID', /not text/))
    await expect(call('read', { path: 'pipe' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID', /not a regular file/))
    await expect(call('read', { path: 'sub' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID', /a directory/))
    await expect(call('read', { path: 'gone' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID', /does not exist/))
    await expect(call('read', { path: 'a.txt/b' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID', /not a directory/))
    for (const path of ['', 'a\0b', 'x'.repeat(5000)])
      await expect(call('read', { path })).rejects.toMatchObject(coded('TOOL_PATH_INVALID'))
  })

  it('T11: no error advises a tool that is not there', async () => {
    const there = tools.map(({ name }) => name)
    const absent = builtins.map(({ name }) => name).filter((name) => !there.includes(name))
    expect(absent).toEqual(['ls', 'glob'])
    await writeFile(join(root, 'huge'), 'x\n'.repeat(200_000))
    const wrong: readonly (readonly [string, object])[] = [
      ...['sub', 'gone', 'huge', '..', 'a.txt/b'].map((path) => ['read', { path }] as const),
      ['read', { path: 'a.txt', offset: 9 }],
      ['write', { path: 'sub', content: '' }],
      ['edit', { path: 'sub', patch: '@@ -1,1 +1,1 @@\n-a\n+b\n' }],
      ['edit', { path: 'a.txt', patch: 'no patch' }],
      ['grep', { pattern: '(' }],
      ['grep', { pattern: 'x', path: 'gone' }],
      ['bash', { cmd: 'no-such-thing' }],
      ['bash', { cmd: 'curl', args: ['a.example'] }],
      ['bash', { cmd: 'pwd', opts: { cwd: 'gone' } }],
    ]
    for (const [name, args] of wrong) {
      const said = await call(name, args).catch(String)
      expect(said, name).toMatch(/Error/)
      for (const tool of absent) expect(said).not.toMatch(new RegExp(`\\b${tool}\\b`))
    }
  })
})

describe('what leads outside', () => {
  const ways: readonly (readonly [string, string | ((base: string) => string)])[] = [
    ['a climb', '../outside/secret.txt'],
    ['a climb through a directory', 'sub/../../outside/secret.txt'],
    ['an absolute path', (at) => join(at, 'outside', 'secret.txt')],
    ['a neighbour with the same beginning', (at) => join(at, 'root-2', 'x')],
    ['a link to a file', 'file-link'],
    ['a link to a directory', 'dir-link/secret.txt'],
    ['a new file through a link to a directory', 'dir-link/new.txt'],
    ['a link to nothing outside', 'dangling'],
    ['a link to a link', 'sub/second'],
    ['a relative link', 'sub/relative'],
  ]

  it.each(ways)('%s is refused by every tool', async (_name, way) => {
    await symlink(join(base, 'outside', 'secret.txt'), join(root, 'file-link'))
    await symlink(join(base, 'outside'), join(root, 'dir-link'))
    await symlink(join(base, 'outside', 'not-yet'), join(root, 'dangling'))
    await symlink('../file-link', join(root, 'sub', 'second'))
    await symlink('../../outside/secret.txt', join(root, 'sub', 'relative'))
    const path = typeof way === 'string' ? way : way(base)
    const escape = coded('TOOL_PATH_ESCAPE', /leads outside/)
    await expect(call('read', { path })).rejects.toMatchObject(escape)
    await expect(call('write', { path, content: 'x' })).rejects.toMatchObject(escape)
    await expect(call('edit', { path, patch: '@@ -1,1 +1,1 @@\n-secret\n+told\n' })).rejects.toMatchObject(escape)
    await expect(call('grep', { pattern: 'secret', path })).rejects.toMatchObject(escape)
    await expect(call('bash', { cmd: 'true', opts: { cwd: path } })).rejects.toMatchObject(escape)
    expect(await readdir(join(base, 'outside'))).toEqual(['secret.txt'])
    expect(await readFile(join(base, 'outside', 'secret.txt'), 'utf8')).toBe('secret\n')
  })

  it('links that stay inside are followed, circles are told', async () => {
    await symlink('a.txt', join(root, 'inside'))
    await symlink(join(root, 'sub'), join(root, 'dir'))
    await symlink('round', join(root, 'round'))
    expect(await call('read', { path: 'inside' })).toBe('one\ntwo\nthree\n')
    expect(await call('write', { path: 'dir/new.txt', content: 'new' })).toBe('ok')
    expect(await readFile(join(root, 'sub', 'new.txt'), 'utf8')).toBe('new')
    await expect(call('read', { path: 'round' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID', /circle/))
  })

  it('a root that is itself a link is meant, by either name', async () => {
    await symlink(root, join(base, 'alias'))
    const aliased = caller(hostTools({ rootDir: join(base, 'alias') }))
    expect(await aliased('read', { path: 'a.txt' })).toContain('one')
    expect(await aliased('read', { path: join(base, 'alias', 'a.txt') })).toContain('one')
    expect(await aliased('read', { path: join(root, 'a.txt') })).toContain('one')
  })

  it('a directory that became a link after the path was checked is noticed', async () => {
    await symlink(join(base, 'outside'), join(root, 'swapped'))
    const opened = await openRoot(root)
    const escape = coded('TOOL_PATH_ESCAPE')
    await expect(openInside(opened, join(root, 'swapped', 'secret.txt'))).rejects.toMatchObject(escape)
    await expect(replaceInside(opened, join(root, 'swapped', 'secret.txt'), { content: 'x' })).rejects.toMatchObject(
      escape,
    )
    expect(await readdir(join(base, 'outside'))).toEqual(['secret.txt'])
    expect(await readFile(join(base, 'outside', 'secret.txt'), 'utf8')).toBe('secret\n')
  })

  it('a root that is not there is told to whoever made the tools', async () => {
    await expect(caller(hostTools({ rootDir: join(base, 'none') }))('read', { path: 'a' })).rejects.toMatchObject(
      coded('BAD_OPTION', /rootDir/),
    )
  })
})

describe('write', () => {
  it('T11: makes the directories above, replaces at once and keeps the mode', async () => {
    expect(await call('write', { path: 'new/deep/b.txt', content: 'ü' })).toBe('ok')
    expect(await readFile(join(root, 'new/deep/b.txt'), 'utf8')).toBe('ü')
    await chmod(join(root, 'a.txt'), 0o751)
    await call('write', { path: 'a.txt', content: 'other' })
    expect((await stat(join(root, 'a.txt'))).mode & 0o777).toBe(0o751)
    expect((await readdir(root)).filter((name) => name.startsWith('.skein'))).toEqual([])
  })

  it('T11: refuses what is too large and what is no file, and leaves nothing behind', async () => {
    await expect(call('write', { path: 'b', content: 'ü'.repeat(100_001) })).rejects.toMatchObject(
      coded('TOOL_CONTENT_TOO_LARGE', /200002 bytes/),
    )
    await call('write', { path: 'b', content: 'ü'.repeat(100_000) })
    await expect(call('write', { path: 'sub', content: 'x' })).rejects.toMatchObject(
      coded('TOOL_PATH_INVALID', /directory/),
    )
    await expect(call('write', { path: 'a.txt/x', content: 'x' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID'))
    expect((await readdir(root)).sort()).toEqual(['a.txt', 'b', 'sub'])
  })
})

describe('edit', () => {
  const patch = createTwoFilesPatch('a.txt', 'a.txt', 'one\ntwo\nthree\n', 'one\n2\nthree\n')

  it('T11: applies a patch or says why not', async () => {
    expect(await call('edit', { path: 'a.txt', patch })).toBe('ok')
    expect(await readFile(join(root, 'a.txt'), 'utf8')).toBe('one\n2\nthree\n')
    await expect(call('edit', { path: 'a.txt', patch })).rejects.toMatchObject(
      coded('TOOL_PATCH_FAILED', /line 2 is "2", the patch has "two"/),
    )
    await expect(call('edit', { path: 'gone', patch })).rejects.toMatchObject(
      coded('TOOL_PATH_INVALID', /does not exist/),
    )
    await expect(call('edit', { path: 'a.txt', patch: 'x'.repeat(200_001) })).rejects.toMatchObject(
      coded('TOOL_PATCH_TOO_LARGE'),
    )
  })

  it('its probe sees whether it happened, and says so only when that is clear', async () => {
    const probe = async (text: string) => {
      await writeFile(join(root, 'a.txt'), text)
      const edit = tools.find(({ name }) => name === 'edit')
      return edit?.probe?.(toolState({}), { path: 'a.txt', patch })
    }
    expect(await probe('one\ntwo\nthree\n')).toBeNull()
    expect(await probe('one\n2\nthree\n')).toBe('ok')
    await expect(probe('else\n')).rejects.toMatchObject(coded('EFFECT_UNKNOWN'))
    await expect(probe('one\ntwo\nthree\none\n2\nthree\n')).rejects.toMatchObject(coded('EFFECT_UNKNOWN'))
  })
})

describe('grep', () => {
  it('T11: gives path:line:text in order, nothing when there is nothing', async () => {
    await writeFile(join(root, 'sub', 'b.txt'), 'two\r\nzwei two\r\n')
    expect(await call('grep', { pattern: 'tw[o]' })).toBe('a.txt:2:two\nsub/b.txt:1:two\nsub/b.txt:2:zwei two')
    expect(await call('grep', { pattern: 'two', path: 'sub' })).toBe('sub/b.txt:1:two\nsub/b.txt:2:zwei two')
    expect(await call('grep', { pattern: '^two$', path: 'a.txt' })).toBe('a.txt:2:two')
    expect(await call('grep', { pattern: 'four' })).toBe('')
    expect(await call('grep', { pattern: '-v' })).toBe('')
  })

  it('T11: passes over binary files, links, .git and node_modules', async () => {
    await writeFile(join(root, 'binary'), Buffer.from('two\n\0'))
    await symlink(join(base, 'outside'), join(root, 'link'))
    for (const dir of ['.git', 'sub/node_modules']) {
      await mkdir(join(root, dir))
      await writeFile(join(root, dir, 'x'), 'two secret\n')
    }
    expect(await call('grep', { pattern: 'two|secret' })).toBe('a.txt:2:two')
    expect(await call('grep', { pattern: 'secret', path: 'sub/node_modules' })).toBe('sub/node_modules/x:1:two secret')
  })

  it('T11: a bad pattern, a missing place', async () => {
    await expect(call('grep', { pattern: '(' })).rejects.toMatchObject(coded('TOOL_GREP_FAILED'))
    await expect(call('grep', { pattern: 'x', path: 'gone' })).rejects.toMatchObject(coded('TOOL_PATH_INVALID'))
  })

  it('T11: ripgrep is asked where there is one', async () => {
    // Says what it was asked, and ends as the pattern says.
    await writeFile(
      join(base, 'rg'),
      '#!/bin/sh\nfor last; do :; done\necho "./a.txt:1:$PWD $last"\ncase "$*" in *one*) exit 1;; *bad*) exit 2;; ' +
        'esac\n',
      { mode: 0o755 },
    )
    const before = process.env['PATH']
    process.env['PATH'] = `${base}:${before ?? ''}`
    try {
      expect(await call('grep', { pattern: '-x' })).toBe(`a.txt:1:${root} .`)
      expect(await call('grep', { pattern: 'x', path: 'sub' })).toBe(`a.txt:1:${root} sub`)
      expect(await call('grep', { pattern: 'one' })).toBe('')
      await expect(call('grep', { pattern: 'bad' })).rejects.toMatchObject(coded('TOOL_GREP_FAILED'))
    } finally {
      process.env['PATH'] = before
    }
  })

  it('T11: is cut at the limit', async () => {
    await writeFile(join(root, 'many'), 'two two two two two two two\n'.repeat(9000))
    const found = String(await call('grep', { pattern: 'two' }))
    expect(Buffer.byteLength(found)).toBeLessThanOrEqual(200_000)
    expect(found).toMatch(/\[cut: .*rarer/)
  })
})
